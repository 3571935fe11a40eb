//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// partly is a server of which some tools, by the names that begin with "mute", are
// never answered; others are. It answers pings.
func partly(tools ...string) func(int) *memory {
	return func(int) *memory {
		m := serving("")
		m.list = func(int) (string, error) {
			var all []string
			for _, name := range tools {
				all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
			}
			return `{"tools":[` + strings.Join(all, ",") + `]}`, nil
		}
		m.call = func(ctx context.Context, params string) (string, error) {
			var p struct{ Name string }
			if err := json.Unmarshal([]byte(params), &p); err != nil {
				return "", err
			}
			if strings.HasPrefix(p.Name, "mute") {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return textResult(p.Name), nil
		}
		return m
	}
}

// callTool calls one of several tools, by its place in the list.
func (w *watched) callTool(ctx context.Context, n int) error {
	w.mu.Lock()
	tool := w.tools[n]
	w.mu.Unlock()
	// As the core names it: with its server's name before its own.
	_, err := tool.Call(ctx, ports.ToolCall{Call: ports.Call{Name: "server__" + tool.Spec().Name}}, nil)
	return err
}

// exhaust calls a tool that does not answer, as often side by side as it takes.
func (w *watched) exhaust(t *testing.T, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for range maxUnanswered {
		wg.Go(func() { wantKind(t, w.callTool(t.Context(), n), ports.KindTimeout, "") })
	}
	wg.Wait()
}

func TestOneMuteToolLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, partly("mute", "good"))
		w.wantPhase(t, ports.PhaseReady)
		for range 3 { // its trials fail too
			w.exhaust(t, 0)
			wantKind(t, w.callTool(t.Context(), 0), ports.KindUnavailable, `the tool "mute" does not answer`)
			if err := w.callTool(t.Context(), 1); err != nil {
				t.Fatalf("the good tool, of a server that answers pings: %v", err)
			}
			if s := w.wantPhase(t, ports.PhaseReady); !strings.Contains(s.Err, `"mute"`) || strings.Contains(s.Err, `"good"`) {
				t.Errorf("the state is %+v", s)
			}
			if err := w.Reconnect(t.Context()); err != nil { // trusts it anew
				t.Fatal(err)
			}
			if s := w.wantPhase(t, ports.PhaseReady); s.Err != "" {
				t.Errorf("the state of a new connection is %+v", s)
			}
		}
		w.end()
	})
}

func TestEachToolThatDoesNotAnswerIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, partly("mute1", "mute2", "good", "mute3", "mute4", "mute5"))
		w.wantPhase(t, ports.PhaseReady)
		for _, n := range []int{3, 1} {
			w.exhaust(t, n)
		}
		if s := w.wantPhase(t, ports.PhaseReady); !strings.Contains(s.Err, `the tool "mute2", "mute3": `) {
			t.Errorf("the state is %+v", s)
		}
		for _, n := range []int{0, 5, 4} {
			w.exhaust(t, n)
		}
		if s := w.wantPhase(t, ports.PhaseReady); !strings.Contains(s.Err, `the tool "mute1", "mute2", "mute3", 2 more: `) {
			t.Errorf("the state is %+v", s)
		}
		if err := w.callTool(t.Context(), 2); err != nil {
			t.Error(err)
		}
		w.end()
	})
}

// TestAMuteToolDoesNotTakeAllTurnsForEver: its calls that run are over when their
// time is, and when it is barred further ones do not wait in line.
func TestAMuteToolDoesNotTakeAllTurnsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watchWith(t, Config{MaxParallel: maxUnanswered}, Deps{}, partly("mute", "mute2", "good"))
		w.wantPhase(t, ports.PhaseReady)
		begun := time.Now()
		w.exhaust(t, 0)
		var wg sync.WaitGroup
		for range maxUnanswered { // all turns are taken by another tool
			wg.Go(func() { wantKind(t, w.callTool(t.Context(), 1), ports.KindTimeout, "") })
		}
		synctest.Wait()
		for range 100 {
			wantKind(t, w.callTool(t.Context(), 0), ports.KindUnavailable, `the tool "mute" does not answer`)
		}
		if took := time.Since(begun); took != defaultCallTimeout {
			t.Errorf("calls of a tool that is barred waited for their turn: %s", took-defaultCallTimeout)
		}
		wg.Wait()
		begun = time.Now()
		if err := w.callTool(t.Context(), 2); err != nil || time.Since(begun) != 0 {
			t.Errorf("the good tool, after %s: %v", time.Since(begun), err)
		}
		w.end()
	})
}

// TestAToolThatBreaksLeavesTheOthers: what goes for calls without an answer goes for
// those that HTTP answers with 5xx.
func TestAToolThatBreaksLeavesTheOthers(t *testing.T) {
	p := newHTTPPeer(t, "good")
	r := start(t, p.config()).ready()
	p.swap(onCallOf("echo", answers(502, "", "")))
	for range maxUnanswered {
		_, err := r.call(t.Context(), "echo", `{}`)
		wantKind(t, err, ports.KindUnsure, "502")
	}
	_, err := r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindUnavailable, `the tool "echo" does not answer`)
	r.await("ready, with words", 0, func(s ports.State) bool {
		return s.Phase == ports.PhaseReady && strings.Contains(s.Err, `by the tool "echo"`)
	})
	if r.ask("pid") == "" {
		t.Error("another tool says nothing")
	}
	if begun, _ := p.counts(); begun != 1 || r.last().Phase != ports.PhaseReady {
		t.Errorf("%d sessions, the state is %+v", begun, r.last())
	}
}

func TestNamesOfToolsThatComeAndGoAreNotKeptForEver(t *testing.T) {
	b := newBreakers(1, time.Minute)
	settle, err := b.pass("mute")
	if err != nil {
		t.Fatal(err)
	}
	settle(context.DeadlineExceeded)
	for n := range 10 * maxTools {
		if _, err := b.pass(fmt.Sprint("tool ", n)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.byTool); n > maxTools {
		t.Errorf("%d are known", n)
	}
	if b.closed("mute") == nil || b.closed("tool 1") != nil {
		t.Error("the one that does not answer was forgotten")
	}
}
