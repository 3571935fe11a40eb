package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
	list   func(n int) (string, error) // the n-th answer to tools/list, from 1

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

func (m *memory) Start(context.Context) error                                     { return m.refuse }
func (m *memory) Lost() <-chan struct{}                                           { return m.lost }
func (m *memory) Err() error                                                      { return &lostError{reason: "the line was cut"} }
func (m *memory) Stderr() ([]string, int)                                         { return nil, 0 }
func (m *memory) GetSessionId() string                                            { return "" }
func (m *memory) SetPulse(func(context.Context) error)                            {}
func (m *memory) SetRequestHandler(transport.RequestHandler)                      {}
func (m *memory) SetNotificationHandler(h func(mcp.JSONRPCNotification))          { m.notify = h }
func (m *memory) SendNotification(context.Context, mcp.JSONRPCNotification) error { return nil }
func (m *memory) Close() error                                                    { m.cut(); return nil }
func (m *memory) cut()                                                            { m.once.Do(func() { close(m.lost) }) }

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
	<-ctx.Done()
	return nil, ctx.Err()
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
}

func watch(t *testing.T, dial func(n int) *memory) *watched {
	src, err := New(Config{Command: "unused"}, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	dials := 0
	src.dial = func(Config, *slog.Logger) link { dials++; return dial(dials) }
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{Source: src, stop: cancel, done: make(chan struct{}), begun: time.Now()}
	go func() { defer close(w.done); _ = src.Run(ctx, w) }()
	return w
}

func (w *watched) end() { w.stop(); <-w.done }

func (w *watched) Register(c ports.Catalog) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tools = c.Tools
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

func TestRetriesBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, func(int) *memory { m := newMemory(); m.refuse = errors.New("no luck"); return m })
		time.Sleep(5 * time.Minute)
		w.end()
		want := firstRetry
		for i, s := range w.states[1 : len(w.states)-1] {
			if s.Phase != ports.PhaseDegraded || s.Err != "no luck" {
				t.Fatalf("state %d is %+v", i, s)
			}
			if s.RetryIn < want*8/10 || s.RetryIn > want*12/10 {
				t.Errorf("try %d is followed by the next in %s, want %s or so", i, s.RetryIn, want)
			}
			if next := w.times[i+2] - w.times[i+1]; i < len(w.states)-3 && next != s.RetryIn {
				t.Errorf("try %d was followed by the next in %s, and %s was told", i, next, s.RetryIn)
			}
			want = min(2*want, lastRetry)
		}
		if len(w.states) < 12 {
			t.Errorf("only %d states in five minutes", len(w.states))
		}
	})
}

func TestMissingCommandIsTriedSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		w := watch(t, func(int) *memory {
			dials++
			m := newMemory()
			m.refuse = fmt.Errorf("not found: %w", errNoCommand)
			return m
		})
		time.Sleep(5*time.Minute + time.Second)
		w.end()
		if dials != 11 {
			t.Errorf("%d tries in five minutes, want 11", dials)
		}
	})
}

func TestLongHealthResetsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now *memory
		w := watch(t, func(n int) *memory {
			now = newMemory()
			if n < 6 {
				now.refuse = errors.New("no luck")
			}
			return now
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		if w.last().Phase != ports.PhaseReady {
			t.Fatalf("the state is %+v", w.last())
		}
		time.Sleep(healthy)
		now.cut()
		synctest.Wait()
		if s := w.last(); s.Phase != ports.PhaseDegraded || s.RetryIn > 2*firstRetry || s.Err != "the line was cut" {
			t.Errorf("after a loss in good health the state is %+v", s)
		}
		time.Sleep(2 * firstRetry)
		synctest.Wait()
		now.cut() // again, at once
		synctest.Wait()
		if s := w.last(); s.RetryIn < firstRetry*3/2 || s.Restarts != 1 {
			t.Errorf("after a second loss the state is %+v", s)
		}
		w.end()
	})
}

func TestAnnouncedChangesSettleFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		w := watch(t, func(int) *memory { return m })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for range 10 {
			m.changed()
			time.Sleep(settle / 2)
		}
		if n := m.listed(); n != 1 {
			t.Errorf("the tools were listed %d times while they changed, want 1", n)
		}
		time.Sleep(2 * settle)
		if n := m.listed(); n != 2 {
			t.Errorf("the tools were listed %d times after they changed, want 2", n)
		}
		w.end()
	})
}

// TestChattyServer: a server that announces a change with every list is
// listed once a second, and not without pause.
func TestChattyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.list = func(int) (string, error) { m.changed(); return `{"tools":[]}`, nil }
		w := watch(t, func(int) *memory { return m })
		time.Sleep(30*time.Second + listPause/2)
		w.end()
		if n := m.listed(); n < 25 || n > 31 {
			t.Errorf("the tools were listed %d times in 30 s", n)
		}
	})
}

func TestFailedRelistKeepsTheTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		good := m.list
		m.list = func(n int) (string, error) {
			if n == 1 {
				return good(n)
			}
			return `{"tools":7}`, nil
		}
		w := watch(t, func(int) *memory { return m })
		time.Sleep(time.Second)
		synctest.Wait()
		m.changed()
		time.Sleep(time.Minute)
		if s := w.last(); s.Phase != ports.PhaseReady || !strings.Contains(s.Err, "tools/list is malformed") || len(w.tools) != 1 {
			t.Errorf("%d tools and the state %+v", len(w.tools), s)
		}
		w.end()
	})
}

func TestReconnectDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		w := watch(t, func(int) *memory {
			m := newMemory()
			if broken {
				m.refuse = &lostError{reason: "no luck"}
			}
			return m
		})
		time.Sleep(3 * time.Minute) // deep in the backoff
		begun := time.Now()
		wantErr := w.Reconnect(t.Context())
		if !ports.IsKind(wantErr, ports.KindUnavailable) || !strings.Contains(wantErr.Error(), "no luck") {
			t.Errorf("a reconnection that fails gives %v", wantErr)
		}
		broken = false
		if err := w.Reconnect(t.Context()); err != nil || w.last().Phase != ports.PhaseReady {
			t.Errorf("a reconnection that works gives %v and %+v", err, w.last())
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("it waited %s", took)
		}
		w.end()
		if !slices.Contains(w.phases(), ports.PhaseConnecting) {
			t.Errorf("the phases are %v", w.phases())
		}
	})
}
