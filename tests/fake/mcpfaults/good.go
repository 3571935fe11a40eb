package mcpfaults

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	objectSchema = `{"type":"object"}`
	echoTool     = `{"name":"echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`
	actTool      = `{"name":"act","description":"Acts.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`
	acted        = `{"content":[{"type":"text","text":"acted"}]}`
)

// good is what a good server answers to m, "" if nothing.
func good(m message) string {
	if !m.asks() {
		return ""
	}
	switch m.Method {
	case "initialize":
		return result(m.ID, welcome(agreed(m.Params.ProtocolVersion)))
	case "ping":
		return result(m.ID, `{}`)
	case "tools/list":
		return result(m.ID, list())
	case "tools/call":
		return goodCall(m)
	}
	return refusal(m.ID, -32601, "Method not found")
}

func goodCall(m message) string {
	switch m.Params.Name {
	case "echo":
		return result(m.ID, content(m.Params.Arguments.Text))
	case "act":
		return result(m.ID, acted)
	}
	return refusal(m.ID, -32602, "Unknown tool: "+m.Params.Name)
}

// agreed is the revision that a good server takes up.
func agreed(asked string) string {
	if slices.Contains([]string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}, asked) {
		return asked
	}
	return "2025-11-25"
}

func welcome(version string) string {
	return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"mcpfaults","version":"1"}}`, version)
}

// list is the answer to tools/list with more tools than the good ones.
func list(more ...string) string {
	return `{"tools":[` + strings.Join(append([]string{echoTool, actTool}, more...), ",") + `]}`
}

func result(id json.RawMessage, raw string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, raw)
}

func refusal(id json.RawMessage, code int, words string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quote(words))
}

func content(text string) string {
	return `{"content":[{"type":"text","text":` + quote(text) + `}]}`
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(b)
}
