package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"dragoman/core/agent"
	"dragoman/core/ask"
	"dragoman/core/gateway"
	"dragoman/core/internal/guard"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// jobs is a source whose tool outlives the process that called it, by the call's key.
type jobs struct {
	forgets bool // what ran before is not known any more

	mu       sync.Mutex
	calls    []string // keys
	rejoined []string
	causes   []error // why calls were left
	finished chan struct{}
	begun    chan struct{}
}

func newJobs() *jobs { return &jobs{finished: make(chan struct{}), begun: make(chan struct{}, 10)} }

func (j *jobs) Run(ctx context.Context, reg ports.Registrar) error {
	reg.Register(ports.Catalog{Tools: []ports.ToolPort{job{j}}})
	reg.State(ports.State{Phase: ports.PhaseReady})
	<-ctx.Done()
	return ctx.Err()
}

type job struct{ *jobs }

var _ ports.Rejoiner = job{}

func (job) Spec() ports.ToolSpec {
	return ports.ToolSpec{Name: "work", Class: ports.ClassUnsafe, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (j job) Call(ctx context.Context, c ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	j.mu.Lock()
	j.calls = append(j.calls, c.Key)
	j.mu.Unlock()
	j.begun <- struct{}{}
	return j.wait(ctx)
}

func (j job) Rejoin(ctx context.Context, c ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	j.mu.Lock()
	j.rejoined = append(j.rejoined, c.Key)
	known := !j.forgets && len(j.calls) > 0 && j.calls[0] == c.Key && c.Name == "work"
	j.mu.Unlock()
	if !known {
		return ports.ToolResult{}, ports.Errorf(ports.KindNotFound, "rejoin", "nobody knows it")
	}
	return j.wait(ctx)
}

func (j job) wait(ctx context.Context) (ports.ToolResult, error) {
	select {
	case <-j.finished:
		return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: "the job is done"}}}, nil
	case <-ctx.Done():
		j.mu.Lock()
		j.causes = append(j.causes, context.Cause(ctx))
		j.mu.Unlock()
		return ports.ToolResult{}, ctx.Err()
	}
}

func (j *jobs) seen() (calls, rejoined int, causes []error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.calls), len(j.rejoined), j.causes
}

// replayedJob fails unless a replay of the turn is the same.
func replayedJob(t *testing.T, rec ports.Recording) {
	t.Helper()
	w := newWorld(t)
	box := toolbox.New(w.opt.Tools, nil, &guard.Leaks{}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = newJobs().Run(ctx, box.Add(toolbox.Source{Name: "jobs"})) // registers, and leaves
	cfg := agent.Config{Name: "main", MaxSteps: 5, TurnTimeout: time.Minute, Models: []agent.Model{{ContextTokens: 32000}}}
	if got := replayBy(t, cfg, box.View(toolbox.Filter{}, nil), ask.New(w.opt.Ask), rec); !got.Same {
		t.Errorf("first difference %d: %s", got.First(), indented(t, got))
	}
}

// working is a world in which ann's job has begun, in a process that may die.
func working(t *testing.T) (*world, *jobs, *failing) {
	w, j := newWorld(t), newJobs()
	w.opt.Drain = 10 * time.Millisecond
	w.opt.Sources = []gateway.Source{{Source: toolbox.Source{Name: "jobs", Timeout: time.Second}, Port: j}}
	w.model.becomes(func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		last := r.Entries[len(r.Entries)-1]
		if last.Role == ports.RoleTool {
			return says("it is done: " + last.Text)
		}
		return ports.ModelReply{Calls: []ports.Call{{ID: "1", Name: "jobs__work", Arguments: json.RawMessage(`{}`)}}, Stop: ports.StopCalls}, nil
	})
	f := w.startFailing(1000, killAfter)
	w.chat.say(t, "ann", "go")
	<-j.begun
	return w, j, f
}

// TestACallThatOutlivedItsProcessIsTakenUp: no question, no second call, and a
// replay of the turn is the same.
func TestACallThatOutlivedItsProcessIsTakenUp(t *testing.T) {
	w, j, f := working(t)
	f.die()
	w.bury(f)
	w.start()
	eventually(t, "it is taken up", func() bool { _, n, _ := j.seen(); return n == 1 })
	close(j.finished)
	if got := w.shown(1); got[0] != "it is done: the job is done" {
		t.Errorf("ann is told %q", got)
	}
	w.settled()
	if calls, rejoined, _ := j.seen(); calls != 1 || rejoined != 1 || len(w.chat.texts()) != 1 {
		t.Errorf("%d calls, taken up %d times, and ann sees %q", calls, rejoined, w.chat.texts())
	}
	w.end()
	for _, rec := range w.recordings() {
		replayedJob(t, rec)
	}
}

// TestACallThatNobodyKnowsIsAskedAbout: as if nothing could be taken up.
func TestACallThatNobodyKnowsIsAskedAbout(t *testing.T) {
	w, j, f := working(t)
	j.forgets = true
	f.die()
	w.bury(f)
	w.start()
	w.shown(1)
	w.settled()
	w.chat.press(t, "ann", 0, "again")
	<-j.begun
	close(j.finished)
	w.shown(2)
	w.settled()
	if calls, _, _ := j.seen(); calls != 2 || j.calls[0] != j.calls[1] {
		t.Errorf("the calls are %v, want the same key twice", j.calls)
	}
	w.end()
	for _, rec := range w.recordings() {
		replayedJob(t, rec)
	}
}

// left waits until the one call was left, which nobody waits for, and returns why.
func (j *jobs) left(t *testing.T) error {
	t.Helper()
	eventually(t, "the call was left", func() bool { _, _, causes := j.seen(); return len(causes) > 0 })
	_, _, causes := j.seen()
	if len(causes) != 1 {
		t.Fatalf("the call was left %d times: %v", len(causes), causes)
	}
	return causes[0]
}

// TestARestartIsNoStop: the call is told that somebody goes on with it.
func TestARestartIsNoStop(t *testing.T) {
	w, j, _ := working(t)
	w.end()
	if cause := j.left(t); !errors.Is(cause, ports.ErrLeaving) {
		t.Fatalf("the call was left because of %v", cause)
	}
	close(j.finished)
	w.start()
	if got := w.shown(1); got[0] != "it is done: the job is done" {
		t.Errorf("ann is told %q", got)
	}
	if calls, rejoined, _ := j.seen(); calls != 1 || rejoined != 1 {
		t.Errorf("%d calls, taken up %d times", calls, rejoined)
	}
}

// TestAPersonsStopIsNoRestart: what outlives the process ends with it.
func TestAPersonsStopIsNoRestart(t *testing.T) {
	w, j, _ := working(t)
	w.chat.say(t, "ann", "/stop")
	w.shown(1)
	if cause := j.left(t); errors.Is(cause, ports.ErrLeaving) {
		t.Errorf("the call was left because of %v", cause)
	}
}
