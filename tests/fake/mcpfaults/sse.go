package mcpfaults

import (
	"net/http"
	"strings"
	"time"
)

// olderStreams are faults of the transport before streamable HTTP: a stream that
// brings all answers, and an address that it names for the messages.
func olderStreams() []Fault {
	onStream := func(take func(*Server, *visit)) func(*Server, *visit) bool {
		return func(s *Server, v *visit) bool {
			if v.r.Method != http.MethodGet {
				return false
			}
			take(s, v)
			return true
		}
	}
	return []Fault{
		{Name: "sse: messages elsewhere", Over: SSE, Why: "the token would go to another origin", web: onStream(func(s *Server, v *visit) {
			_ = v.events()("event: endpoint\ndata: http://127.0.0.1:1/messages\n\n")
			s.pause(v, longest)
		})},
		{Name: "sse: messages nowhere", Over: SSE, Why: "without an address there is nothing to say", web: onStream(func(s *Server, v *visit) {
			send := v.events()
			for s.pause(v, 100*time.Millisecond) && send(": any moment now\n\n") == nil {
			}
		})},
		{Name: "sse: an address that is none", Over: SSE, Why: "what a peer names is not always what it should be", web: onStream(func(s *Server, v *visit) {
			_ = v.events()("event: endpoint\ndata: ://%%zz\n\n")
			s.pause(v, longest)
		})},
		{Name: "sse: an address without end", Over: SSE, Why: "an address is memory too", web: onStream(func(_ *Server, v *visit) {
			_ = v.events()("event: endpoint\ndata: ")
			spill(v.w)
		})},
		{Name: "sse: the stream ends", Over: SSE, Why: "the connection is the stream", web: onStream(func(_ *Server, v *visit) {
			_ = v.events()("event: endpoint\ndata: /messages?session=1\n\n")
		})},
		{Name: "sse: takes no message", Over: SSE, Why: "the stream lives and nothing can be sent", web: func(_ *Server, v *visit) bool {
			if v.r.Method == http.MethodPost {
				http.Error(v.w, "out of order", http.StatusInternalServerError)
			}
			return v.r.Method == http.MethodPost
		}},
		{Name: "sse: never answers a call", Over: SSE, Why: "202 is a promise, and no answer follows", web: onAct(func(_ *Server, v *visit) { v.w.WriteHeader(http.StatusAccepted) })},
		{Name: "sse: ends in a call", Over: SSE, Why: "the answer would have come on the stream", web: onAct(func(s *Server, v *visit) {
			v.w.WriteHeader(http.StatusAccepted)
			s.hangUp(v.r.URL.Query().Get("session"))
		})},
		{Name: "sse: an endless answer", Over: SSE, Why: "one event may be as long as a message and no longer", web: onAct(func(s *Server, v *visit) {
			v.w.WriteHeader(http.StatusAccepted)
			s.push(v, `{"jsonrpc":"2.0","id":`+string(v.ID)+`,"result":{"content":[{"type":"text","text":"`+strings.Repeat("x", 20<<20)+`"}]}}`)
		})},
	}
}

// goodStream is the older transport as it should be.
func (s *Server) goodStream(v *visit) {
	switch {
	case v.r.Method == http.MethodGet && v.r.URL.Path == "/sse":
		s.keepStream(v)
	case v.r.Method == http.MethodPost && v.r.URL.Path == "/messages":
		if !s.knows(v.r.URL.Query().Get("session")) {
			http.Error(v.w, "Session not found", http.StatusNotFound)
			return
		}
		v.w.WriteHeader(http.StatusAccepted)
		if text := good(v.message); text != "" {
			s.push(v, text)
		}
	default:
		http.Error(v.w, "Method Not Allowed", http.StatusMethodNotAllowed)
	}
}

func (s *Server) keepStream(v *visit) {
	id, answers := s.begin(), make(chan string, 64)
	s.mu.Lock()
	s.streams[id] = answers
	s.mu.Unlock()
	defer s.hangUp(id)
	send := v.events()
	err := send("event: endpoint\ndata: /messages?session=%s\n\n", id)
	for err == nil {
		select {
		case text, ok := <-answers:
			if !ok {
				return
			}
			err = send("event: message\ndata: %s\n\n", text)
		case <-v.r.Context().Done():
			return
		case <-s.closed:
			return
		}
	}
}

// push puts an answer on the stream that the message belongs to.
func (s *Server) push(v *visit, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.streams[v.r.URL.Query().Get("session")] <- text:
	default: // nobody reads
	}
}

// hangUp ends a stream, once.
func (s *Server) hangUp(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answers, ok := s.streams[id]; ok {
		delete(s.streams, id)
		delete(s.sessions, id)
		close(answers)
	}
}
