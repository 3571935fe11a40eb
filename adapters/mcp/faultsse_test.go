//go:build unix

package mcp

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"dragoman/ports"
)

// newOlderPeer is the small MCP server over HTTP with SSE.
func newOlderPeer(t *testing.T, mode string) *httpPeer {
	p := newHTTPPeer(t, mode)
	p.older = true
	return p
}

// serveOlder is the transport of 2024-11-05: a stream at /sse, messages to /messages.
func (p *httpPeer) serveOlder(w http.ResponseWriter, r *http.Request, m incoming) {
	switch r.Method + " " + r.URL.Path {
	case "GET /sse":
		s := p.begin(w)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\r\ndata: /messages?session_id=%s\r\n\r\n", w.Header().Get("Mcp-Session-Id"))
		s.serve(w, r)
		s.end() // a server does not go on for a client that has left
	case "POST /messages":
		p.mu.Lock()
		s := p.sessions[r.URL.Query().Get("session_id")]
		if m.Method == "tools/call" && s != nil {
			p.calls++
		}
		p.mu.Unlock()
		if s == nil {
			http.Error(w, "Could not find session", http.StatusNotFound)
			return
		}
		s.handle(m)
		w.WriteHeader(http.StatusAccepted)
	case "POST /sse":
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	default:
		http.Error(w, "<html>no such page", http.StatusNotFound)
	}
}

// olderConfig reaches a server of the older transport, which it has to find out.
func (p *httpPeer) olderConfig() Config {
	return Config{URL: ports.Secret("http://" + p.addr + "/sse"), Timeout: 15 * time.Second}
}
