//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// perPerson is a server of which each person has a connection; link 1 is the one
// whose tools are listed.
func perPerson(t *testing.T, change func(n int, m *memory)) *watched {
	t.Helper()
	w := watchWith(t, Config{Scope: scopePerson}, Deps{}, func(n int) *memory {
		m := serving(fmt.Sprint("link ", n))
		if change != nil {
			change(n, m)
		}
		return m
	})
	w.wantPhase(t, ports.PhaseReady)
	return w
}

func TestEachPersonHasAConnectionOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		links := make(map[int]*memory)
		w := perPerson(t, func(n int, m *memory) {
			mu.Lock()
			defer mu.Unlock()
			links[n] = m
		})
		w.wantCall(t, "ann", "link 2")
		w.wantCall(t, "bob", "link 3")
		w.wantCall(t, "admin", "link 4")
		w.wantCall(t, "ann", "link 2")
		w.wantCall(t, "", "link 1")
		links[2].changed()
		time.Sleep(time.Minute)
		if links[2].listed()+links[3].listed()+links[4].listed() != 0 || links[1].listed() != 1 || w.registered() != 1 {
			t.Errorf("the tools of a person's connection were listed, or registered (%d times)", w.registered())
		}
		if s := w.wantPhase(t, ports.PhaseReady); s.Connections != 4 || s.Restarts != 0 {
			t.Errorf("the state is %+v", s)
		}
		links[3].cut()
		synctest.Wait()
		w.wantCall(t, "ann", "link 2")
		w.wantCall(t, "bob", "link 5")
		time.Sleep(defaultIdleStop)
		if s := w.wantPhase(t, ports.PhaseIdle); s.Connections != 0 {
			t.Errorf("the state is %+v", s)
		}
		w.wantCall(t, "ann", "link 6")
		if s := w.wantPhase(t, ports.PhaseReady); s.Connections != 1 {
			t.Errorf("the state is %+v", s)
		}
		w.end()
		if s := w.last(); s.Connections != 0 || s.Phase != ports.PhaseStopped {
			t.Errorf("the last state is %+v", s)
		}
	})
}

func TestEachConversationHasAConnectionOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watchWith(t, Config{Scope: scopeConversation}, Deps{}, func(n int) *memory { return serving(fmt.Sprint("link ", n)) })
		w.wantPhase(t, ports.PhaseReady)
		for _, c := range []struct {
			person ports.PersonID
			in     ports.Conversation
			want   string
		}{
			{"ann", ports.Conversation{Channel: "tg", Chat: "1"}, "link 2"},
			{"bob", ports.Conversation{Channel: "tg", Chat: "1"}, "link 2"},
			{"bob", ports.Conversation{Channel: "tg", Chat: "1", Thread: "7"}, "link 3"},
			{"ann", ports.Conversation{Channel: "dc", Chat: "1"}, "link 4"},
			{"admin", ports.Conversation{}, "link 5"},
			{"ann", ports.Conversation{}, "link 6"}, // of no conversation: still nobody else's
		} {
			r, err := w.tools[0].Call(t.Context(), ports.ToolCall{Person: c.person, In: c.in}, nil)
			if err != nil || r.Content[0].Text != c.want {
				t.Errorf("the call of %s in %v gives %v, %v; want %s", c.person, c.in, r.Content, err, c.want)
			}
		}
		w.end()
	})
}

func TestOnePersonsServerThatDoesNotStartIsNobodyElsesTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := perPerson(t, func(n int, m *memory) {
			if n == 2 || n == 4 {
				m.refuse = errors.New("no luck")
			}
		})
		_, err := w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, "no luck")
		w.wantCall(t, "bob", "link 3")
		w.wantPhase(t, ports.PhaseReady)
		time.Sleep(2 * firstRetry)
		_, err = w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, "no luck")
		time.Sleep(2 * defaultIdleStop)
		w.wantPhase(t, ports.PhaseIdle)
		if n := w.dialled(); n != 4 {
			t.Errorf("%d links", n)
		}
		w.end()
	})
}

func TestTheConnectionThatWasIdleForLongestMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := perPerson(t, func(n int, m *memory) {
			if n > 1 {
				m.takes = time.Second
			}
		})
		for n := range maxConnections {
			w.wantCall(t, ports.PersonID(fmt.Sprint(n)), fmt.Sprint("link ", n+2))
		}
		time.Sleep(time.Second)
		w.wantCall(t, "0", "link 2") // so that 1, 2 and 3 were idle for longest
		time.Sleep(time.Second)
		w.wantCall(t, "new", fmt.Sprint("link ", maxConnections+2))
		if s := w.wantPhase(t, ports.PhaseReady); s.Connections != maxConnections+1 { // everybody's is there too
			t.Errorf("%d connections", s.Connections)
		}
		w.wantCall(t, "0", "link 2")
		var wg sync.WaitGroup
		for _, who := range []ports.PersonID{"newer", "newest"} {
			wg.Go(func() {
				if _, err := w.call(t.Context(), who); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if s := w.wantPhase(t, ports.PhaseReady); s.Connections != maxConnections+1 {
			t.Errorf("%d connections", s.Connections)
		}
		for n := 4; n < maxConnections; n++ {
			w.wantCall(t, ports.PersonID(fmt.Sprint(n)), fmt.Sprint("link ", n+2))
		}
		w.end()
	})
}

func TestACallWaitsForRoomWhenAllConnectionsAreInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := perPerson(t, func(n int, m *memory) {
			if n > maxConnections+1 {
				return
			}
			m.call = func(ctx context.Context, _ string) (string, error) {
				time.Sleep(20 * time.Second)
				return textResult("done"), nil
			}
		})
		var wg sync.WaitGroup
		for n := range maxConnections {
			wg.Go(func() { w.wantCall(t, ports.PersonID(fmt.Sprint(n)), "done") })
		}
		synctest.Wait()
		begun := time.Now()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.call(short, "impatient")
		wantKind(t, err, ports.KindUnavailable, "in use by others")
		w.wantCall(t, "patient", fmt.Sprint("link ", maxConnections+2))
		if took := time.Since(begun); took != 20*time.Second {
			t.Errorf("there was room after %s", took)
		}
		wg.Wait()
		w.end()
	})
}

func TestReconnectDropsThePersonsConnectionsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := perPerson(t, nil)
		w.wantCall(t, "ann", "link 2")
		w.wantCall(t, "bob", "link 3")
		if err := w.Reconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := w.wantPhase(t, ports.PhaseReady); s.Connections != 1 {
			t.Errorf("the state is %+v", s)
		}
		w.wantCall(t, "ann", "link 5")
		w.end()
	})
}

// TestAllConnectionsEndSideBySide: with servers that take four seconds to leave,
// Run takes four seconds to end, whoever has one.
func TestAllConnectionsEndSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := perPerson(t, func(n int, m *memory) {
			if n > 1 {
				m.call, m.takes = nil, 4*time.Second
			}
		})
		var wg sync.WaitGroup
		for n := range 10 {
			wg.Go(func() {
				_, err := w.call(t.Context(), ports.PersonID(fmt.Sprint(n)))
				wantKind(t, err, ports.KindUnsure, "the line was cut")
			})
		}
		time.Sleep(10 * time.Second)
		begun := time.Now()
		w.end()
		if took := time.Since(begun); took != 4*time.Second {
			t.Errorf("Run ended after %s", took)
		}
		wg.Wait()
		_, err := w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, "not being run")
	})
}
