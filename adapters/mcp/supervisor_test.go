//go:build unix

package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

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
