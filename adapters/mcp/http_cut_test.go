//go:build unix

package mcp

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/ports"
)

// cutter writes the first bytes of an answer and hangs up.
type cutter func(w http.ResponseWriter, media, text string, at int)

// cutters are the ways in which HTTP/1.1 ends a body.
func cutters() map[string]cutter {
	head := func(w http.ResponseWriter, media string) {
		w.Header().Set("Content-Type", media)
	}
	leave := func(w http.ResponseWriter) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return map[string]cutter{
		"chunked": func(w http.ResponseWriter, media, text string, at int) {
			head(w, media)
			w.(http.Flusher).Flush()
			io.WriteString(w, text[:at])
			leave(w)
		},
		"of known length": func(w http.ResponseWriter, media, text string, at int) {
			head(w, media)
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			io.WriteString(w, text[:at])
			leave(w)
		},
		"to the end of the connection": func(w http.ResponseWriter, media, text string, at int) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			fmt.Fprintf(rw, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n%s", media, text[:at])
			rw.Flush()
			_ = conn.(*net.TCPConn).CloseWrite()
		},
	}
}

// TestAnswerCutAnywhere: an answer that is cut off at any byte is the whole
// answer or KindUnsure, nothing else, and its call is sent once.
func TestAnswerCutAnywhere(t *testing.T) {
	for form, test := range map[string]struct{ media, text string }{
		"JSON":   {"application/json", `{"jsonrpc":"2.0","id":{id},"result":{"content":[{"type":"text","text":"whole"}]}}`},
		"stream": {"text/event-stream", ": hello\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":{id},\ndata: \"result\":{\"content\":[{\"type\":\"text\",\"text\":\"whole\"}]}}\n\n"},
	} {
		for how, cut := range cutters() {
			t.Run(form+", "+how, func(t *testing.T) {
				t.Parallel()
				p := newHTTPPeer(t, "good")
				p.deaf = true
				r := startTrusting(t, p.config()).ready()
				var had, at atomic.Int64
				p.swap(func(w http.ResponseWriter, _ *http.Request, m incoming) bool {
					if m.Method == "tools/call" {
						had.Add(1)
						text := strings.ReplaceAll(test.text, "{id}", fmt.Sprintf("%4s", m.ID))
						cut(w, test.media, text, int(at.Load()))
					}
					return m.Method == "tools/call"
				})
				for n := 0; n <= len(test.text); n++ {
					at.Store(int64(n))
					result, err := r.call(t.Context(), "echo", `{}`)
					switch {
					case err == nil && wantText(result, "whole") == nil && n > len(test.text)-8:
					case ports.IsKind(err, ports.KindUnsure) && n < len(test.text):
					default:
						t.Errorf("cut after %d of %d bytes it is %+v, %v", n, len(test.text), result, err)
					}
				}
				if n := had.Load(); n > int64(len(test.text)+1) {
					t.Errorf("%d calls were sent, of %d", n, len(test.text)+1)
				}
				if s := r.last(); s.Restarts != 0 {
					t.Errorf("the state is %+v", s)
				}
			})
		}
	}
}

// TestResumedAnswerCutAnywhere: once the server has named an event, what is cut
// off is asked for again, and the call is not.
func TestResumedAnswerCutAnywhere(t *testing.T) {
	const priming = "id: e1\nretry: 10\ndata:\n\n"
	const rest = "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"whole\"}]}}\n\n"
	for how, cut := range cutters() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := newHTTPPeer(t, "good")
			r := startTrusting(t, p.config()).ready()
			var had, at atomic.Int64
			var id atomic.Value
			p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
				switch {
				case m.Method == "tools/call":
					had.Add(1)
					id.Store(string(m.ID))
					text := priming + strings.ReplaceAll(rest, "{id}", fmt.Sprintf("%4s", m.ID))
					cut(w, "text/event-stream", text, int(at.Load()))
				case r.Header.Get("Last-Event-Id") == "e1":
					answers(200, "text/event-stream", strings.ReplaceAll(rest, "{id}", id.Load().(string)))(w, r)
				default:
					return false
				}
				return true
			})
			for n := 0; n <= len(priming+rest); n++ {
				at.Store(int64(n))
				result, err := r.call(t.Context(), "echo", `{}`)
				switch {
				case n < len(priming) && ports.IsKind(err, ports.KindUnsure):
				case n >= len(priming) && err == nil && wantText(result, "whole") == nil:
				default:
					t.Errorf("cut after %d of %d bytes it is %+v, %v", n, len(priming+rest), result, err)
				}
			}
			if n := had.Load(); n > int64(len(priming+rest)+1) {
				t.Errorf("%d calls were sent, of %d", n, len(priming+rest)+1)
			}
		})
	}
}

// TestStreamIsPolled: a server may close the connection again and again, as long
// as it names new events; the pause that it wants is kept.
func TestStreamIsPolled(t *testing.T) {
	p := newHTTPPeer(t, "good")
	const polls = 3 * maxResumes
	var id atomic.Value
	p.odd = func(w http.ResponseWriter, r *http.Request, m incoming) bool {
		last := r.Header.Get("Last-Event-Id")
		var n int
		_, _ = fmt.Sscanf(last, "poll-%d", &n)
		switch {
		case m.Method == "tools/call":
			id.Store(string(m.ID))
			answers(200, "text/event-stream", "id: poll-1\nretry: 15\ndata: \n\n")(w, r)
		case last == "":
			return false
		case n < polls:
			answers(200, "text/event-stream", fmt.Sprintf("id: poll-%d\ndata: \n\n", n+1))(w, r)
		default:
			answers(200, "text/event-stream", "id: end\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+id.Load().(string)+",\"result\":"+textResult("at last")+"}\n\n")(w, r)
		}
		return true
	}
	r := startTrusting(t, p.config()).ready()
	result, err := r.call(t.Context(), "echo", `{}`)
	if err != nil || wantText(result, "at last") != nil {
		t.Errorf("the call gives %+v, %v", result, err)
	}
}
