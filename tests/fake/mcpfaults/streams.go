package mcpfaults

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// streams are faults of server-sent events.
func streams() []Fault {
	return []Fault{
		{Name: "stream cut at every byte", Over: HTTP, Why: "each call gets one byte more of its answer than the one before", web: onAct(cutShort)},
		{Name: "comments for ever", Over: HTTP, Why: "a stream that lives and says nothing", web: onAct(func(s *Server, v *visit) {
			send := v.events()
			for s.pause(v, 20*time.Millisecond) && send(": still here\n\n") == nil {
			}
		})},
		{Name: "a flood of comments", Over: HTTP, Why: "the same, as fast as it goes", web: onAct(func(s *Server, v *visit) {
			send := v.events()
			piece := strings.Repeat(": still here\n\n", 1000)
			for !s.mended() && send("%s", piece) == nil {
			}
		})},
		{Name: "an endless event", Over: HTTP, Why: "one event may be as long as a message and no longer", web: onAct(func(_ *Server, v *visit) {
			v.w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(v.w, "data: ")
			spill(v.w)
		})},
		{Name: "an event of endless lines", Over: HTTP, Why: "the same in many lines", web: onAct(func(s *Server, v *visit) {
			send := v.events()
			piece := strings.Repeat("data: x\n", 10_000)
			for !s.mended() && send("%s", piece) == nil {
			}
		})},
		{Name: "events of other kinds", Over: HTTP, Why: "what is no message is not for us", web: onAct(func(_ *Server, v *visit) {
			send := v.events()
			_ = send("event: ping\ndata: {}\n\nevent: message\ndata: not JSON\n\nid\n\n:\n\ndata\n\nretry: soon\n\ndata: %s\n\n", good(v.message))
		})},
		{Name: "a stream that ends without an answer", Over: HTTP, Why: "it was asked, and nobody knows what became of it", web: onAct(func(_ *Server, v *visit) {
			_ = v.events()(": bye\n\n")
		})},
		{Name: "resumes in vain", Over: HTTP, Why: "a stream that can always be taken up again, and never brings the answer", web: func(_ *Server, v *visit) bool {
			if !v.acts() && (v.r.Method != http.MethodGet || v.r.Header.Get("Last-Event-ID") == "") {
				return false
			}
			last, _ := strconv.Atoi(v.r.Header.Get("Last-Event-ID"))
			_ = v.events()("id: %d\nretry: 10\ndata: \n\n", last+1)
			return true
		}},
		{Name: "floods the listening stream", Over: HTTP, Why: "what a server says by itself may be too much", web: func(s *Server, v *visit) bool {
			if v.r.Method != http.MethodGet {
				return false
			}
			send := v.events()
			piece := strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n", 100)
			for !s.mended() && send("%s", piece) == nil {
			}
			return true
		}},
		{Name: "asks on every stream", Over: HTTP, Why: "each request of the server's is a request of ours back to it", web: onAct(func(_ *Server, v *visit) {
			send := v.events()
			for n := range 2000 {
				if send("data: {\"jsonrpc\":\"2.0\",\"id\":\"ask-%d\",\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"maxTokens\":1}}\n\n", n) != nil {
					return
				}
			}
			_ = send("data: %s\n\n", good(v.message))
		})},
	}
}

// cutShort answers with so many bytes of a stream as act was called before.
func cutShort(s *Server, v *visit) {
	body := "data: " + good(v.message) + "\n\n"
	conn := v.wire()
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"+body[:min(s.called()-1, len(body))])
}
