package crash

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	fakemodel "dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// world is what is outside of the gateway, and outlives it: a platform, a model
// and an MCP server, each with what it was asked.
type world struct {
	tg    *telegram.Server
	ai    *fakemodel.Server
	model *httptest.Server
	tools *httptest.Server
	free  chan struct{} // closed when the world ends: a tool that never answers leaves
	also  atomic.Bool   // what is said meanwhile was said

	mu      sync.Mutex
	asked   [][]line       // what the model was told, by request
	effects map[string]int // by tool
	keys    map[string]bool
}

// line is one message of a prompt.
type line struct{ who, says string }

const (
	answerFirst = "first done."
	answerNext  = "second done."
	sayNext     = "next"
)

func newWorld(d drama) *world {
	w := &world{effects: map[string]int{}, keys: map[string]bool{}, free: make(chan struct{})}
	// No gateway of another world, that finds this one at the address of its own, is heard.
	w.tg = telegram.New(telegram.Options{Token: "7:" + rand.Text()})
	o := fakemodel.Options{Answer: d.reply}
	if d.streamed {
		o.Pieces, o.Pace = 26, 110*time.Millisecond
	}
	w.ai = fakemodel.New(o)
	w.model = httptest.NewServer(http.HandlerFunc(w.listen))
	w.tools = httptest.NewServer(server.NewStreamableHTTPServer(w.toolServer()))
	return w
}

func (w *world) close() {
	close(w.free)
	w.tg.Close()
	w.ai.Close()
	w.model.CloseClientConnections()
	w.model.Close()
	w.tools.CloseClientConnections()
	w.tools.Close()
}

// listen keeps what the model is told and lets the fake answer.
func (w *world) listen(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		var told []line
		if told, err = prompt(body); err == nil {
			w.mu.Lock()
			w.asked = append(w.asked, told)
			w.mu.Unlock()
		}
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.ai.ServeHTTP(rw, r)
}

// prompt reads a request as lines that are the same in each run: the ids that
// the model gave its calls are left out, the fake has held them to their order.
func prompt(body []byte) ([]line, error) {
	var wire struct {
		Messages []struct {
			Role      string
			Content   any
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return nil, err
	}
	list := make([]line, len(wire.Messages))
	for i, m := range wire.Messages {
		said := fmt.Sprint(m.Content)
		for _, c := range m.ToolCalls {
			said += " " + c.Function.Name + c.Function.Arguments
		}
		list[i] = line{m.Role, said}
	}
	return list, nil
}

// toolServer has one tool of each class, one that asks first, one that is slow
// and one that says much.
func (w *world) toolServer() *server.MCPServer {
	s := server.NewMCPServer("world", "1.0.0")
	add := func(name string, run func(ctx context.Context) string, o ...mcp.ToolOption) {
		s.AddTool(mcp.NewTool(name, o...), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			w.runs(name, r)
			return mcp.NewToolResultText(run(ctx)), nil
		})
	}
	says := func(text string) func(context.Context) string { return func(context.Context) string { return text } }
	readOnly, idempotent := mcp.WithReadOnlyHintAnnotation(true), mcp.WithIdempotentHintAnnotation(true)
	add("read_a", says("a is 1"), readOnly)
	add("read_much", says(strings.Repeat("much to read. ", 60)), readOnly)
	add("put_b", says("b is put"), idempotent, mcp.WithReadOnlyHintAnnotation(false))
	add("pay_c", says("c is paid"))
	add("pay_d", says("d is paid"))
	add("risky_e", says("e is done"))
	stays := func(text string) func(context.Context) string {
		return func(ctx context.Context) string {
			select {
			case <-ctx.Done():
			case <-w.free:
			}
			return text
		}
	}
	s.AddTool(mcp.NewTool("draw_i"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		w.runs("draw_i", r)
		return mcp.NewToolResultImage("i is drawn", base64.StdEncoding.EncodeToString(drawing), "image/png"), nil
	})
	add("slow_f", stays("f is late"))
	add("stay_h", stays("h is late"), readOnly)
	add("wait_g", w.heard("g is there"), readOnly)
	return s
}

// runs notes that a tool runs.
func (w *world) runs(tool string, r mcp.CallToolRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects[tool]++
	w.keys[keyOf(r)+" of "+tool] = true
}

// heard takes until the gateway has what is said meanwhile.
func (w *world) heard(text string) func(context.Context) string {
	return func(ctx context.Context) string {
		tick := time.NewTicker(look)
		defer tick.Stop()
		for !w.also.Load() || w.tg.Pending() > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return text
			case <-w.free:
				return text
			}
		}
		return text
	}
}

// keyOf is the idempotency key that a call came with.
func keyOf(r mcp.CallToolRequest) string {
	if r.Params.Meta == nil {
		return ""
	}
	key, _ := r.Params.Meta.AdditionalFields["dragoman/idempotency-key"].(string)
	return key
}

// unsafe reports whether a tool of the world must not run twice.
func unsafe(tool string) bool {
	return !strings.HasPrefix(tool, "read_") && !strings.HasPrefix(tool, "put_") && !strings.HasPrefix(tool, "wait_") && !strings.HasPrefix(tool, "stay_")
}

func (w *world) ran(tool string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effects[tool]
}

// keysOf are the keys that a tool was called with.
func (w *world) keysOf(tool string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for use := range w.keys {
		if key, of, _ := strings.Cut(use, " of "); of == tool {
			list = append(list, key)
		}
	}
	return list
}

// prompts are the requests so far.
func (w *world) prompts() [][]line {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([][]line{}, w.asked...)
}
