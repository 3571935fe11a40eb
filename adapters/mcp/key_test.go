//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"dragoman/ports"
)

// TestACallMadeAgainHasItsKey: a server can tell a call that is made again, and
// learns nothing of the chat from it.
func TestACallMadeAgainHasItsKey(t *testing.T) {
	keys := make(chan any, 3)
	s := server.NewMCPServer("keys", "1.0", server.WithToolCapabilities(true))
	s.AddTool(mcpgo.NewTool("pay"), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if m := r.Params.Meta; m != nil {
			keys <- m.AdditionalFields["dragoman/idempotency-key"]
		} else {
			keys <- nil
		}
		return mcpgo.NewToolResultText("paid"), nil
	})
	web := httptest.NewServer(server.NewStreamableHTTPServer(s))
	t.Cleanup(web.Close)
	r := start(t, Config{URL: ports.Secret(web.URL + "/mcp")}).ready()
	var got []any
	for _, key := range []string{"tg:1001#3/0/0", "tg:1001#3/0/0", "tg:1001#3/0/1"} {
		call := ports.ToolCall{Call: ports.Call{Name: "pay", Arguments: json.RawMessage(`{}`)}, Key: key}
		if _, err := r.tool("pay").Call(t.Context(), call, nil); err != nil {
			t.Fatal(err)
		}
		got = append(got, <-keys)
	}
	if got[0] == nil || got[0] != got[1] || got[0] == got[2] {
		t.Errorf("the keys are %v", got)
	}
	if text, _ := got[0].(string); !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(text) {
		t.Errorf("the key is %q", text)
	}
}
