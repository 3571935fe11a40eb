//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/ports"
)

// onCallOf is an oddity of the calls of one tool.
func onCallOf(name string, do http.HandlerFunc) func(http.ResponseWriter, *http.Request, incoming) bool {
	return func(w http.ResponseWriter, r *http.Request, m incoming) bool {
		var call struct{ Name string }
		_ = json.Unmarshal(m.Params, &call) // "" for what is no call
		odd := m.Method == "tools/call" && call.Name == name
		if odd {
			do(w, r)
		}
		return odd
	}
}

// TestACallThatIsRefusedALoginCostsOnlyItself: a server that still gives a sign of
// life accepts us; the calls of the others go on, in the same session.
func TestACallThatIsRefusedALoginCostsOnlyItself(t *testing.T) {
	for name, older := range map[string]bool{"streamable": false, "with SSE": true} {
		t.Run(name, func(t *testing.T) {
			p := newHTTPPeer(t, "good")
			cfg := p.config()
			if older {
				p = newOlderPeer(t, "good")
				cfg = p.olderConfig()
			}
			r := start(t, cfg).ready()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			other := make(chan error, 1)
			go func() {
				_, err := r.tool("slow").Call(ctx, ports.ToolCall{}, nil)
				other <- err
			}()
			eventually(t, "the other call runs", func() bool { calls, _ := p.ran(); return calls == 1 })
			var pings atomic.Int32
			odd := onCallOf("echo", answers(401, "text/plain", "upstream says no"))
			p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
				if m.Method == "ping" {
					pings.Add(1)
				}
				return odd(w, r, m)
			})
			_, err := r.call(t.Context(), "echo", `{}`)
			wantKind(t, err, ports.KindUnauthorized, "401 Unauthorized")
			eventually(t, "it is asked for a sign of life", func() bool { return pings.Load() > 0 })
			_, err = r.call(t.Context(), "echo", `{}`)
			wantKind(t, err, ports.KindUnauthorized, "401 Unauthorized")
			if got := r.ask("pid"); got == "" {
				t.Error("another tool says nothing")
			}
			p.swap(nil)
			r.wantEcho("the same tool again")
			leave()
			wantKind(t, <-other, ports.KindCancelled, "") // and not that its connection was lost
			if begun, _ := p.counts(); begun != 1 {
				t.Errorf("%d sessions", begun)
			}
			if s := r.last(); s.Restarts != 0 || s.Phase != ports.PhaseReady {
				t.Errorf("the state is %+v", s)
			}
		})
	}
}

// TestALoginThatWasRefusedForAMomentIsTriedAgainSoon: what refuses it may just have
// been restarting.
func TestALoginThatWasRefusedForAMomentIsTriedAgainSoon(t *testing.T) {
	p := newHTTPPeer(t, "good")
	r := start(t, p.config()).ready()
	p.listened()
	var accepts atomic.Bool // again, from the next handshake on
	p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
		if m.Method == methodDiscover || m.Method == "initialize" {
			accepts.Store(true)
		}
		if !accepts.Load() {
			answers(401, "", "")(w, r)
		}
		return !accepts.Load()
	})
	_, err := r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindUnauthorized, "401 Unauthorized")
	s := r.awaitPhase(ports.PhaseDegraded, 0)
	if s.RetryIn > 2*firstRetry || !strings.Contains(s.Err, "wants a login") {
		t.Errorf("the state after the loss is %+v", s)
	}
	r.await("ready again", 0, func(s ports.State) bool { return s.Phase == ports.PhaseReady && s.Restarts == 1 })
	r.wantEcho("again")
}

// TestLoginRunsOut: it is tried once more, as after each loss; then the state says
// so, and the server is left alone.
func TestLoginRunsOut(t *testing.T) {
	p := newHTTPPeer(t, "good")
	cfg := p.config()
	cfg.Headers = map[string]ports.Secret{"authorization": "Bearer " + token}
	r := start(t, cfg).ready()
	p.listened()
	p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
		answers(401, "text/plain", "expired: {auth}", `WWW-Authenticate: Bearer error="invalid_token"`)(w, r)
		return true
	})
	_, err := r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindUnauthorized, "does not accept the token")
	s := r.awaitPhase(ports.PhaseDegraded, 0)
	if !strings.Contains(s.Err, "it wants another: expired: [redacted]") || s.RetryIn > 2*firstRetry {
		t.Errorf("the state after the loss is %+v", s)
	}
	r.await("left alone", 0, func(s ports.State) bool { return s.Phase == ports.PhaseDegraded && s.RetryIn == loginRetry })
	_, before := p.ran()
	for range 3 {
		_, err := r.call(t.Context(), "echo", `{}`)
		wantKind(t, err, ports.KindUnauthorized, "does not accept the token")
	}
	if _, after := p.ran(); after != before {
		t.Errorf("%d requests after the refusal", after-before)
	}
	p.swap(nil)
	if err := r.src.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantEcho("with another login")
}

// TestForbiddenToolCostsOnlyItself: one call's 403 is no reason to leave.
func TestForbiddenToolCostsOnlyItself(t *testing.T) {
	p := newHTTPPeer(t, "good")
	r := start(t, p.config()).ready()
	p.swap(onCall(answers(403, "", "")))
	_, err := r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindUnauthorized, "refuses access")
	p.swap(nil)
	r.wantEcho("another")
	if s := r.last(); s.Restarts != 0 || s.Phase != ports.PhaseReady {
		t.Errorf("the state is %+v", s)
	}
}
