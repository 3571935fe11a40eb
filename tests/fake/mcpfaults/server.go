package mcpfaults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// sessionHeader names the session (MCP basic/transports, "Session Management").
const sessionHeader = "Mcp-Session-Id"

// maxRequest is how much of a request is read.
const maxRequest = 8 << 20

// Server is a fault over HTTP, on a free port of 127.0.0.1. Safe for many goroutines.
type Server struct {
	fault  Fault
	mended func() bool
	http   *http.Server
	url    string
	closed chan struct{}
	idle   sync.WaitGroup

	mu       sync.Mutex
	over     bool
	sessions map[string]bool
	streams  map[string]chan string // of the older transport
	begun    int
	calls    int // of act
}

// Start starts the fault, which is mended once the file is there. It panics if
// the fault is not over HTTP, or if no port is free.
func Start(f Fault, mendedBy string) *Server {
	if f.Over == Stdio {
		panic("mcpfaults: " + f.Name + " is not over HTTP")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("mcpfaults: " + err.Error())
	}
	s := &Server{fault: f, mended: func() bool { return Mended(mendedBy) }, url: "http://" + ln.Addr().String(), closed: make(chan struct{}), sessions: make(map[string]bool), streams: make(map[string]chan string)}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.idle.Go(func() {
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			panic("mcpfaults: " + err.Error())
		}
	})
	return s
}

// URL is where the server is.
func (s *Server) URL() string {
	if s.fault.Over == SSE {
		return s.url + "/sse"
	}
	return s.url + "/mcp"
}

// Close ends every connection, once, and waits for all that the server began.
func (s *Server) Close() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	close(s.closed)
	_ = s.http.Close()
	s.idle.Wait()
}

// ServeHTTP leaves a request to the fault, and to the good server what it does not take.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return
	}
	defer s.idle.Done()
	v := &visit{w: w, r: r}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil || json.Unmarshal(body, &v.message) != nil {
			http.Error(w, "no JSON-RPC", http.StatusBadRequest)
			return
		}
	}
	if v.acts() {
		s.mu.Lock()
		s.calls++
		s.mu.Unlock()
	}
	if s.mended() || !s.fault.web(s, v) {
		s.good(v)
	}
}

// good answers as it should be, with JSON, and offers no stream.
func (s *Server) good(v *visit) {
	id := v.r.Header.Get(sessionHeader)
	switch {
	case s.fault.Over == SSE:
		s.goodStream(v)
	case v.r.URL.Path != "/mcp":
		http.NotFound(v.w, v.r)
	case v.r.Method == http.MethodDelete:
		s.forget(id)
	case v.r.Method != http.MethodPost:
		http.Error(v.w, "no stream here", http.StatusMethodNotAllowed)
	case v.message.Method == "initialize":
		v.w.Header().Set(sessionHeader, s.begin())
		v.json(http.StatusOK, good(v.message))
	case v.message.Method == "server/discover":
		v.json(http.StatusOK, good(v.message))
	case id == "":
		v.json(http.StatusBadRequest, refusal(json.RawMessage("null"), -32600, "Bad Request: Mcp-Session-Id header is required"))
	case !s.knows(id):
		v.json(http.StatusNotFound, refusal(json.RawMessage("null"), -32001, "Session not found"))
	case !v.asks():
		v.w.WriteHeader(http.StatusAccepted)
	default:
		v.json(http.StatusOK, good(v.message))
	}
}

func (v *visit) json(status int, body string) {
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	_, _ = io.WriteString(v.w, body)
}

func (v *visit) page(status int, body string) {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = io.WriteString(v.w, body)
}

// events begins a stream; what it gives writes to it, and fails when nobody reads.
func (v *visit) events() func(format string, args ...any) error {
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(v.w)
	return func(format string, args ...any) error {
		if _, err := fmt.Fprintf(v.w, format, args...); err != nil {
			return err
		}
		return out.Flush()
	}
}

// wire takes the connection over.
func (v *visit) wire() net.Conn {
	conn, _, err := http.NewResponseController(v.w).Hijack()
	if err != nil {
		panic(err) // HTTP/1 can
	}
	return conn
}

// pause waits for d; false says that the client or the server left, or the fault was mended.
func (s *Server) pause(v *visit, d time.Duration) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !s.mended() {
		select {
		case <-late.C:
			return true
		case <-tick.C:
		case <-v.r.Context().Done():
			return false
		case <-s.closed:
			return false
		}
	}
	return false
}

// enter counts a request that Close will wait for.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.idle.Add(1)
	}
	return !s.over
}

func (s *Server) begin() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
	id := "session-" + strconv.Itoa(s.begun)
	s.sessions[id] = true
	return id
}

func (s *Server) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}

// called is how often act was called, this time included.
func (s *Server) called() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}
