package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/openai/openai-go/v3"
)

// prefix is how the gateway names the tools of this server.
const prefix = "desk__"

// tools are those of one MCP server.
type tools struct {
	client  *client.Client
	offered []openai.ChatCompletionToolUnionParam
}

// connect starts the small MCP server that a gateway's binary holds.
func connect(ctx context.Context, binary string) (*tools, error) {
	c, err := client.NewStdioMCPClient(binary, os.Environ(), "desk")
	if err != nil {
		return nil, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "loop", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		_ = c.Close()
		return nil, err
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	t := &tools{client: c}
	for _, one := range list.Tools {
		schema, err := json.Marshal(one.InputSchema)
		if err != nil {
			return nil, err
		}
		var parameters openai.FunctionParameters
		if err := json.Unmarshal(schema, &parameters); err != nil {
			return nil, err
		}
		t.offered = append(t.offered, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: prefix + one.Name, Description: openai.String(one.Description), Parameters: parameters,
		}))
	}
	return t, nil
}

func (t *tools) close() { _ = t.client.Close() }

func (t *tools) call(ctx context.Context, name, arguments string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	call := mcp.CallToolRequest{}
	call.Params.Name, call.Params.Arguments = strings.TrimPrefix(name, prefix), json.RawMessage(arguments)
	result, err := t.client.CallTool(ctx, call)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, c := range result.Content {
		if text, ok := mcp.AsTextContent(c); ok {
			all.WriteString(text.Text)
		}
	}
	return all.String(), nil
}
