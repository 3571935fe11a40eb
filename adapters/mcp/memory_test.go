//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"dragoman/ports"
)

// memory is a link to a server in this process: the supervisor is tested in a
// bubble, where time is free and children are not.
type memory struct {
	refuse error                       // of Start
	takes  time.Duration               // of Start and of Close
	list   func(n int) (string, error) // the n-th answer to tools/list, from 1
	call   func(ctx context.Context, params string) (string, error)
	ping   func() error

	mu     sync.Mutex
	lists  int
	notify func(mcp.JSONRPCNotification)
	lost   chan struct{}
	once   sync.Once
}

var _ link = (*memory)(nil)

func newMemory() *memory {
	return &memory{lost: make(chan struct{}), list: func(int) (string, error) {
		return `{"tools":[{"name":"one","inputSchema":{"type":"object"}}]}`, nil
	}}
}

func (m *memory) Lost() <-chan struct{}                      { return m.lost }
func (m *memory) Err() error                                 { return &lostError{reason: "the line was cut"} }
func (m *memory) Stderr() ([]string, int)                    { return nil, 0 }
func (m *memory) GetSessionId() string                       { return "" }
func (m *memory) SetRequestHandler(transport.RequestHandler) {}
func (m *memory) SetPulse(func(context.Context) error)       {}

func (m *memory) SetNotificationHandler(h func(mcp.JSONRPCNotification))          { m.notify = h }
func (m *memory) SendNotification(context.Context, mcp.JSONRPCNotification) error { return nil }
func (m *memory) Close() error                                                    { m.cut(); <-time.After(m.takes); return nil }
func (m *memory) cut()                                                            { m.once.Do(func() { close(m.lost) }) }

func (m *memory) Start(ctx context.Context) error {
	if !sleep(ctx, m.takes) {
		return ctx.Err()
	}
	return m.refuse
}

func (m *memory) changed() {
	n := mcp.JSONRPCNotification{}
	n.Method = "notifications/tools/list_changed"
	m.notify(n)
}

func (m *memory) listed() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lists
}

func (m *memory) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	answer := func(result string) *transport.JSONRPCResponse {
		return &transport.JSONRPCResponse{ID: r.ID, Result: json.RawMessage(result)}
	}
	switch r.Method {
	case methodDiscover:
		return &transport.JSONRPCResponse{ID: r.ID, Error: &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "no such method"}}, nil
	case "initialize":
		return answer(`{"protocolVersion":"2025-11-25","serverInfo":{"name":"memory","version":"1"}}`), nil
	case "tools/list":
		m.mu.Lock()
		m.lists++
		n := m.lists
		m.mu.Unlock()
		result, err := m.list(n)
		return answer(result), err
	}
	if m.call != nil && r.Method == "tools/call" {
		params, _ := json.Marshal(r.Params)
		result, err := m.call(ctx, string(params))
		return answer(result), err
	}
	if m.ping != nil && r.Method == "ping" {
		return answer(`{}`), m.ping()
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.lost:
		return nil, &lostError{reason: "the line was cut", sent: true}
	}
}

// watched is a source over links that a test makes, and the states it told,
// each with its time since the start.
type watched struct {
	*Source
	stop   context.CancelFunc
	done   chan struct{}
	begun  time.Time
	mu     sync.Mutex
	states []ports.State
	times  []time.Duration
	tools  []ports.ToolPort
	lists  int // how often tools were registered
	dials  []time.Duration
}

// watch watches a source over the links that dial makes; n counts from 1.
func watch(t *testing.T, dial func(n int) *memory) *watched {
	return watchWith(t, Config{}, Deps{}, dial)
}

func watchWith(t *testing.T, cfg Config, deps Deps, dial func(n int) *memory) *watched {
	t.Helper()
	cfg.Command = "unused"
	src, err := New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{Source: src, stop: cancel, done: make(chan struct{}), begun: time.Now()}
	src.dial = func(Config, *slog.Logger) link {
		w.mu.Lock()
		w.dials = append(w.dials, time.Since(w.begun))
		n := len(w.dials)
		w.mu.Unlock()
		return dial(n)
	}
	go func() { defer close(w.done); _ = src.Run(ctx, w) }()
	t.Cleanup(w.end)
	return w
}

func (w *watched) end() { w.stop(); <-w.done }

func (w *watched) Register(c ports.Catalog) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tools = c.Tools
	w.lists++
}

// dialled is how many links were made so far, once all is quiet.
func (w *watched) dialled() int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dials)
}

// registered is how often tools were registered.
func (w *watched) registered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lists
}

// call calls the first tool for a person and gives the text of the result.
func (w *watched) call(ctx context.Context, person ports.PersonID) (string, error) {
	w.mu.Lock()
	if len(w.tools) == 0 {
		w.mu.Unlock()
		return "", errors.New("there is no tool")
	}
	tool := w.tools[0]
	w.mu.Unlock()
	r, err := tool.Call(ctx, ports.ToolCall{Person: person}, nil)
	if err != nil {
		return "", err
	}
	return r.Content[0].Text, nil
}

// wantPhase is for when all is quiet.
func (w *watched) wantPhase(t *testing.T, want ports.Phase) ports.State {
	t.Helper()
	synctest.Wait()
	s := w.last()
	if s.Phase != want {
		t.Fatalf("after %s the state is %+v, want phase %s", time.Since(w.begun), s, want)
	}
	return s
}

// wantCall is for a call that works.
func (w *watched) wantCall(t *testing.T, person ports.PersonID, want string) {
	t.Helper()
	if got, err := w.call(t.Context(), person); err != nil || got != want {
		t.Fatalf("after %s the call of %q gives %q, %v; want %q", time.Since(w.begun), person, got, err, want)
	}
}

// serving is a link to a server that answers each call with a text.
func serving(text string) *memory {
	m := newMemory()
	m.call = func(context.Context, string) (string, error) { return textResult(text), nil }
	m.ping = func() error { return nil }
	return m
}

func (w *watched) State(s ports.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states = append(w.states, s)
	w.times = append(w.times, time.Since(w.begun))
}

func (w *watched) last() ports.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.states[len(w.states)-1]
}

func (w *watched) phases() []ports.Phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	var phases []ports.Phase
	for _, s := range w.states {
		phases = append(phases, s.Phase)
	}
	return phases
}
