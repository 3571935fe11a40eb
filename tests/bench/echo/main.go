// Command echo is the MCP server that calls are measured against: one tool, which
// gives its text back, on stdio or, with -http, on a port that it prints.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	overHTTP := flag.Bool("http", false, "serve streamable HTTP on a free port of 127.0.0.1, and print the URL")
	flag.Parse()
	if err := run(*overHTTP); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func run(overHTTP bool) error {
	s := server.NewMCPServer("echo", "1")
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("Gives its text back."), mcp.WithString("text", mcp.Required())), echo)
	if !overHTTP {
		return server.ServeStdio(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	return http.Serve(l, server.NewStreamableHTTPServer(s))
}

func echo(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text, err := r.RequireString("text")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(text), nil
}
