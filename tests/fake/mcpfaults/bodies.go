package mcpfaults

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// bodies are faults of how an answer comes.
func bodies() []Fault {
	return []Fault{
		{Name: "gzip bomb", Over: HTTP, Why: "a few kilobytes on the wire are hundreds of megabytes in memory", web: onAct(func(_ *Server, v *visit) {
			v.w.Header().Set("Content-Encoding", "gzip")
			v.w.Header().Set("Content-Type", "application/json")
			z := gzip.NewWriter(v.w)
			io.WriteString(z, `{"jsonrpc":"2.0","id":`+string(v.ID)+`,"result":{"content":[{"type":"text","text":"`)
			spill(z)
			io.WriteString(z, `"}]}}`)
			z.Close()
		})},
		{Name: "endless body", Over: HTTP, Why: "JSON that never ends", web: onAct(func(_ *Server, v *visit) {
			v.w.Header().Set("Content-Type", "application/json")
			io.WriteString(v.w, `{"jsonrpc":"2.0","id":`+string(v.ID)+`,"result":{"content":[{"type":"text","text":"`)
			spill(v.w)
		})},
		{Name: "endless refusal", Over: HTTP, Why: "the body of an error is a body too", web: onAct(func(_ *Server, v *visit) {
			v.w.WriteHeader(http.StatusInternalServerError)
			spill(v.w)
		})},
		{Name: "slow headers", Over: HTTP, Why: "one byte at a time keeps a connection busy and alive", web: onAct(func(s *Server, v *visit) {
			s.drip(v, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Filler: "+strings.Repeat("x", 10_000))
		})},
		{Name: "slow body", Over: HTTP, Why: "the same after the headers", web: onAct(func(s *Server, v *visit) {
			s.drip(v, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"+strings.Repeat(" ", 10_000), "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
		})},
		{Name: "endless headers", Over: HTTP, Why: "headers are memory too", web: onAct(func(_ *Server, v *visit) {
			conn := v.wire()
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for n := range huge / 1000 {
				if _, err := fmt.Fprintf(conn, "X-Filler-%d: %s\r\n", n, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		})},
		{Name: "fewer bytes than promised", Over: HTTP, Why: "an answer that is cut off is none", web: onAct(func(_ *Server, v *visit) {
			conn := v.wire()
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"+strings.TrimSuffix(good(v.message), "}]}}"))
		})},
		{Name: "a length without end", Over: HTTP, Why: "nobody should make room for what is only promised", web: onAct(func(_ *Server, v *visit) {
			conn := v.wire()
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"+good(v.message))
		})},
		{Name: "plain text", Over: HTTP, Why: "the wrong kind of answer", web: onAct(func(_ *Server, v *visit) {
			v.w.Header().Set("Content-Type", "text/plain")
			io.WriteString(v.w, "acted")
		})},
		{Name: "taken, no answer", Over: HTTP, Why: "202 is for what has no answer", web: onAct(func(_ *Server, v *visit) { v.w.WriteHeader(http.StatusAccepted) })},
		{Name: "another's answer", Over: HTTP, Why: "an answer to another id is not ours", web: onAct(func(_ *Server, v *visit) {
			v.json(200, result([]byte("987654"), acted))
		})},
		{Name: "not HTTP", Over: HTTP, Why: "something else listens on the port", web: func(_ *Server, v *visit) bool {
			conn := v.wire()
			defer conn.Close()
			io.WriteString(conn, "SSH-2.0-OpenSSH_9.9\r\n")
			return true
		}},
	}
}

// spill writes more than anybody should take, as long as somebody does.
func spill(w io.Writer) {
	piece := []byte(strings.Repeat("x", 64<<10))
	for range huge / len(piece) {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// drip writes the text one byte at a time; what is at its front, at once.
func (s *Server) drip(v *visit, text string, front ...string) {
	conn := v.wire()
	defer conn.Close()
	sent := len(strings.Join(front, ""))
	if _, err := io.WriteString(conn, text[:sent]); err != nil {
		return
	}
	for ; sent < len(text) && s.pause(v, 20*time.Millisecond); sent++ {
		if _, err := io.WriteString(conn, text[sent:sent+1]); err != nil {
			return
		}
	}
}
