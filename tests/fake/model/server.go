package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a Server; the zero value echoes what was said last.
type Options struct {
	// Answer makes the reply to a request. It is called from many goroutines.
	Answer func(Request) Reply
	// Delay is how long the model thinks before the first byte of a reply.
	Delay time.Duration
	// Pieces is in how many frames a streamed text comes, 1 if 0.
	Pieces int
	// Pace is the pause between two of them. With none a stream is one write.
	Pace time.Duration
}

// Server is the fake. Safe for many goroutines.
type Server struct {
	opts   Options
	http   *http.Server
	url    string
	closed chan struct{}
	idle   sync.WaitGroup
	calls  atomic.Int64
}

// New starts a server on a free port of 127.0.0.1. It panics if there is none.
func New(o Options) *Server {
	if o.Answer == nil {
		o.Answer = echo
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("fake model: " + err.Error())
	}
	s := &Server{opts: o, url: "http://" + ln.Addr().String() + "/v1", closed: make(chan struct{})}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.idle.Go(func() {
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			panic("fake model: " + err.Error())
		}
	})
	return s
}

// URL is what the client's base_url must be.
func (s *Server) URL() string { return s.url }

// Calls is how many requests came in.
func (s *Server) Calls() int64 { return s.calls.Load() }

// Close ends every connection, once. A handler that thinks leaves at once.
func (s *Server) Close() {
	close(s.closed)
	_ = s.http.Close()
	s.idle.Wait()
}

// ServeHTTP answers POST /v1/chat/completions.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		refuse(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path)
		return
	}
	n := s.calls.Add(1)
	req, err := read(w, r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if !s.think(r, s.opts.Delay) {
		return
	}
	answer := message{id: fmt.Sprintf("chatcmpl-%d", n), model: req.Model, Reply: s.opts.Answer(req)}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer.whole())
		return
	}
	s.stream(w, r, answer.frames(max(1, s.opts.Pieces), req.Usage))
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, frames []string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if s.opts.Pace <= 0 {
		_, _ = w.Write([]byte(strings.Join(frames, "")))
		return
	}
	out := http.NewResponseController(w)
	for i, f := range frames {
		if i > 0 && !s.think(r, s.opts.Pace) {
			return
		}
		if _, err := w.Write([]byte(f)); err != nil || out.Flush() != nil {
			return
		}
	}
}

// think waits for d; false says that the caller or the server left.
func (s *Server) think(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

func refuse(w http.ResponseWriter, status int, what string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": "fake model: " + what, "type": "invalid_request_error", "param": nil, "code": nil,
	}})
}

func echo(r Request) Reply { return Reply{Text: r.Last().Text} }
