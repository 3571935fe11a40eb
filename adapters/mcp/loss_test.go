//go:build unix

package mcp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

func TestAServerThatDiesAtEachCallIsStartedEverLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, func(int) *memory {
			m := newMemory()
			m.call = func(context.Context, string) (string, error) {
				m.cut()
				return "", &lostError{reason: "it died", sent: true}
			}
			return m
		})
		w.wantPhase(t, ports.PhaseReady)
		for range 3000 {
			_, err := w.call(t.Context(), "ann")
			if !ports.IsKind(err, ports.KindUnsure) && !ports.IsKind(err, ports.KindUnavailable) {
				t.Fatalf("a call gives %v", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		w.end()
		if n := len(w.dials); n < 10 || n > 20 {
			t.Fatalf("%d links in five minutes", n)
		}
		if last := w.dials[len(w.dials)-1] - w.dials[len(w.dials)-2]; last < lastRetry*8/10 {
			t.Errorf("the last two links are %s apart", last)
		}
	})
}

// TestCallsThatMeetALostSessionMakeOneNewOne: the calls that were not heard are
// made again, once; the one that may have been heard is not.
func TestCallsThatMeetALostSessionMakeOneNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		w := watch(t, func(n int) *memory {
			m := serving(fmt.Sprint("link ", n))
			if n > 1 {
				m.takes = time.Second
				return m
			}
			m.call = func(context.Context, string) (string, error) {
				heard := asked.Add(1) == 2
				time.Sleep(time.Second)
				m.cut()
				return "", &lostError{reason: "who are you?", session: true, sent: heard}
			}
			return m
		})
		w.wantPhase(t, ports.PhaseReady)
		var wg sync.WaitGroup
		for n := range 3 {
			wg.Go(func() {
				if n == 1 {
					_, err := w.call(t.Context(), "ann")
					wantKind(t, err, ports.KindUnsure, "who are you?")
					return
				}
				w.wantCall(t, "ann", "link 2")
			})
			synctest.Wait()
		}
		wg.Wait()
		if n := w.dialled(); n != 2 || asked.Load() != 3 {
			t.Errorf("%d links, %d calls to the first", n, asked.Load())
		}
		w.end()
	})
}

func TestASessionThatIsLostAgainAndAgainIsNotAskedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		w := watch(t, func(n int) *memory {
			m := newMemory()
			m.call = func(context.Context, string) (string, error) {
				asked.Add(1)
				m.cut()
				return "", &lostError{reason: "who are you?", session: true}
			}
			return m
		})
		w.wantPhase(t, ports.PhaseReady)
		_, err := w.call(t.Context(), "ann")
		wantKind(t, err, ports.KindUnavailable, "who are you?")
		if asked.Load() != 2 {
			t.Errorf("it was asked %d times", asked.Load())
		}
		w.end()
	})
}

func TestToolsAreRegisteredOnceForEachChange(t *testing.T) {
	for name, test := range map[string]struct {
		list func(n int) string
		want int
	}{
		"the same at each connection":    {func(int) string { return oneTool }, 1},
		"none at all":                    {func(int) string { return `{"tools":[]}` }, 1},
		"others at each connection":      {func(n int) string { return fmt.Sprintf(`{"tools":[{"name":"t%d"}]}`, n) }, 5},
		"with the same fault each time":  {func(int) string { return `{"tools":[{"name":"one"},{"name":7}]}` }, 1},
		"with another fault, once fixed": {func(n int) string { return `{"tools":[{"name":"one"}` + map[bool]string{true: `,7`}[n == 2] + `]}` }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, func(n int) *memory {
					m := newMemory()
					m.list = func(int) (string, error) { return test.list(n), nil }
					return m
				})
				w.wantPhase(t, ports.PhaseReady)
				for range 4 {
					if err := w.Reconnect(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if w.registered() != test.want {
					t.Errorf("%d catalogs, want %d", w.registered(), test.want)
				}
				w.end()
			})
		})
	}
}

func TestServersConnectSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []*watched
		for n := range 20 {
			all = append(all, watch(t, func(int) *memory {
				m := newMemory()
				m.takes = time.Duration(n+1) * time.Second / 2
				return m
			}))
		}
		time.Sleep(10 * time.Second)
		for _, w := range all {
			w.wantPhase(t, ports.PhaseReady)
		}
	})
}
