package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"dragoman/ports"
)

const clockSchema = `{"type":"object","properties":{},"additionalProperties":false}`

func clock() *tool {
	return &tool{
		spec: ports.ToolSpec{
			Name:        "time",
			Title:       "Current time",
			Description: "The current date, weekday and time, in UTC and in the time zone of this gateway.",
			InputSchema: json.RawMessage(clockSchema),
			Class:       ports.ClassRead,
		},
		run: func(_ context.Context, _ ports.Conversation, args json.RawMessage) (ports.ToolResult, error) {
			if err := decode(args, &struct{}{}); err != nil {
				return ports.ToolResult{}, err
			}
			return tellTime(time.Now()), nil
		},
	}
}

// tellTime says what time now is, in UTC and in now's own zone.
func tellTime(now time.Time) ports.ToolResult {
	const layout = "Monday, 2006-01-02T15:04:05Z07:00"
	name, _ := now.Zone()
	return textResult("UTC: %s\nHere (%s): %s", now.UTC().Format(layout), zoneName(now, name), now.Format(layout))
}

// zoneName is the zone's IANA name where it is known, with its abbreviation.
func zoneName(now time.Time, abbreviation string) string {
	if name := now.Location().String(); name != "Local" && name != abbreviation {
		return fmt.Sprintf("%s, %s", name, abbreviation)
	}
	return abbreviation
}
