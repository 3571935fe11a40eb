// Command gomcp is an MCP server that knows the calendar, over stdio, by mcp-go's
// server package. It is the example of adapters/README.md, beside the same in Python.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("dates-go", "1.0.0",
		server.WithToolCapabilities(false), server.WithRecovery(), server.WithInputSchemaValidation(), server.WithStrictInputSchemaDefault())
	s.AddTool(mcp.NewTool("days_between",
		mcp.WithDescription("Counts the days from one date to another; negative if the second is earlier."),
		mcp.WithString("from", mcp.Required(), mcp.Pattern(dateForm), mcp.Description("YYYY-MM-DD")),
		mcp.WithString("to", mcp.Required(), mcp.Pattern(dateForm), mcp.Description("YYYY-MM-DD")),
		mcp.WithReadOnlyHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(false),
	), mcp.NewTypedToolHandler(daysBetween))
	s.AddTool(mcp.NewTool("add_days",
		mcp.WithDescription("Tells the date, with its day of the week, that lies some days after another one."),
		mcp.WithString("date", mcp.Required(), mcp.Pattern(dateForm), mcp.Description("YYYY-MM-DD")),
		mcp.WithInteger("days", mcp.Required(), mcp.Min(-mostDays), mcp.Max(mostDays), mcp.Description("How many days; negative looks back")),
		mcp.WithReadOnlyHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(false),
	), mcp.NewTypedToolHandler(addDays))
	if err := server.ServeStdio(s); err != nil {
		log.Fatalln("dates:", err) // to stderr: stdout belongs to the protocol
	}
}

const (
	dateForm = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
	mostDays = 3_652_058 // from the first day of the year 1 to the last of 9999
	day      = 24 * time.Hour
)

type span struct{ From, To string }

func daysBetween(_ context.Context, _ mcp.CallToolRequest, a span) (*mcp.CallToolResult, error) {
	from, err := time.Parse(time.DateOnly, a.From)
	if err != nil {
		return mcp.NewToolResultErrorf("from must be a day that exists, like 2026-02-28, not %q", a.From), nil
	}
	to, err := time.Parse(time.DateOnly, a.To)
	if err != nil {
		return mcp.NewToolResultErrorf("to must be a day that exists, like 2026-02-28, not %q", a.To), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("%d days", (to.Unix()-from.Unix())/int64(day/time.Second))), nil
}

type step struct {
	Date string
	Days int
}

func addDays(_ context.Context, _ mcp.CallToolRequest, a step) (*mcp.CallToolResult, error) {
	date, err := time.Parse(time.DateOnly, a.Date)
	if err != nil {
		return mcp.NewToolResultErrorf("date must be a day that exists, like 2026-02-28, not %q", a.Date), nil
	}
	date = date.AddDate(0, 0, a.Days)
	if y := date.Year(); y < 1 || y > 9999 {
		return mcp.NewToolResultError("that day is not between the years 1 and 9999"), nil
	}
	return mcp.NewToolResultText(date.Format("2006-01-02, a Monday")), nil
}
