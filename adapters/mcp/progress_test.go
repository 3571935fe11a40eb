//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"dragoman/ports"
)

// reporting is a link whose call reports so often, in such steps, and then answers.
func reporting(times int, every time.Duration, token func(own float64) any) *memory {
	m := serving("")
	m.call = func(ctx context.Context, params string) (string, error) {
		var p struct {
			Meta struct {
				Token float64 `json:"progressToken"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal([]byte(params), &p); err != nil || p.Meta.Token == 0 {
			return "", fmt.Errorf("the call has no token: %s", params)
		}
		for i := range times {
			if !sleep(ctx, every) {
				return "", ctx.Err()
			}
			n := mcp.JSONRPCNotification{}
			n.Method = "notifications/progress"
			n.Params.AdditionalFields = map[string]any{"progressToken": token(p.Meta.Token), "progress": float64(i + 1), "total": float64(times), "message": "step"}
			m.notify(n)
		}
		return textResult("done"), nil
	}
	return m
}

func own(token float64) any { return token }

func TestProgressGivesACallItsTimeAnewUpToALimit(t *testing.T) {
	for name, test := range map[string]struct {
		times int
		every time.Duration
		token func(float64) any
		takes time.Duration
		done  bool
	}{
		"none":             {1, 61 * time.Second, own, 60 * time.Second, false},
		"in time":          {5, 50 * time.Second, own, 250 * time.Second, true},
		"too late":         {5, 61 * time.Second, own, 60 * time.Second, false},
		"for ever":         {100, 50 * time.Second, own, maxExtension * 60 * time.Second, false},
		"of another call":  {5, 50 * time.Second, func(own float64) any { return own + 1000 }, 60 * time.Second, false},
		"no token of ours": {5, 50 * time.Second, func(float64) any { return "x" }, 60 * time.Second, false},
		"no token":         {5, 50 * time.Second, func(float64) any { return nil }, 60 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, func(int) *memory { return reporting(test.times, test.every, test.token) })
				w.wantPhase(t, ports.PhaseReady)
				host, begun := filling(nil), time.Now()
				result, err := w.tools[0].Call(t.Context(), keyed("k"), host)
				if took := time.Since(begun); took != test.takes || (err == nil) != test.done || err == nil && wantText(result, "done") != nil {
					t.Errorf("after %s the call gives %+v, %v; want %s", took, result, err, test.takes)
				}
				if err != nil {
					wantKind(t, err, ports.KindTimeout, "")
				}
				if test.done && (len(host.heard) != test.times || host.heard[1] != (ports.Progress{Done: 2, Total: 5, Text: "step"})) {
					t.Errorf("the person heard %+v", host.heard)
				}
			})
		})
	}
}

// TestAFloodOfProgressIsHeardNowAndThen: it is a kind of noise.
func TestAFloodOfProgressIsHeardNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, func(int) *memory { return reporting(100_000, 100*time.Microsecond, own) })
		w.wantPhase(t, ports.PhaseReady)
		host := filling(nil)
		if _, err := w.tools[0].Call(t.Context(), keyed("k"), host); err != nil {
			t.Fatal(err)
		}
		if n := len(host.heard); n < 15 || n > 21 {
			t.Errorf("%d reports in ten seconds were passed on", n)
		}
	})
}

// TestAPersonsTimeIsNotTheServers: while a form is open the call's clock stands
// still, also where two are open.
func TestAPersonsTimeIsNotTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, clock := withClock(t.Context(), time.Minute)
		defer clock.stop()
		clock.release()
		clock.release()
		time.Sleep(time.Hour)
		clock.again()
		clock.wind()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("the call ended while a form was open")
		}
		clock.again()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatal("the call ended before its time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), errCallTime) {
			t.Errorf("after its time the call's context is %v", context.Cause(ctx))
		}
	})
}

// TestAStoppedCallIsToldToItsServer: by a notification, or where the stream is the
// call's own by its end alone.
func TestAStoppedCallIsToldToItsServer(t *testing.T) {
	for _, test := range []struct {
		wire, version string
		notified      bool
	}{
		{"stdio", newestLegacy, true}, {"http", newestLegacy, true}, {"stdio", newestModern, true}, {"http", newestModern, false},
	} {
		t.Run(test.version+" over "+test.wire, func(t *testing.T) {
			s := newStrict(t, test.version)
			s.call = func(c *strictCall) { <-c.ctx.Done() }
			r := s.running(test.wire, Deps{})
			ctx, cancel := context.WithCancel(t.Context())
			gave := make(chan error, 1)
			go func() { _, err := r.tool("work").Call(ctx, keyed("k"), nil); gave <- err }()
			s.awaitSeen("tools/call", 1)
			cancel()
			wantKind(t, <-gave, ports.KindCancelled, "")
			s.awaitSeen("gave up tools/call", 1)
			if test.notified {
				s.awaitSeen("notifications/cancelled", 1)
			} // and a notification over HTTP would be a fault
		})
	}
}

// TestChangesAreListenedFor: in the modern era, where the server says that it tells
// them; a burst of them is one list, and what may have been missed is listed.
func TestChangesAreListenedFor(t *testing.T) {
	for _, wire := range []string{"stdio", "http"} {
		t.Run(wire, func(t *testing.T) {
			s := newStrict(t, newestModern)
			s.can = `{"tools":{"listChanged":true}}`
			news := make(chan string)
			s.listen = func(c *strictCall) {
				about := fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}`, c.m.ID)
				if !c.p.Wanted["toolsListChanged"] || len(c.p.Wanted) != 1 {
					c.fault("it wants %v", c.p.Wanted)
					return
				}
				c.notify("notifications/subscriptions/acknowledged", about)
				for {
					select {
					case <-c.ctx.Done():
						return
					case what := <-news:
						if what == "end" {
							c.result(`{}`)
							return
						}
						for range 5 {
							c.notify("notifications/tools/list_changed", about)
						}
					}
				}
			}
			name := func(name string) {
				s.note(func() { s.strictTools(name) })
			}
			r := s.running(wire, Deps{})
			name("later")
			news <- "changed"
			eventually(t, "the new tool is there", func() bool { return slices.Equal(r.names(), []string{"later"}) })
			if n := len(s.requests("tools/list")); n != 2 {
				t.Errorf("%d lists of the tools, want the first and one for the burst", n)
			}
			name("missed")
			news <- "end"
			eventually(t, "what was missed is there", func() bool { return slices.Equal(r.names(), []string{"missed"}) })
			s.awaitSeen("subscriptions/listen", 2)
			name("heard again")
			news <- "changed"
			eventually(t, "it is heard again", func() bool { return slices.Equal(r.names(), []string{"heard again"}) })
			r.end()
			s.awaitSeen("gave up subscriptions/listen", 1)
		})
	}
}

// TestNobodyListensWhereNothingIsSaid: nor again where the server knows no
// subscription.
func TestNobodyListensWhereNothingIsSaid(t *testing.T) {
	for name, test := range map[string]struct {
		version, can string
		times        int
	}{
		"not declared": {newestModern, `{"tools":{"listChanged":false}}`, 0},
		"not served":   {newestModern, `{"tools":{"listChanged":true}}`, 1},
		"legacy":       {newestLegacy, `{"tools":{"listChanged":true}}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStrict(t, test.version)
			s.can = test.can
			r := s.running("http", Deps{})
			s.awaitSeen("subscriptions/listen", test.times)
			<-time.After(firstRelisten + firstRelisten/2) // it would have come again
			if n := len(s.requests("subscriptions/listen")); n != test.times || r.last().Phase != ports.PhaseReady {
				t.Errorf("%d subscriptions, want %d; the state is %+v", n, test.times, r.last())
			}
		})
	}
}
