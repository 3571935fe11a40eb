//go:build unix

package mcp

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/ports"
)

// TestOlderTransportIsFound: in whatever form a POST is refused, and the next
// connection does not try it first.
func TestOlderTransportIsFound(t *testing.T) {
	for name, refuse := range map[string]http.HandlerFunc{
		"405":           answers(405, "text/plain", "Method Not Allowed"),
		"405, JSON":     answers(405, "application/json", `{"detail":"Method Not Allowed"}`),
		"404":           answers(404, "text/html", "<html>Cannot POST /sse</html>"),
		"404, no words": answers(404, "", ""),
		"404, JSON":     answers(404, "application/json", `{"error":"not found"}`),
		"400":           answers(400, "text/plain", "session_id is required"),
		"400, page":     answers(400, "text/html", "<html>"),
	} {
		t.Run(name, func(t *testing.T) {
			p := newOlderPeer(t, "good")
			var posts atomic.Int64
			p.odd = func(w http.ResponseWriter, r *http.Request, _ incoming) bool {
				if r.Method != http.MethodPost || r.URL.Path != "/sse" {
					return false
				}
				posts.Add(1)
				refuse(w, r)
				return true
			}
			r := start(t, p.olderConfig())
			if state := r.awaitPhase(ports.PhaseReady, 0); state.Transport != "sse" {
				t.Errorf("the state is %+v", state)
			}
			r.wantEcho("over it")
			before := posts.Load()
			if err := r.src.Reconnect(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.wantEcho("over it again")
			if after := posts.Load(); before == 0 || after != before {
				t.Errorf("POSTs to the stream's address: %d, and %d after it was found out", before, after)
			}
		})
	}
}

// TestOlderTransportIsNotTried: a server that takes the POST and refuses it is
// left alone, and its words are kept.
func TestOlderTransportIsNotTried(t *testing.T) {
	for name, test := range map[string]struct {
		refuse http.HandlerFunc
		says   string
	}{
		"login":     {answers(401, "text/html", "<html>"), "wants a login"},
		"forbidden": {answers(403, "text/html", "<html>"), "refuses access"},
		"busy":      {answers(429, "text/html", "<html>"), "asks to wait"},
		"broken":    {answers(500, "text/html", "<html>"), "answers 500"},
		"JSON-RPC":  {answers(400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no such revision"}}`), "no such revision"},
		"unknown":   {answers(404, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no initialize here"}}`), "no initialize here"},
		"no media":  {answers(415, "", ""), "answers 415"},
		"a page":    {answers(200, "text/html", "<html>"), "answers with text/html"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newOlderPeer(t, "good")
			var streams atomic.Int64
			p.odd = func(w http.ResponseWriter, r *http.Request, _ incoming) bool {
				if r.Method == http.MethodGet {
					streams.Add(1)
					return false
				}
				test.refuse(w, r)
				return true
			}
			r := start(t, p.olderConfig())
			if state := r.awaitPhase(ports.PhaseDegraded, 0); !strings.Contains(state.Err, test.says) || state.Transport != "http" {
				t.Errorf("the state is %+v", state)
			}
			if n := streams.Load(); n != 0 {
				t.Errorf("%d streams were asked for", n)
			}
		})
	}
}

// TestServerThatLearnsStreamableHTTP: a server found to be of the older transport
// may be replaced by one that is not.
func TestServerThatLearnsStreamableHTTP(t *testing.T) {
	p := newOlderPeer(t, "good")
	r := start(t, p.olderConfig())
	r.awaitPhase(ports.PhaseReady, 0)
	p.down()
	p.mu.Lock()
	p.older, p.deaf = false, true
	p.mu.Unlock()
	p.up()
	if state := r.await("ready over http", r.told()-1, func(s ports.State) bool { return s.Phase == ports.PhaseReady && s.Transport == "http" }); state.Restarts == 0 {
		t.Errorf("the state is %+v", state)
	}
	r.wantEcho("in the new way")
}
