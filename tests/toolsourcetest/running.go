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

// runEnds is how long Run may take to return: two graces for a child, and some for a
// machine that is busy.
const runEnds = 20 * time.Second

// event is one call of the registrar.
type event struct {
	catalog *ports.Catalog
	state   *ports.State
}

// recorder is a Registrar that remembers.
type recorder struct {
	mu     sync.Mutex
	events []event
	closed bool
	late   int
	news   chan struct{} // closed and replaced at each event
}

func newRecorder() *recorder { return &recorder{news: make(chan struct{})} }

func (r *recorder) Register(c ports.Catalog) { r.add(event{catalog: &c}) }
func (r *recorder) State(s ports.State)      { r.add(event{state: &s}) }

func (r *recorder) add(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.late++
		return
	}
	r.events = append(r.events, e)
	close(r.news)
	r.news = make(chan struct{})
}

func (r *recorder) all() []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]event(nil), r.events...)
}

// await waits until the events from index from on contain a state of the phase.
func (r *recorder) await(ctx context.Context, phase ports.Phase, from int, within time.Duration) (ports.State, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		r.mu.Lock()
		events, news := r.events, r.news
		r.mu.Unlock()
		var last *ports.State
		for _, e := range events[from:] {
			if e.state == nil {
				continue
			}
			last = e.state
			if last.Phase == phase {
				return *last, nil
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
			if last == nil {
				return ports.State{}, fmt.Errorf("no state within %s, want %s", within, phase)
			}
			return *last, fmt.Errorf("not %s within %s: the last state is %s (%s)", phase, within, last.Phase, last.Err)
		}
	}
}

// running is a source at work.
type running struct {
	src  ports.ToolSource
	rec  *recorder
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// begin runs src with a recorder of its own.
func begin(ctx context.Context, src ports.ToolSource) *running {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{src: src, rec: newRecorder(), stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = src.Run(ctx, r.rec)
		r.rec.mu.Lock()
		r.rec.closed = true
		r.rec.mu.Unlock()
	}()
	return r
}

// end stops the source and says what is wrong with how it ended.
func (r *running) end() error {
	r.stop()
	select {
	case <-r.done:
	case <-time.After(runEnds):
		return fmt.Errorf("Run did not return within %s of its context's end", runEnds)
	}
	if r.err != nil && !errors.Is(r.err, context.Canceled) {
		return fmt.Errorf("Run returned %w, want nil or its context's error", r.err)
	}
	return nil
}

// ready makes a source and waits until it is ready.
func (h Harness) ready(ctx context.Context) (*running, error) {
	src, err := h.New()
	if err != nil {
		return nil, fmt.Errorf("New: %w", err)
	}
	r := begin(ctx, src)
	if _, err := r.rec.await(ctx, ports.PhaseReady, 0, h.patience()); err != nil {
		return nil, errors.Join(err, r.end())
	}
	return r, nil
}

// with runs check on a ready source and ends it.
func (h Harness) with(ctx context.Context, check func(*running) error) error {
	r, err := h.ready(ctx)
	if err != nil {
		return err
	}
	err = check(r)
	if ended := r.end(); err == nil {
		err = ended
	}
	return err
}

// tools are those of the last catalog.
func (r *running) tools() []ports.ToolPort {
	var tools []ports.ToolPort
	for _, e := range r.rec.all() {
		if e.catalog != nil {
			tools = e.catalog.Tools
		}
	}
	return tools
}

func (r *running) tool(name string) (ports.ToolPort, error) {
	for _, t := range r.tools() {
		if t.Spec().Name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("there is no tool %q among the %d registered", name, len(r.tools()))
}

// call calls a tool of the last catalog.
func (r *running) call(ctx context.Context, name, args string) (ports.ToolResult, error) {
	t, err := r.tool(name)
	if err != nil {
		return ports.ToolResult{}, err
	}
	return t.Call(ctx, toolCall(name, args), host{})
}

func (r *running) echo(ctx context.Context, h Harness, n int) error {
	result, err := r.call(ctx, h.Echo.Tool, h.Echo.Args(n))
	if err != nil {
		return fmt.Errorf("call %d of %s: %w", n, h.Echo.Tool, err)
	}
	if result.IsError {
		return fmt.Errorf("call %d of %s says it failed: %v", n, h.Echo.Tool, result.Content)
	}
	if err := h.Echo.Want(n, result); err != nil {
		return fmt.Errorf("call %d of %s: %w", n, h.Echo.Tool, err)
	}
	return wellFormed(result)
}

func toolCall(name, args string) ports.ToolCall {
	return ports.ToolCall{
		Call:   ports.Call{ID: "call-1", Name: name, Arguments: json.RawMessage(args)},
		Turn:   "test:1#1",
		Person: "p1",
		In:     ports.Conversation{Channel: "test", Chat: "1"},
		Key:    "test:1#1/0/0",
	}
}

// host is a Host of a gateway where nobody is there to be asked.
type host struct{}

func (host) Ask(context.Context, ports.Question) (ports.Answer, error) {
	return ports.Answer{}, ports.Errorf(ports.KindInvalid, "ask", "nobody can be asked")
}

func (host) Sample(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return ports.ModelReply{}, ports.Errorf(ports.KindInvalid, "sample", "there is no model")
}

func (host) Progress(context.Context, ports.Progress) {}

// wellFormed checks that a result's blocks have what their kinds promise.
func wellFormed(r ports.ToolResult) error {
	if len(r.Structured) > 0 && !json.Valid(r.Structured) {
		return errors.New("Structured is no JSON")
	}
	for i, b := range r.Content {
		switch b.Kind {
		case ports.BlockText:
		case ports.BlockImage, ports.BlockAudio:
			if len(b.Data) == 0 || b.MIME == "" {
				return fmt.Errorf("block %d is %s without data or MIME type", i, b.Kind)
			}
		case ports.BlockResource, ports.BlockLink:
			if b.URI == "" {
				return fmt.Errorf("block %d is %s without URI", i, b.Kind)
			}
		default:
			return fmt.Errorf("block %d has the unknown kind %q", i, b.Kind)
		}
	}
	return nil
}
