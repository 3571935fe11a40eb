package chaos

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// keyMeta is where a server finds the key of a call, by which it could know one
// that is made again.
const keyMeta = "dragoman/idempotency-key"

// tools is an MCP server over HTTP that outlives every gateway. It counts what
// its tools did, by call, at the moment that they do it.
type tools struct {
	http    *http.Server
	address string

	mu      sync.Mutex
	effects map[string]int    // of note and write
	keys    map[string]string // the gateway's key of each call
	callOf  map[string]string // and the other way round
	looks   int
	faults  []string
}

func newTools() *tools {
	t := &tools{effects: map[string]int{}, keys: map[string]string{}, callOf: map[string]string{}}
	s := server.NewMCPServer("chaos", "1.0", server.WithToolCapabilities(false))
	for _, name := range []string{"look", "note", "write"} {
		s.AddTool(mcp.NewTool(name, mcp.WithDescription("Does "+name+"."), mcp.WithReadOnlyHintAnnotation(name == "look"),
			mcp.WithString("word", mcp.Required()), mcp.WithNumber("n", mcp.Required())), t.run(name))
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s, server.WithStateLess(true)))
	t.http, t.address = serve(mux)
	return t
}

func (t *tools) url() string { return t.address + "/mcp" }

func (t *tools) close() { _ = t.http.Close() }

// run makes a tool that takes a while before its effect, which nothing undoes,
// and a while after it.
func (t *tools) run(name string) server.ToolHandlerFunc {
	return func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		k := key(r.GetString("word", ""), r.GetInt("n", -1))
		t.know(k, r)
		h := hash(name + k)
		pause(time.Duration(h%60) * time.Millisecond)
		t.mu.Lock()
		if name == "look" {
			t.looks++
		} else {
			t.effects[k]++
		}
		t.mu.Unlock()
		pause(time.Duration(h/100%60) * time.Millisecond)
		return mcp.NewToolResultText(fmt.Sprintf("did %s %s", name, k)), nil
	}
}

// know holds the gateway's key of a call to what it promises: the same when the
// call is made again, another for any other.
func (t *tools) know(call string, r mcp.CallToolRequest) {
	given := ""
	if m := r.Params.Meta; m != nil {
		given, _ = m.AdditionalFields[keyMeta].(string)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, again := t.keys[call]
	switch other, taken := t.callOf[given]; {
	case given == "":
		t.faults = append(t.faults, call+" came without a key")
	case again && before != given:
		t.faults = append(t.faults, fmt.Sprintf("%s came with the key %s, and again with %s", call, before, given))
	case taken && other != call:
		t.faults = append(t.faults, fmt.Sprintf("%s and %s came with the same key", other, call))
	}
	t.keys[call], t.callOf[given] = given, call
}
