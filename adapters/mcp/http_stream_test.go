//go:build unix

package mcp

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/ports"
)

func TestChangedToolsAreHeardOfOverHTTP(t *testing.T) {
	lists := ""
	for try := 0; try < 3 && lists != "2"; try++ { // once more where the stream opened late: something may have been missed
		p := newHTTPPeer(t, "good")
		r := start(t, p.config()).ready()
		r.ask("grow")
		eventually(t, "the new tool is registered", func() bool { return slices.Contains(r.names(), "grown") })
		lists = r.ask("lists")
	}
	if lists != "2" {
		t.Errorf("the tools were listed %s times, want 2", lists)
	}
}

// TestStreamThatBreaksIsOpenedAgain: what changed meanwhile is seen.
func TestStreamThatBreaksIsOpenedAgain(t *testing.T) {
	p := newHTTPPeer(t, "good")
	hold, opened := make(chan struct{}), make(chan struct{}, 10)
	p.odd = func(w http.ResponseWriter, r *http.Request, _ incoming) bool {
		if r.Method != http.MethodGet {
			return false
		}
		opened <- struct{}{}
		if len(opened) == 1 {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-hold
			panic(http.ErrAbortHandler)
		}
		return false
	}
	r := start(t, p.config()).ready()
	p.mu.Lock()
	for _, s := range p.sessions {
		s.peer.mu.Lock()
		s.tools = append(s.tools, `{"name":"grown","inputSchema":{"type":"object"}}`)
		s.peer.mu.Unlock()
	}
	p.mu.Unlock()
	close(hold)
	eventually(t, "the new tool is registered", func() bool { return slices.Contains(r.names(), "grown") })
	if s := r.last(); s.Restarts != 0 {
		t.Errorf("the state is %+v", s)
	}
}

// TestStreamIsResumed: a server may end an answer's stream and give the answer
// to who asks for the rest.
func TestStreamIsResumed(t *testing.T) {
	for name, leave := range map[string]func(){"ended": func() {}, "cut": func() { panic(http.ErrAbortHandler) }} {
		t.Run(name, func(t *testing.T) {
			p := newHTTPPeer(t, "good")
			var id atomic.Value
			p.odd = func(w http.ResponseWriter, r *http.Request, m incoming) bool {
				at := r.Header.Get("Last-Event-Id")
				w.Header().Set("Content-Type", "text/event-stream")
				switch {
				case m.Method == "tools/call":
					id.Store(string(m.ID))
					io.WriteString(w, "id: e1\nretry: 20\ndata:\n\n")
				case at == "e1":
					io.WriteString(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
				case at == "e2":
					io.WriteString(w, "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+id.Load().(string)+",\ndata: \"result\":"+textResult("resumed")+"}\n\n")
				default:
					w.Header().Del("Content-Type")
					return false
				}
				w.(http.Flusher).Flush()
				leave()
				return true
			}
			r := start(t, p.config()).ready()
			result, err := r.call(t.Context(), "echo", `{}`)
			if err != nil || wantText(result, "resumed") != nil {
				t.Errorf("the call gives %+v, %v", result, err)
			}
		})
	}
}

// TestStreamIsNotResumedForEver: a server that never has the rest costs a few tries.
func TestStreamIsNotResumedForEver(t *testing.T) {
	p := newHTTPPeer(t, "good")
	var resumed atomic.Int64
	p.odd = func(w http.ResponseWriter, r *http.Request, m incoming) bool {
		switch {
		case m.Method == "tools/call":
			answers(200, "text/event-stream", "id: e1\nretry: 1\ndata:\n\n")(w, r)
		case r.Header.Get("Last-Event-Id") == "e1":
			resumed.Add(1)
			answers(409, "", "")(w, r)
		default:
			return false
		}
		return true
	}
	r := start(t, p.config()).ready()
	_, err := r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindUnsure, "ended the stream before the answer")
	if n := resumed.Load(); n != maxResumes {
		t.Errorf("it was asked for the rest %d times", n)
	}
}

// TestRequestsOfTheHTTPServer: ping is answered, and nothing that was not offered.
func TestRequestsOfTheHTTPServer(t *testing.T) {
	p := newHTTPPeer(t, "asking")
	r := start(t, p.config()).ready()
	eventually(t, "all four are answered", func() bool { return strings.Count(r.ask("answers"), "\n") == 3 })
	answers := r.ask("answers")
	if !strings.Contains(answers, `"ask-0" {}`) || strings.Count(answers, `"code":-32601`) != 3 {
		t.Errorf("the answers are %s", answers)
	}
}

// TestAnswersBesideOthers: in one stream with other messages, in a batch, and
// with an id as text, the answer is found; and another's is not taken.
func TestAnswersBesideOthers(t *testing.T) {
	const mine = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"mine"}]}}`
	const others = `{"jsonrpc":"2.0","id":99,"result":{"content":[{"type":"text","text":"another's"}]}}`
	const news = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	for name, body := range map[string]string{
		"stream":      "data: " + news + "\n\nevent: ping\ndata: {}\n\n: comment\n\ndata: nonsense\n\ndata: " + others + "\n\ndata: " + mine + "\n\n",
		"batch":       "[" + news + "," + others + "," + mine + "]",
		"no last end": "\xef\xbb\xbfdata: " + mine,
		"crlf":        "event: message\r\ndata: " + mine + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := newHTTPPeer(t, "good")
			r := start(t, p.config()).ready()
			p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
				if m.Method != "tools/call" {
					return false
				}
				media := "text/event-stream"
				if name == "batch" {
					media = "application/json; charset=utf-8"
				}
				answers(200, media, strings.ReplaceAll(body, "%s", `"`+string(m.ID)+`"`))(w, r)
				return true
			})
			result, err := r.call(t.Context(), "echo", `{}`)
			if err != nil || wantText(result, "mine") != nil {
				t.Errorf("the call gives %+v, %v", result, err)
			}
		})
	}
}

// TestListeningStreamHasLimits: a server that says nonsense, or too much, on the
// stream that is always open harms no call, and is not listened to without pause.
func TestListeningStreamHasLimits(t *testing.T) {
	for name, text := range map[string]string{
		"comments":     strings.Repeat(": x\n", 1000),
		"empty lines":  strings.Repeat("\n", 1000),
		"nonsense":     strings.Repeat("data: x\n\n", 1000),
		"one event":    "data: " + strings.Repeat("x", 1<<20),
		"one comment":  ":" + strings.Repeat("x", 1<<20),
		"no text":      strings.Repeat("\x00\xff", 1<<19),
		"wide comment": ":" + strings.Repeat("x", 60<<10) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := newHTTPPeer(t, "good")
			var opened, poured atomic.Int64
			p.odd = func(w http.ResponseWriter, r *http.Request, _ incoming) bool {
				if r.Method != http.MethodGet {
					return false
				}
				opened.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				for r.Context().Err() == nil {
					n, err := io.WriteString(w, text)
					if poured.Add(int64(n)); err != nil {
						break
					}
				}
				return true
			}
			r := start(t, p.config()).ready()
			eventually(t, "the stream is closed and opened again", func() bool { return opened.Load() > 1 })
			r.wantEcho("beside it")
			if n, bytes := opened.Load(), poured.Load(); n > 4 || bytes > n*(32<<20) {
				t.Errorf("the stream was opened %d times for %d bytes", n, bytes)
			}
			if s := r.last(); s.Restarts != 0 || s.Phase != ports.PhaseReady {
				t.Errorf("the state is %+v", s)
			}
		})
	}
}
