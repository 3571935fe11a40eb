//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// moody is a server whose calls and pings are as its test says.
type moody struct {
	hangs, deaf atomic.Bool
	fails       atomic.Pointer[error]
}

func (s *moody) link(n int) *memory {
	m := newMemory()
	m.call = func(ctx context.Context, _ string) (string, error) {
		if s.hangs.Load() {
			<-ctx.Done()
			return "", ctx.Err()
		}
		if err := s.fails.Load(); err != nil {
			return "", *err
		}
		return textResult(fmt.Sprint("link ", n)), nil
	}
	m.ping = func() error {
		if s.deaf.Load() {
			<-time.After(defaultTimeout)
			return context.DeadlineExceeded
		}
		return nil
	}
	return m
}

func TestAToolWhoseCallsTimeOutGetsNoneForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s moody
		s.hangs.Store(true)
		w := watch(t, s.link)
		w.wantPhase(t, ports.PhaseReady)
		for n := range maxUnanswered {
			if state := w.wantPhase(t, ports.PhaseReady); state.Err != "" {
				t.Errorf("the state after %d calls is %+v", n, state)
			}
			begun := time.Now()
			_, err := w.call(t.Context(), "ann")
			wantKind(t, err, ports.KindTimeout, "")
			if took := time.Since(begun); took != defaultCallTimeout {
				t.Fatalf("call %d took %s", n, took)
			}
		}
		state := w.wantPhase(t, ports.PhaseReady) // it answers pings
		if !strings.Contains(state.Err, `5 calls in a row were not answered by the tool "one"`) || state.Connections != 1 {
			t.Errorf("the state is %+v", state)
		}
		begun := time.Now()
		_, err := w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, `the tool "one" does not answer`)
		if took := time.Since(begun); took != 0 || ports.RetryAfter(err) != barFor {
			t.Errorf("a call while it is barred took %s, and should be made again in %s", took, ports.RetryAfter(err))
		}
		time.Sleep(ports.RetryAfter(err)) // then there is one call on trial
		trial := make(chan error, 1)
		go func() { _, err := w.call(t.Context(), "ann"); trial <- err }()
		synctest.Wait()
		_, err = w.call(t.Context(), "bob")
		wantKind(t, err, ports.KindUnavailable, `the tool "one" does not answer`)
		wantKind(t, <-trial, ports.KindTimeout, "")
		_, err = w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, `the tool "one" does not answer`)
		time.Sleep(barFor)
		s.hangs.Store(false)
		if state := w.wantPhase(t, ports.PhaseReady); !strings.Contains(state.Err, `"one"`) {
			t.Errorf("the state before it answered again is %+v", state)
		}
		w.wantCall(t, "ann", "link 1")
		w.wantCall(t, "ann", "link 1")
		if state := w.wantPhase(t, ports.PhaseReady); state.Err != "" || slices.Contains(w.phases(), ports.PhaseDegraded) {
			t.Errorf("the phases are %v, the last state is %+v", w.phases(), state)
		}
		w.end()
	})
}

func TestWhatSaysNothingOfTheServerDoesNotBarIt(t *testing.T) {
	c := newConnection(newKeeper(newSupervisor(t.Context(), &Source{cfg: Config{CallTimeout: time.Minute}, log: slog.New(slog.DiscardHandler)}, nil), owner{}), nil, nil)
	for name, err := range map[string]error{
		"error answers":       &answerError{code: -32603, message: "boom"},
		"bad arguments":       &answerError{code: -32602, message: "no"},
		"nonsense":            malformed("no result"),
		"too large":           &tooLargeError{what: "too large"},
		"too large for stdio": &lostError{reason: "too long", cause: errLineTooLong, sent: true},
		"asks to wait":        &lostError{reason: "later", after: time.Second},
		"forgot the session":  &lostError{reason: "who?", session: true},
		"login":               &unauthorizedError{status: 403, what: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			if v := c.verdict(err, time.Minute); v != nil && !errors.Is(v, errNoVerdict) {
				t.Errorf("it counts against the server")
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var s moody
		w := watch(t, s.link)
		w.wantPhase(t, ports.PhaseReady)
		s.hangs.Store(true)
		for range 3 * maxUnanswered {
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := w.call(short, "ann")
			wantKind(t, err, ports.KindTimeout, "")
			cancel()
			left, leave := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Second, leave)
			_, err = w.call(left, "ann")
			wantKind(t, err, ports.KindCancelled, "")
		}
		s.hangs.Store(false)
		var fails error = &answerError{code: 7, message: "no"}
		s.fails.Store(&fails)
		for range 3 * maxUnanswered {
			_, err := w.call(t.Context(), "ann")
			wantKind(t, err, ports.KindProtocol, "")
		}
		if state := w.wantPhase(t, ports.PhaseReady); len(w.phases()) != 2 {
			t.Errorf("the phases are %v, the last state is %+v", w.phases(), state)
		}
		w.end()
	})
}

func TestAnAnswerInBetweenBeginsTheCountAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s moody
		var broken error = &lostError{reason: "502", sent: true}
		w := watch(t, s.link)
		w.wantPhase(t, ports.PhaseReady)
		for range 3 {
			s.fails.Store(&broken)
			for range maxUnanswered - 1 {
				_, err := w.call(t.Context(), "ann")
				wantKind(t, err, ports.KindUnsure, "502")
			}
			s.fails.Store(nil)
			w.wantCall(t, "ann", "link 1")
		}
		s.fails.Store(&broken)
		for range maxUnanswered {
			w.wantPhase(t, ports.PhaseReady)
			_, err := w.call(t.Context(), "ann")
			wantKind(t, err, ports.KindUnsure, "502")
			s.hangs.Store(true)
			left, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, leave)
			_, _ = w.call(left, "ann") // what a person stops is no answer
			s.hangs.Store(false)
		}
		_, err := w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, `the tool "one" does not answer`)
		w.end()
	})
}

func TestAServerThatHangsIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s moody
		s.hangs.Store(true)
		s.deaf.Store(true)
		w := watch(t, s.link)
		time.Sleep(24 * time.Hour)
		w.wantPhase(t, ports.PhaseReady) // it is not asked while nobody calls it
		_, err := w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindTimeout, "")
		<-time.After(defaultTimeout)
		if state := w.wantPhase(t, ports.PhaseDegraded); !strings.Contains(state.Err, "a ping") {
			t.Errorf("the state is %+v", state)
		}
		_, err = w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, "does not answer")
		time.Sleep(barFor + defaultTimeout - time.Second)
		if n := w.dialled(); n != 1 {
			t.Fatalf("it was replaced before the second ping's time was over")
		}
		s.hangs.Store(false)
		s.deaf.Store(false)
		time.Sleep(2 * time.Second)
		if state := w.wantPhase(t, ports.PhaseReady); w.dialled() != 2 || state.Restarts != 1 {
			t.Errorf("%d links, the state is %+v", w.dialled(), state)
		}
		w.wantCall(t, "ann", "link 2")
		w.end()
	})
}

// TestAServerThatAnswersAPingIsNotBarredAnyLonger: be it before its time.
func TestAServerThatAnswersAPingIsNotBarredAnyLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s moody
		s.hangs.Store(true)
		s.deaf.Store(true)
		w := watch(t, s.link)
		w.wantPhase(t, ports.PhaseReady)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				_, err := w.call(t.Context(), "ann")
				wantKind(t, err, ports.KindTimeout, "")
			})
			time.Sleep(20 * time.Second)
		}
		time.Sleep(defaultCallTimeout + defaultTimeout - 40*time.Second)
		w.wantPhase(t, ports.PhaseDegraded)
		s.deaf.Store(false)
		wg.Wait() // has it asked again
		if state := w.wantPhase(t, ports.PhaseReady); w.dialled() != 1 || state.RetryIn != 0 {
			t.Errorf("%d links, the state is %+v", w.dialled(), state)
		}
		s.hangs.Store(false)
		w.wantCall(t, "ann", "link 1")
		w.end()
	})
}

func TestAServerThatIsBusyWithACallIsNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s moody
		s.hangs.Store(true)
		s.deaf.Store(true)
		w := watch(t, s.link)
		w.wantPhase(t, ports.PhaseReady)
		var wg sync.WaitGroup
		call := func() {
			_, err := w.call(t.Context(), "ann")
			wantKind(t, err, ports.KindTimeout, "")
		}
		wg.Go(call)
		time.Sleep(defaultCallTimeout + defaultTimeout - time.Second)
		wg.Go(call) // runs when the second ping's time is over, at 60+15+30+15 s
		time.Sleep(time.Second)
		w.wantPhase(t, ports.PhaseDegraded)
		time.Sleep(barFor + defaultTimeout)
		s.deaf.Store(false)
		time.Sleep(barFor)
		w.wantPhase(t, ports.PhaseReady)
		if n := w.dialled(); n != 1 {
			t.Errorf("%d links", n)
		}
		wg.Wait()
		w.end()
	})
}

func TestCallsWaitInOrderForTheOnesThatRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		w := watchWith(t, Config{MaxParallel: 2, CallTimeout: 10 * time.Second}, Deps{}, func(int) *memory {
			m := newMemory()
			m.call = func(ctx context.Context, _ string) (string, error) {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				time.Sleep(4 * time.Second)
				return textResult("done"), nil
			}
			return m
		})
		w.wantPhase(t, ports.PhaseReady)
		begun := time.Now()
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				w.wantCall(t, "ann", "done")
				if took, want := time.Since(begun), time.Duration(4+n/2*4)*time.Second; took != want {
					t.Errorf("call %d was done after %s, want %s", n, took, want)
				}
			})
			synctest.Wait()
		}
		left, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		_, err := w.call(left, "ann")
		wantKind(t, err, ports.KindCancelled, "")
		short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = w.call(short, "ann")
		wantKind(t, err, ports.KindUnavailable, "max_parallel")
		wg.Wait()
		if most.Load() != 2 {
			t.Errorf("%d calls ran at a time", most.Load())
		}
		w.end()
	})
}

func TestWaitingInLineDoesNotBarTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watchWith(t, Config{MaxParallel: 1, CallTimeout: 10 * time.Second}, Deps{}, func(int) *memory {
			m := newMemory()
			m.call = func(ctx context.Context, _ string) (string, error) {
				select {
				case <-ctx.Done():
					return "", ctx.Err()
				case <-time.After(8 * time.Second):
					return textResult("done"), nil
				}
			}
			return m
		})
		w.wantPhase(t, ports.PhaseReady)
		for range 2 * maxUnanswered {
			var wg sync.WaitGroup
			wg.Go(func() { w.wantCall(t, "ann", "done") })
			synctest.Wait()
			_, err := w.call(t.Context(), "bob") // has two seconds left when its turn comes
			wantKind(t, err, ports.KindTimeout, "")
			wg.Wait()
		}
		w.wantPhase(t, ports.PhaseReady)
		w.end()
	})
}
