//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/ports"
)

// rig is a source at work, and what it registered and told.
type rig struct {
	t    *testing.T
	src  *Source
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	tools  []ports.ToolPort
	states []ports.State
	news   chan struct{}
}

// start runs a source until the test ends, or end is called.
func start(t *testing.T, cfg Config) *rig {
	t.Helper()
	src, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	return startSource(t, src)
}

// startTrusting is start for a server whose faults are looked at one by one: it is
// called again however often it did not answer.
func startTrusting(t *testing.T, cfg Config) *rig {
	t.Helper()
	src, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	src.barAfter = math.MaxUint32
	return startSource(t, src)
}

func startSource(t *testing.T, src *Source) *rig {
	ctx, cancel := context.WithCancel(t.Context())
	r := &rig{t: t, src: src, stop: cancel, done: make(chan struct{}), news: make(chan struct{})}
	go func() {
		defer close(r.done)
		if err := src.Run(ctx, r); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	}()
	t.Cleanup(r.end)
	return r
}

// end stops the source and waits until Run has returned.
func (r *rig) end() {
	r.stop()
	<-r.done
}

func (r *rig) Register(c ports.Catalog) { r.note(func() { r.tools = c.Tools }) }
func (r *rig) State(s ports.State)      { r.note(func() { r.states = append(r.states, s) }) }

func (r *rig) note(what func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what()
	close(r.news)
	r.news = make(chan struct{})
}

// await waits for a state, of those from index from on, that is as wanted.
func (r *rig) await(what string, from int, wanted func(ports.State) bool) ports.State {
	r.t.Helper()
	deadline := time.After(time.Minute)
	for at := from; ; {
		r.mu.Lock()
		states, news := r.states, r.news
		r.mu.Unlock()
		for ; at < len(states); at++ {
			if wanted(states[at]) {
				return states[at]
			}
		}
		select {
		case <-news:
		case <-deadline:
			r.t.Fatalf("no state that is %s; they are %+v", what, states)
		}
	}
}

func (r *rig) awaitPhase(p ports.Phase, from int) ports.State {
	r.t.Helper()
	return r.await(string(p), from, func(s ports.State) bool { return s.Phase == p })
}

func (r *rig) ready() *rig {
	r.t.Helper()
	r.awaitPhase(ports.PhaseReady, 0)
	return r
}

func (r *rig) last() ports.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[len(r.states)-1]
}

// told is how many states there were.
func (r *rig) told() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.states)
}

func (r *rig) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, t := range r.tools {
		names = append(names, t.Spec().Name)
	}
	return names
}

func (r *rig) tool(name string) ports.ToolPort {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tools {
		if t.Spec().Name == name {
			return t
		}
	}
	r.t.Fatalf("there is no tool %q", name)
	return nil
}

func (r *rig) call(ctx context.Context, name, args string) (ports.ToolResult, error) {
	r.t.Helper()
	return r.tool(name).Call(ctx, ports.ToolCall{Call: ports.Call{Arguments: json.RawMessage(args)}}, nil)
}

// ask asks the peer about itself.
func (r *rig) ask(what string) string {
	r.t.Helper()
	result, err := r.call(r.t.Context(), "ask", `{"what":"`+what+`"}`)
	if err != nil {
		r.t.Fatalf("ask %s: %v", what, err)
	}
	return result.Content[0].Text
}

func (r *rig) pid() int {
	r.t.Helper()
	pid, err := strconv.Atoi(r.ask("pid"))
	if err != nil {
		r.t.Fatal(err)
	}
	return pid
}

func (r *rig) wantEcho(text string) {
	r.t.Helper()
	result, err := r.call(r.t.Context(), "echo", `{"text":"`+text+`"}`)
	if err != nil {
		r.t.Fatalf("echo: %v", err)
	}
	if err := wantText(result, text); err != nil {
		r.t.Fatal(err)
	}
}

// gone waits until there is no such process any more. A zombie whose new parent
// does not reap it counts as gone.
func gone(t *testing.T, pid int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	eventually(t, "process "+strconv.Itoa(pid)+" is gone", func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid)
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	eventuallyWithin(t, 30*time.Second, what, is)
}

func eventuallyWithin(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("not so after %s: %s", within, what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func wantKind(t *testing.T, err error, kind ports.Kind, says string) {
	t.Helper()
	if !ports.IsKind(err, kind) || !strings.Contains(err.Error(), says) {
		t.Fatalf("error %v of kind %s, want kind %s with the words %q", err, ports.KindOf(err), kind, says)
	}
}

// sessionOf is the session of everybody's connection; nil while there is none.
func sessionOf(s *Source) *session {
	v := s.present.Load()
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.main.conn == nil {
		return nil
	}
	return v.main.conn.session
}
