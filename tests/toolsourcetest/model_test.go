package toolsourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"dragoman/ports"
)

// model is a source in memory that follows every rule, unless broken says which
// one it breaks.
type model struct {
	broken string

	mu      sync.Mutex
	peer    chan struct{} // closed when the peer is lost; nil without a connection
	again   chan chan error
	running bool
	runs    int
	born    int   // connections made
	waiting []ask // calls without an answer yet, oldest first; of "completion order" alone
}

// ask is where a call waits for its answer.
type ask chan string

func newModel(broken string) *model {
	m := &model{broken: broken, again: make(chan chan error)}
	if broken == "new starts" {
		go func() { <-time.After(settles + 2*time.Second) }()
	}
	return m
}

func (m *model) connect() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peer = make(chan struct{})
	m.born++
	return m.peer
}

func (m *model) connection() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peer
}

// cut ends the connection of the peer, and reports whether there was one.
func (m *model) cut() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.peer == nil {
		return errors.New("there is no connection")
	}
	close(m.peer)
	m.peer = nil
	return nil
}

func (m *model) births() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.born
}

// inOrder hands each answer to the call that has waited longest.
func (m *model) inOrder(ctx context.Context, slow bool, text string) (ports.ToolResult, error) {
	mine := make(ask, 1)
	m.mu.Lock()
	m.waiting = append(m.waiting, mine)
	if !slow {
		m.waiting[0] <- text
		m.waiting = m.waiting[1:]
	}
	m.mu.Unlock()
	select {
	case got := <-mine:
		return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: got}}}, nil
	case <-ctx.Done():
		return ports.ToolResult{}, ctx.Err()
	}
}

func (m *model) catalog() ports.Catalog {
	spec := func(name string, class ports.Class) ports.ToolSpec {
		return ports.ToolSpec{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Class: class}
	}
	echo := spec("echo", ports.ClassUnsafe)
	switch m.broken {
	case "schema":
		echo.InputSchema = json.RawMessage(`true`)
	case "class":
		echo.Class = ports.ClassRead
	case "server":
		echo.Server = "me"
	case "order":
		echo.Description = fmt.Sprint(m)
		echo.Title = time.Now().String()
	}
	c := ports.Catalog{}
	for _, s := range []ports.ToolSpec{echo, spec("fail", ports.ClassUnsafe), spec("slow", ports.ClassUnsafe), spec("refuse", ports.ClassUnsafe)} {
		c.Tools = append(c.Tools, &modelTool{model: m, spec: s})
	}
	switch m.broken {
	case "prompts alone":
		c.Prompts = []ports.PromptSpec{{Name: "greet"}}
	case "resources alone":
		c.Resources = []ports.ResourceSpec{{URI: "file:///notes"}}
	}
	for _, t := range c.Tools {
		t.(*modelTool).born = m.births()
	}
	if m.broken == "twice" {
		c.Tools = append(c.Tools, c.Tools[0])
	}
	return c
}

func (m *model) Run(ctx context.Context, reg ports.Registrar) error {
	m.mu.Lock()
	m.running = true
	m.runs++
	runs := m.runs
	m.mu.Unlock()
	defer func() { m.mu.Lock(); m.running = false; m.mu.Unlock() }()
	if m.broken == "one run" && runs > 1 {
		<-ctx.Done()
		return nil
	}
	if ctx.Err() != nil && m.broken != "ended context" {
		reg.State(ports.State{Phase: ports.PhaseStopped})
		return ctx.Err()
	}
	reg.State(ports.State{Phase: ports.PhaseConnecting})
	if m.broken == "never ready" {
		<-ctx.Done()
		return m.leave(ctx, reg)
	}
	restarts := 0
	var wish chan error
	for {
		lost := m.connect()
		if m.broken == "ready first" {
			reg.State(ports.State{Phase: ports.PhaseReady})
		}
		reg.Register(m.catalog())
		reg.State(ports.State{Phase: ports.PhaseReady, Restarts: restarts})
		if wish != nil {
			wish <- nil
		}
		wish = nil
		select {
		case <-ctx.Done():
			return m.leave(ctx, reg)
		case wish = <-m.again:
			_ = m.cut()
			reg.State(ports.State{Phase: ports.PhaseConnecting})
		case <-lost:
			m.degrade(reg)
			pause := 50 * time.Millisecond
			if m.broken == "stays lost" {
				pause = time.Hour
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return m.leave(ctx, reg)
			}
		}
		restarts++
	}
}

func (m *model) degrade(reg ports.Registrar) {
	s := ports.State{Phase: ports.PhaseDegraded, Err: "the peer was lost", RetryIn: 50 * time.Millisecond}
	switch m.broken {
	case "silent loss":
		s.Err = ""
	case "tools go":
		reg.Register(ports.Catalog{})
	}
	reg.State(s)
}

func (m *model) leave(ctx context.Context, reg ports.Registrar) error {
	_ = m.cut()
	switch m.broken {
	case "stays":
		<-time.After(runEnds + 3*time.Second)
	case "leaks":
		go func() { <-time.After(settles + 2*time.Second) }()
	case "own error":
		return errors.New("done")
	case "late":
		go func() {
			<-time.After(100 * time.Millisecond)
			reg.State(ports.State{Phase: ports.PhaseReady})
		}()
	case "registers late":
		go func() {
			<-time.After(100 * time.Millisecond)
			reg.Register(m.catalog())
		}()
	case "no stopped":
		return ctx.Err()
	}
	reg.State(ports.State{Phase: ports.PhaseStopped})
	return ctx.Err()
}

func (m *model) Reconnect(ctx context.Context) error {
	m.mu.Lock()
	running := m.running
	m.mu.Unlock()
	if !running && m.broken != "reconnect idle" {
		return ports.Errorf(ports.KindUnavailable, "model reconnect", "not running")
	}
	if m.broken == "reconnect lies" {
		return errors.Join(m.cut(), nil)
	}
	wish := make(chan error, 1)
	select {
	case m.again <- wish:
		return <-wish
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(3 * time.Second):
		return nil
	}
}

type modelTool struct {
	model *model
	spec  ports.ToolSpec
	born  int // the connection that it came with
	mu    sync.Mutex
	last  string
}

func (t *modelTool) Spec() ports.ToolSpec {
	t.mu.Lock()
	defer t.mu.Unlock()
	spec := t.spec
	if t.model.broken == "spec changes" {
		spec.Description = t.last
	}
	return spec
}

func (t *modelTool) Call(ctx context.Context, call ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	const op = "model call"
	if err := ctx.Err(); err != nil && t.model.broken != "calls when ended" {
		return ports.ToolResult{}, t.ending(err)
	}
	lost := t.model.connection()
	if lost == nil && t.model.broken != "calls nobody" {
		if t.model.broken == "unsure of the unsent" {
			return ports.ToolResult{}, ports.Errorf(ports.KindUnsure, op, "not connected")
		}
		return ports.ToolResult{}, ports.Errorf(ports.KindUnavailable, op, "not connected")
	}
	var args map[string]any
	if err := json.Unmarshal(call.Arguments, &args); err != nil || args == nil {
		if t.model.broken == "bad arguments" {
			return ports.ToolResult{}, ports.Errorf(ports.KindInternal, op, "nonsense")
		}
		return ports.ToolResult{}, ports.Errorf(ports.KindInvalid, op, "arguments are no object")
	}
	text := fmt.Sprint(args["n"])
	switch t.model.broken {
	case "does nothing":
		return ports.ToolResult{}, ports.Errorf(ports.KindInternal, op, "not yet written")
	case "of one connection":
		if t.born != t.model.births() {
			return ports.ToolResult{}, ports.Errorf(ports.KindNotFound, op, "the tool was another connection's")
		}
	case "completion order":
		return t.model.inOrder(ctx, t.spec.Name == "slow", text)
	case "call leaks":
		go func() { <-time.After(30 * time.Second) }()
	}
	switch t.spec.Name {
	case "fail":
		if t.model.broken == "failure is an error" {
			return ports.ToolResult{}, ports.Errorf(ports.KindProtocol, op, "no luck")
		}
		return ports.ToolResult{IsError: true, Content: []ports.Block{{Kind: ports.BlockText, Text: "no luck"}}}, nil
	case "refuse":
		if t.model.broken == "refusal" {
			return ports.ToolResult{}, ports.Errorf(ports.KindProtocol, op, "refused")
		}
		return ports.ToolResult{}, ports.Errorf(ports.KindInvalid, op, "refused")
	case "slow":
		return t.slow(ctx, lost)
	}
	t.mu.Lock()
	before := t.last
	t.last = text
	t.mu.Unlock()
	if t.model.broken == "others' results" && before != "" {
		text = before
	}
	return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: text}}}, nil
}

func (t *modelTool) slow(ctx context.Context, lost chan struct{}) (ports.ToolResult, error) {
	if t.model.broken == "slow to end" {
		<-time.After(12 * time.Second)
	}
	if t.model.broken == "waits for the dead" {
		lost = nil
	}
	select {
	case <-ctx.Done():
		if t.model.broken == "gives up for all" {
			_ = t.model.cut()
		}
		return ports.ToolResult{}, t.ending(ctx.Err())
	case <-lost:
		if t.model.broken == "sure of the lost" {
			return ports.ToolResult{}, ports.Errorf(ports.KindUnavailable, "model call", "lost")
		}
		return ports.ToolResult{}, ports.Errorf(ports.KindUnsure, "model call", "lost")
	case <-time.After(soon + 6*time.Second):
		return ports.ToolResult{}, ports.Errorf(ports.KindTimeout, "model call", "too slow")
	}
}

func (t *modelTool) ending(err error) error {
	switch t.model.broken {
	case "loses the cause":
		return &ports.Error{Kind: ports.KindOf(err), Op: "model call", Err: errors.New(err.Error())}
	case "timeout is cancel":
		return &ports.Error{Kind: ports.KindCancelled, Op: "model call", Err: err}
	}
	return &ports.Error{Kind: ports.KindOf(err), Op: "model call", Err: err}
}

func modelHarness(broken string) Harness {
	return Harness{
		New: func() (ports.ToolSource, error) { return newModel(broken), nil },
		Echo: Echo{
			Tool: "echo",
			Args: func(n int) string { return fmt.Sprintf(`{"n":%d}`, n) },
			Want: func(n int, r ports.ToolResult) error {
				if got := r.Content[0].Text; got != fmt.Sprint(n) {
					return fmt.Errorf("%q, want %d", got, n)
				}
				return nil
			},
		},
		Failing:  &Probe{"fail", `{}`},
		Refused:  &Probe{"refuse", `{}`},
		Slow:     &Probe{"slow", `{}`},
		Kill:     func(s ports.ToolSource) error { return s.(*model).cut() },
		Patience: 2 * time.Second,
	}
}
