//go:build unix

package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
)

// httpPeer is the small MCP server with an HTTP face: streamable HTTP, written
// without any library. It can crash and come back on its address.
type httpPeer struct {
	mode   string
	stream bool // answers are streams of events; else JSON
	deaf   bool // offers no stream to listen to
	older  bool // speaks HTTP with SSE of 2024-11-05 instead
	// odd handles a request in its own way, and reports whether it did. m is
	// the message of a POST. It is set before the first request, or by swap.
	odd func(w http.ResponseWriter, r *http.Request, m incoming) bool

	t      *testing.T
	addr   string
	server *httptest.Server

	mu       sync.Mutex
	sessions map[string]*httpSession
	begun    int
	deleted  int
	seen     []http.Header // of each request
	calls    int           // that were run
	listens  int           // GETs that came
}

// httpSession is the peer of one session, and who waits for what it writes.
type httpSession struct {
	*peer
	mu      sync.Mutex
	waiting map[string]chan string // by request id
	stream  chan string
}

func newHTTPPeer(t *testing.T, mode string) *httpPeer {
	p := &httpPeer{mode: mode, t: t, addr: "127.0.0.1:0"}
	p.up()
	t.Cleanup(p.down)
	return p
}

func (p *httpPeer) url() string { return "http://" + p.addr + "/mcp" }

// up begins to listen, knowing no session.
func (p *httpPeer) up() {
	p.mu.Lock()
	p.sessions = make(map[string]*httpSession)
	p.mu.Unlock()
	var l net.Listener
	eventually(p.t, "the address is free", func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", p.addr)
		return err == nil
	})
	p.addr = l.Addr().String()
	p.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: p}}
	p.server.Start()
}

// down cuts every connection, as a crash does.
func (p *httpPeer) down() {
	p.server.Listener.Close()
	p.server.CloseClientConnections()
	p.forget()
	p.server.Close()
}

// forget loses all sessions, as a restart behind a balancer does.
func (p *httpPeer) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		s.end()
	}
	p.sessions = make(map[string]*httpSession)
}

func (p *httpPeer) counts() (begun, deleted int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun, p.deleted
}

// swap changes how odd the server is while it runs.
func (p *httpPeer) swap(odd func(w http.ResponseWriter, r *http.Request, m incoming) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.odd = odd
}

// ran is how many calls were run, requests how many came in all.
func (p *httpPeer) ran() (calls, requests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls, len(p.seen)
}

// listened waits until the client, which is ready before that if it takes long, has
// asked for a stream: the answer is not the one of an odd that comes later.
func (p *httpPeer) listened() {
	p.t.Helper()
	eventually(p.t, "the client listens", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.listens > 0
	})
}

func (p *httpPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	p.mu.Lock()
	s := p.sessions[id]
	p.seen = append(p.seen, r.Header.Clone())
	odd := p.odd
	if r.Method == http.MethodGet {
		p.listens++
	}
	if r.Method == http.MethodDelete && s != nil {
		s.end()
		delete(p.sessions, id)
		p.deleted++
	}
	p.mu.Unlock()
	var m incoming
	if body, err := io.ReadAll(r.Body); r.Method == http.MethodPost && (err != nil || json.Unmarshal(body, &m) != nil) {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	switch {
	case odd != nil && odd(w, r, m):
	case p.older:
		p.serveOlder(w, r, m)
	case r.Method == http.MethodGet && p.deaf:
		http.Error(w, "no stream here", http.StatusMethodNotAllowed)
	case s == nil && id != "":
		http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, http.StatusNotFound)
	case r.Method == http.MethodPost:
		p.post(w, r, m, s)
	case r.Method == http.MethodGet:
		s.serve(w, r)
	}
}

func (p *httpPeer) post(w http.ResponseWriter, r *http.Request, m incoming, s *httpSession) {
	if m.Method == "initialize" {
		s = p.begin(w)
	}
	if s == nil {
		http.Error(w, "Missing session ID", http.StatusBadRequest)
		return
	}
	if m.Method == "tools/call" {
		p.mu.Lock()
		p.calls++
		p.mu.Unlock()
	}
	if len(m.ID) == 0 || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		s.handle(m)
		return
	}
	answer := make(chan string, 1)
	s.mu.Lock()
	s.waiting[string(m.ID)] = answer
	s.mu.Unlock()
	if p.stream {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": here it comes\n\n")
		w.(http.Flusher).Flush()
	}
	go s.handle(m)
	select {
	case line := <-answer:
		if p.stream {
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, line)
	case <-r.Context().Done():
	}
}

func (p *httpPeer) begin(w http.ResponseWriter) *httpSession {
	s := &httpSession{peer: newPeer(p.mode), waiting: make(map[string]chan string), stream: make(chan string, 100)}
	s.out = s.write
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	id := "session-" + strconv.Itoa(p.begun)
	p.sessions[id] = s
	w.Header().Set("Mcp-Session-Id", id)
	return s
}

// write sends an answer to who waits for it, anything else to the stream.
func (s *httpSession) write(line string) {
	var m incoming
	_ = json.Unmarshal([]byte(line), &m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting, ok := s.waiting[string(m.ID)]; ok && m.Method == "" {
		delete(s.waiting, string(m.ID))
		waiting <- line
		return
	}
	select {
	case s.stream <- line:
	default:
	}
}

func (s *httpSession) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	for {
		select {
		case line := <-s.stream:
			fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(line, "\n", "\ndata: "))
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (p *httpPeer) config() Config {
	return Config{URL: ports.Secret(p.url()), Timeout: 15 * time.Second}
}

// restart is a crash, and a new process half a second later.
func (p *httpPeer) restart() error {
	p.down()
	<-time.After(500 * time.Millisecond)
	p.up()
	return nil
}
