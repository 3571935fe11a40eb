//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// shelf is a store of records with compare-and-swap.
type shelf struct {
	mu      sync.Mutex
	records map[[3]string]ports.Record
	puts    int
	broken  error // what Get gives
}

func newShelf() *shelf { return &shelf{records: make(map[[3]string]ports.Record)} }

func (s *shelf) Get(_ context.Context, scope, kind, key string) (ports.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return ports.Record{}, s.broken
	}
	r, ok := s.records[[3]string{scope, kind, key}]
	if !ok {
		return r, ports.Errorf(ports.KindNotFound, "get", "there is none")
	}
	return r, nil
}

func (s *shelf) Put(_ context.Context, r ports.Record) (ports.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := [3]string{r.Scope, r.Kind, r.Key}
	if s.records[at].Version != r.Version {
		return r, ports.Errorf(ports.KindConflict, "put", "it is another version")
	}
	r.Version++
	s.records[at] = r
	s.puts++
	return r, nil
}

func (s *shelf) List(_ context.Context, scope, kind string) ([]ports.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ports.Record
	for at, r := range s.records {
		if at[0] == scope && at[1] == kind {
			list = append(list, r)
		}
	}
	return list, nil
}

func (s *shelf) Delete(_ context.Context, r ports.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := [3]string{r.Scope, r.Kind, r.Key}
	if have, ok := s.records[at]; ok && have.Version != r.Version {
		return ports.Errorf(ports.KindConflict, "delete", "it is another version")
	}
	delete(s.records, at)
	return nil
}

// count is how many records of a kind there are.
func (s *shelf) count(kind string) int {
	list, _ := s.List(context.Background(), "mcp/a", kind)
	return len(list)
}

func lazily() Config { return Config{Start: startLazy} }

// taught is a shelf on which a lazy server's tools are known.
func taught(t *testing.T, list string) *shelf {
	t.Helper()
	kept := newShelf()
	w := watchWith(t, lazily(), Deps{Records: kept, Scope: "mcp/a"}, func(int) *memory {
		m := serving("taught")
		m.list = func(int) (string, error) { return list, nil }
		return m
	})
	w.wantPhase(t, ports.PhaseReady)
	w.end()
	return kept
}

const oneTool = `{"tools":[{"name":"one","title":"One","inputSchema":{ "type" : "object",  "$comment":"<&>" },"outputSchema":{"type": "object"}}]}`

func TestALazyServerIsStartedByItsFirstCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := taught(t, oneTool)
		w := watchWith(t, lazily(), Deps{Records: kept, Scope: "mcp/a"}, func(n int) *memory {
			m := serving(fmt.Sprint("link ", n))
			m.takes = 3 * time.Second
			m.list = func(int) (string, error) { return oneTool, nil }
			return m
		})
		time.Sleep(time.Hour)
		w.wantPhase(t, ports.PhaseIdle)
		if n := w.dialled(); n != 0 || w.registered() != 1 {
			t.Fatalf("%d links and %d catalogs before the first call", n, w.registered())
		}
		if spec := w.tools[0].Spec(); string(spec.InputSchema) != `{ "type" : "object",  "$comment":"<&>" }` || string(spec.OutputSchema) != `{"type": "object"}` || spec.Title != "One" {
			t.Errorf("the tool that was kept is %+v", spec)
		}
		w.wantCall(t, "ann", "link 1")
		if s := w.wantPhase(t, ports.PhaseReady); s.Connections != 1 {
			t.Errorf("ready with %d connections", s.Connections)
		}
		time.Sleep(defaultIdleStop - time.Second)
		w.wantCall(t, "ann", "link 1") // that counts as work
		time.Sleep(defaultIdleStop - time.Second)
		w.wantPhase(t, ports.PhaseReady)
		time.Sleep(5 * time.Second) // it takes three to leave
		if s := w.wantPhase(t, ports.PhaseIdle); s.Connections != 0 || s.Restarts != 0 || s.Err != "" {
			t.Errorf("idle with the state %+v", s)
		}
		w.wantCall(t, "ann", "link 2")
		if s := w.last(); s.Restarts != 0 || w.registered() != 1 {
			t.Errorf("%d restarts and %d catalogs, though nothing went wrong and nothing changed", s.Restarts, w.registered())
		}
		w.end()
		if kept.puts != 1 {
			t.Errorf("the same tools were kept %d times", kept.puts)
		}
	})
}

func TestToolsThatChangedMeanwhileAreRegisteredAfterALazyStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := taught(t, oneTool)
		w := watchWith(t, lazily(), Deps{Records: kept, Scope: "mcp/a"}, func(int) *memory { return serving("new") })
		w.wantPhase(t, ports.PhaseIdle)
		w.wantCall(t, "ann", "new")
		w.wantPhase(t, ports.PhaseReady)
		if w.registered() != 2 || w.tools[0].Spec().Title != "" || kept.puts != 2 {
			t.Errorf("%d catalogs, kept %d times, the tool is %+v", w.registered(), kept.puts, w.tools[0].Spec())
		}
		w.end()
	})
}

func TestALazyServerThatIsNotKnownIsConnectedOnceToLearnItsTools(t *testing.T) {
	others := Config{Start: startLazy, Args: []string{"another server"}}
	for name, test := range map[string]struct {
		cfg   Config
		spoil func(*shelf)
	}{
		"nothing kept": {lazily(), func(s *shelf) { clear(s.records) }},
		"no store":     {lazily(), nil},
		"broken store": {lazily(), func(s *shelf) { s.broken = errors.New("the disk is full") }},
		"another one":  {others, func(*shelf) {}},
		"unreadable": {lazily(), func(s *shelf) {
			for at, r := range s.records {
				r.Body = []byte(`{"for":7}`)
				s.records[at] = r
			}
		}},
		"no schema": {lazily(), func(s *shelf) {
			for at, r := range s.records {
				r.Body = []byte(strings.Replace(string(r.Body), `\"type\"`, ``, 1))
				s.records[at] = r
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				deps := Deps{}
				if test.spoil != nil {
					kept := taught(t, oneTool)
					test.spoil(kept)
					deps = Deps{Records: kept, Scope: "mcp/a"}
				}
				w := watchWith(t, test.cfg, deps, func(n int) *memory {
					m := serving("learned")
					if n == 1 {
						m.refuse = errors.New("not yet")
					}
					return m
				})
				time.Sleep(time.Minute)
				w.wantPhase(t, ports.PhaseReady)
				time.Sleep(defaultIdleStop)
				w.wantPhase(t, ports.PhaseIdle)
				if n := w.dialled(); n != 2 || w.registered() != 1 {
					t.Errorf("%d links and %d catalogs", n, w.registered())
				}
				w.end()
			})
		})
	}
}

func TestToolsBeyondTheLimitAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := taught(t, `{"tools":[{"name":"one","description":"`+strings.Repeat("x", maxKnown)+`","inputSchema":{"type":"object"}}]}`)
		if kept.puts != 0 {
			t.Errorf("they were kept %d times", kept.puts)
		}
	})
}

func TestACallToALazyServerThatCannotBeStartedSaysSoAndTheNextComesTooSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		broken := true
		w := watchWith(t, lazily(), Deps{Records: taught(t, oneTool), Scope: "mcp/a"}, func(int) *memory {
			mu.Lock()
			defer mu.Unlock()
			m := serving("mended")
			m.takes = time.Second
			if broken {
				m.refuse = errors.New("no luck")
			}
			return m
		})
		w.wantPhase(t, ports.PhaseIdle)
		begun := time.Now()
		_, err := w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, "no luck")
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %s, the start takes 1s", took)
		}
		_, err = w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, "no luck")
		if took := time.Since(begun); took != time.Second || ports.RetryAfter(err) <= 0 {
			t.Errorf("a call in the pause after it took %s and is to be made again in %s", took-time.Second, ports.RetryAfter(err))
		}
		time.Sleep(time.Hour)
		if n := w.dialled(); n != 1 {
			t.Errorf("%d tries though nobody called", n)
		}
		if s := w.wantPhase(t, ports.PhaseIdle); s.Err != "no luck" {
			t.Errorf("the state is %+v", s)
		}
		mu.Lock()
		broken = false
		mu.Unlock()
		w.wantCall(t, "ann", "mended")
		w.end()
	})
}

func TestACallLeavesWhenItsTimeIsOverWhileItsServerStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watchWith(t, lazily(), Deps{Records: taught(t, oneTool), Scope: "mcp/a"}, func(int) *memory {
			m := serving("late")
			m.takes = 10 * time.Second
			return m
		})
		w.wantPhase(t, ports.PhaseIdle)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.call(short, "ann")
		wantKind(t, err, ports.KindUnavailable, "not connected") // it was never asked
		left, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		_, err = w.call(left, "ann")
		wantKind(t, err, ports.KindCancelled, "")
		w.wantCall(t, "ann", "late")
		if n := w.dialled(); n != 1 {
			t.Errorf("three calls at once made %d links", n)
		}
		w.end()
	})
}

func TestAConnectionWithACallIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{IdleStop: time.Minute, CallTimeout: time.Hour}
		w := watchWith(t, cfg, Deps{}, func(int) *memory {
			m := newMemory()
			m.call = func(context.Context, string) (string, error) {
				time.Sleep(30 * time.Minute)
				return textResult("done"), nil
			}
			return m
		})
		w.wantPhase(t, ports.PhaseReady) // start is eager
		w.wantCall(t, "ann", "done")
		w.wantPhase(t, ports.PhaseReady)
		time.Sleep(time.Minute)
		w.wantPhase(t, ports.PhaseIdle)
		if n := w.dialled(); n != 1 {
			t.Errorf("%d links", n)
		}
		w.end()
	})
}

func TestAConnectionThatIsRetainedIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watchWith(t, Config{Scope: scopePerson, IdleStop: time.Minute}, Deps{}, func(n int) *memory { return serving(fmt.Sprint("link ", n)) })
		w.wantPhase(t, ports.PhaseReady)
		release := w.retain(t.Context(), ports.ToolCall{Person: "ann"})
		time.Sleep(time.Hour)
		w.wantPhase(t, ports.PhaseReady)
		w.wantCall(t, "ann", "link 2")
		release()
		release()
		time.Sleep(time.Minute)
		if s := w.wantPhase(t, ports.PhaseIdle); s.Connections != 0 {
			t.Errorf("the state is %+v", s)
		}
		w.end()
		w.retain(t.Context(), ports.ToolCall{})()
	})
}

func TestAServerThatIsStoppedWhenIdleIsNotConnectedAgainWhenItDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		links := make(chan *memory, 10)
		w := watchWith(t, Config{IdleStop: time.Hour}, Deps{}, func(int) *memory {
			m := serving("here")
			links <- m
			return m
		})
		w.wantPhase(t, ports.PhaseReady)
		(<-links).cut()
		w.wantPhase(t, ports.PhaseDegraded)
		time.Sleep(time.Minute)
		if s := w.wantPhase(t, ports.PhaseIdle); s.Err != "the line was cut" || w.dialled() != 1 {
			t.Errorf("%d links, the state is %+v", w.dialled(), s)
		}
		w.wantCall(t, "ann", "here")
		if s := w.wantPhase(t, ports.PhaseReady); s.Err != "" {
			t.Errorf("the state is %+v", s)
		}
		w.end()
	})
}

func TestReconnectWakesAServerThatIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watchWith(t, lazily(), Deps{Records: taught(t, oneTool), Scope: "mcp/a"}, func(n int) *memory {
			m := serving("here")
			if n == 2 {
				m.refuse = errors.New("no luck")
			}
			return m
		})
		w.wantPhase(t, ports.PhaseIdle)
		if err := w.Reconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantPhase(t, ports.PhaseReady)
		if err := w.Reconnect(t.Context()); err == nil || !strings.Contains(err.Error(), "no luck") {
			t.Errorf("a reconnection that fails gives %v", err)
		}
		w.wantPhase(t, ports.PhaseDegraded)
		w.end()
		if !slices.Contains(w.phases(), ports.PhaseConnecting) {
			t.Errorf("the phases are %v", w.phases())
		}
	})
}
