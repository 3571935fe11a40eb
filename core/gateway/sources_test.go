package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/core/gateway"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// plain is a source with one tool, "hello". It counts its runs, which must never
// be two at a time, and says after each that it is over: too late to be heard.
type plain struct {
	says string
	gate chan struct{} // what a call waits for beside its context; nil: nothing
	down bool          // it cannot be reached
	slow time.Duration // how long it takes to end

	mu      sync.Mutex
	runs    int
	running int
	most    int
	calls   int
	reg     ports.Registrar // of the last run
}

func (s *plain) Run(ctx context.Context, reg ports.Registrar) error {
	s.count(1, reg)
	defer s.count(-1, reg)
	if s.down {
		reg.State(ports.State{Phase: ports.PhaseDegraded, Err: "nobody is at home"})
	} else {
		reg.Register(ports.Catalog{Tools: []ports.ToolPort{hello{s}}})
		reg.State(ports.State{Phase: ports.PhaseReady})
	}
	<-ctx.Done()
	timer := time.NewTimer(s.slow)
	defer timer.Stop()
	<-timer.C
	return ctx.Err()
}

func (s *plain) count(n int, reg ports.Registrar) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
	s.runs += max(0, n)
	s.most = max(s.most, s.running)
	s.reg = reg
}

func (s *plain) seen() (runs, running, most, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs, s.running, s.most, s.calls
}

type hello struct{ s *plain }

func (h hello) Spec() ports.ToolSpec {
	return ports.ToolSpec{Name: "hello", Class: ports.ClassUnsafe, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (h hello) Call(ctx context.Context, _ ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	h.s.mu.Lock()
	h.s.calls++
	h.s.mu.Unlock()
	if h.s.gate != nil {
		select {
		case <-h.s.gate:
		case <-ctx.Done():
			return ports.ToolResult{}, ctx.Err()
		}
	}
	return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: h.s.says}}}, nil
}

func sourceOf(name string, p ports.ToolSource) gateway.Source {
	return gateway.Source{Source: toolbox.Source{Name: name, Timeout: roomy(2 * time.Second)}, Port: p}
}

// server is how one server is listed.
func (w *world) server(name string) (ports.ServerInfo, bool) {
	w.t.Helper()
	list, err := w.g.Servers(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == name {
			return s, true
		}
	}
	return ports.ServerInfo{}, false
}

// is waits until a server is listed in a phase.
func (w *world) is(name string, p ports.Phase) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%s is %s", name, p), func() bool { s, _ := w.server(name); return s.Phase == p })
}

// called is what an admin's call of a tool gives.
func (w *world) called(name string) ports.CallReport {
	w.t.Helper()
	r, err := w.g.CallTool(w.t.Context(), name, json.RawMessage(`{}`), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func TestASourceComesAndGoesAtRunTime(t *testing.T) {
	w := newWorld(t).start()
	ctx := t.Context()
	first, second := &plain{says: "one", slow: 50 * time.Millisecond}, &plain{says: "two"}
	if err := w.g.AddSource(ctx, sourceOf("extra", first)); err != nil {
		t.Fatal(err)
	}
	w.is("extra", ports.PhaseReady)
	if r := w.called("extra__hello"); r.Outcome != ports.CallOK || r.Text != "one" {
		t.Errorf("the call gave %+v", r)
	}
	if err := w.g.AddSource(ctx, sourceOf("extra", second)); err != nil {
		t.Fatal(err)
	}
	w.is("extra", ports.PhaseReady)
	if r := w.called("extra__hello"); r.Text != "two" {
		t.Errorf("in its place the call gave %+v", r)
	}
	if _, running, _, _ := first.seen(); running != 0 {
		t.Error("the one that was replaced runs still, beside the new one")
	}
	if err := w.g.RemoveSource(ctx, "extra"); err != nil {
		t.Fatal(err)
	}
	if _, running, _, _ := second.seen(); running != 0 {
		t.Error("the one that was removed runs still")
	}
	second.reg.Register(ports.Catalog{Tools: []ports.ToolPort{hello{second}}})
	second.reg.State(ports.State{Phase: ports.PhaseReady})
	if r := w.called("extra__hello"); r.Outcome != ports.CallNotFound {
		t.Errorf("a tool that was registered too late is there: %+v", r)
	}
	if s, there := w.server("extra"); there {
		t.Errorf("the one that was removed is listed: %+v", s)
	}
	if err := w.g.RemoveSource(ctx, "extra"); !ports.IsKind(err, ports.KindNotFound) {
		t.Errorf("a second removal gave %v", err)
	}
	if r := w.called("srv__write_a"); r.Outcome != ports.CallInvalidParams { // it wants n
		t.Errorf("the other source's tool: %+v", r)
	}
}

// What ran on a source that was removed ends with words, at once, and with an
// unknown outcome; also where the tool listens to nothing.
func TestACallOfARemovedSourceEndsInPlainWords(t *testing.T) {
	w := newWorld(t).start()
	slow := &plain{gate: make(chan struct{})}
	if err := w.g.AddSource(t.Context(), sourceOf("extra", slow)); err != nil {
		t.Fatal(err)
	}
	w.is("extra", ports.PhaseReady)
	got := make(chan ports.CallReport, 1)
	go func() {
		r, _ := w.g.CallTool(t.Context(), "extra__hello", json.RawMessage(`{}`), time.Minute)
		got <- r
	}()
	eventually(t, "the call runs", func() bool { _, _, _, calls := slow.seen(); return calls == 1 })
	if err := w.g.RemoveSource(t.Context(), "extra"); err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-got:
		if r.Outcome != ports.CallTransport || !strings.Contains(r.Text, "went away while this ran") || !strings.Contains(r.Text, "not known") {
			t.Errorf("it ended with %+v", r)
		}
	case <-time.After(roomy(10 * time.Second)):
		t.Fatal("the call runs on")
	}
}

// A turn that runs sees at its next step what was put in, and no longer what was
// taken out.
func TestARunningTurnSeesTheNewCatalogAtItsNextStep(t *testing.T) {
	w := newWorld(t)
	var steps []string
	w.model.reply = func(_ context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		var extra []string
		for _, spec := range r.Tools {
			if strings.HasSuffix(spec.Name, "__hello") {
				extra = append(extra, spec.Name)
			}
		}
		steps = append(steps, strings.Join(extra, " "))
		next := []string{"srv__write_a", "late__hello", "srv__write_b", "late__hello"}
		if len(steps) > len(next) {
			return says(r.Entries[len(r.Entries)-1].Text)
		}
		name, args := next[len(steps)-1], `{}`
		if strings.HasPrefix(name, "srv__") {
			args = `{"n":1}`
		}
		return ports.ModelReply{Model: "m", Stop: ports.StopCalls, Calls: []ports.Call{{ID: fmt.Sprint(len(steps)), Name: name, Arguments: json.RawMessage(args)}}}, nil
	}
	late := &plain{says: "from the late one"}
	w.tools.onCall = func(ctx context.Context, name string) {
		var err error
		if name == "write_a" {
			err = w.g.AddSource(ctx, sourceOf("late", late))
			w.is("late", ports.PhaseReady)
		} else {
			err = w.g.RemoveSource(ctx, "late")
		}
		if err != nil {
			t.Error(err)
		}
	}
	w.start()
	w.chat.say(t, "ann", "go")
	if got := w.shown(1)[0]; got != `There is no tool named "late__hello".` {
		t.Errorf("the last call gave %q", got)
	}
	w.settled()
	if got := strings.Join(steps, ","); got != ",late__hello,late__hello,," {
		t.Errorf("the steps saw %q", got)
	}
	if _, _, _, calls := late.seen(); calls != 1 {
		t.Errorf("it was called %d times", calls)
	}
}

// Calls, turns, looks and changes at once: nothing is lost, nothing runs twice at
// a time, and what stays is what was said last.
func TestSourcesComeAndGoUnderLoad(t *testing.T) {
	w := newWorld(t)
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		last := r.Entries[len(r.Entries)-1]
		if last.Role != ports.RoleUser {
			return says("done")
		}
		return calls("load__hello", "srv__read_a")(ctx, ports.ModelRequest{Entries: []ports.Entry{last}})
	}
	w.start()
	const rounds, people = 30, 6
	source := &plain{says: "loaded"}
	var work sync.WaitGroup
	for i := range people {
		work.Go(func() {
			for n := range rounds / people {
				w.chat.say(t, fmt.Sprintf("p%d", i), fmt.Sprint(n))
				if r := w.called("load__hello"); r.Outcome != ports.CallOK && r.Outcome != ports.CallNotFound && r.Outcome != ports.CallTransport {
					t.Errorf("a call gave %+v", r)
				}
				w.g.Ready(t.Context())
			}
		})
	}
	work.Go(func() {
		for range rounds {
			if err := w.g.AddSource(t.Context(), sourceOf("load", source)); err != nil {
				t.Error(err)
			}
			w.called("load__hello") // waits until it is connected
			if err := w.g.RemoveSource(t.Context(), "load"); err != nil {
				t.Error(err)
			}
		}
	})
	work.Go(func() {
		for i := range rounds {
			if _, err := w.g.SetEnabled(t.Context(), "load", i%2 == 0); err != nil && !ports.IsKind(err, ports.KindNotFound) {
				t.Error(err)
			}
			if _, err := w.g.Reconnect(t.Context(), "load"); err != nil && !ports.IsKind(err, ports.KindNotFound) && !ports.IsKind(err, ports.KindInvalid) {
				t.Error(err)
			}
		}
	})
	work.Wait()
	w.settled()
	w.sound(rounds)
	if err := w.g.AddSource(t.Context(), sourceOf("load", source)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.g.SetEnabled(t.Context(), "load", true); err != nil {
		t.Fatal(err)
	}
	w.is("load", ports.PhaseReady)
	if r := w.called("load__hello"); r.Text != "loaded" {
		t.Errorf("in the end a call gives %+v", r)
	}
	if _, running, most, calls := source.seen(); running != 1 || most != 1 || calls < rounds/2 {
		t.Errorf("%d runs in the end, %d at a time, and %d calls; want 1, 1 and many", running, most, calls)
	}
}
