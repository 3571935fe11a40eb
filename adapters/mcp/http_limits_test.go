//go:build unix

package mcp

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/ports"
)

// bomb is a text of the size between begin and end, compressed.
func bomb(t *testing.T, begin, fill string, size int, end string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, begin)
	chunk := strings.Repeat(fill, (1<<20)/len(fill))
	for range size >> 20 {
		io.WriteString(w, chunk)
	}
	io.WriteString(w, end)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestCompressedAnswersAreBounded: what counts is how long they are unpacked.
func TestCompressedAnswersAreBounded(t *testing.T) {
	const size, limit = 32 << 20, 1 << 20
	const begin, end = `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"`, `"}]}}`
	for name, test := range map[string]struct {
		status int
		media  string
		body   []byte
		kind   ports.Kind
		says   string
	}{
		"JSON":     {200, "application/json", bomb(t, begin, "x", size, end), ports.KindTooLarge, "more than 1048576 bytes (max_message_bytes)"},
		"event":    {200, "text/event-stream", bomb(t, "data: "+begin, "x", size, end+"\n\n"), ports.KindTooLarge, "more than 1048576 bytes"},
		"comments": {200, "text/event-stream", bomb(t, "", ": x\n", size, ""), ports.KindProtocol, "lines that are no messages"},
		"a page":   {200, "text/html", bomb(t, "<html>", "x", size, ""), ports.KindProtocol, "answers with text/html"},
		"refusal":  {418, "text/plain", bomb(t, "", "x", size, ""), ports.KindProtocol, "answers 418"},
		"cut":      {200, "application/json", bomb(t, begin, "x", 1<<20, end)[:100], ports.KindUnsure, "closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newHTTPPeer(t, "good")
			cfg := p.config()
			cfg.MaxMessageBytes = limit
			r := start(t, cfg).ready()
			p.swap(onCall(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.media)
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(test.status)
				_, _ = w.Write(test.body)
			}))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := r.call(t.Context(), "say", `{}`)
			runtime.ReadMemStats(&after)
			wantKind(t, err, test.kind, test.says)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 16*limit {
				t.Errorf("%d MiB were allocated in all for a limit of 1 MiB", grown>>20)
			}
			p.swap(nil)
			r.wantEcho("after it")
		})
	}
}

// TestRedirectsThatChangeTheRequest: a POST does not become a GET, nor a GET a
// page, not even on the same origin.
func TestRedirectsThatChangeTheRequest(t *testing.T) {
	for _, status := range []int{301, 302, 303} {
		p := newHTTPPeer(t, "good")
		r := start(t, p.config()).ready()
		var followed atomic.Int64
		p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
			switch {
			case r.URL.Path != "/mcp":
				followed.Add(1)
			case m.Method == "tools/call" || r.Method == http.MethodGet:
				http.Redirect(w, r, "/login?token="+token, status)
			default:
				return false
			}
			return true
		})
		_, err := r.call(t.Context(), "echo", `{}`)
		wantKind(t, err, ports.KindProtocol, "asks for a page and not for MCP")
		if strings.Contains(err.Error(), token) || followed.Load() != 0 {
			t.Errorf("%d redirections were followed, and the error is %v", followed.Load(), err)
		}
	}
}

func TestRedirectsAreFollowedAFewTimes(t *testing.T) {
	for _, status := range []int{307, 308} {
		p := newHTTPPeer(t, "good")
		r := start(t, p.config()).ready()
		hops := func(most string) {
			p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
				if m.Method != "tools/call" || r.URL.Path == "/mcp"+most {
					return false
				}
				http.Redirect(w, r, r.URL.Path+"x", status)
				return true
			})
		}
		hops(strings.Repeat("x", maxRedirects))
		r.wantEcho("with its body")
		hops(strings.Repeat("x", maxRedirects+1))
		_, err := r.call(t.Context(), "echo", `{}`)
		wantKind(t, err, ports.KindProtocol, "again and again")
	}
}

func TestSameOrigin(t *testing.T) {
	for other, want := range map[string]bool{
		"https://example.org/x": true, "https://EXAMPLE.org:443/": true, "http://example.org/": false, "https://example.org:8443/": false,
		"https://sub.example.org/": false, "https://example.org.evil.example/": false, "https://user@example.org/": true,
	} {
		a, err1 := http.NewRequest(http.MethodGet, "https://example.org/mcp", nil)
		b, err2 := http.NewRequest(http.MethodGet, other, nil)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if sameOrigin(a.URL, b.URL) != want || sameOrigin(b.URL, a.URL) != want {
			t.Errorf("%s: want %v", other, want)
		}
	}
}

// TestServerThatNeverAnswersACall: it is bounded by the call's own time-out, in
// whatever phase it stops, and the connection is kept.
func TestServerThatNeverAnswersACall(t *testing.T) {
	hold := func(w http.ResponseWriter, r *http.Request) {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		<-r.Context().Done()
	}
	for name, serve := range map[string]http.HandlerFunc{
		"no header": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"no body":   hold,
		"half of JSON": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":`)
			hold(w, r)
		},
		"half of an event": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "id: e1\ndata: {\"jsonrpc\":")
			hold(w, r)
		},
		"half of a refusal": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "I'm")
			hold(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newHTTPPeer(t, "good")
			cfg := p.config()
			cfg.CallTimeout = time.Second
			r := start(t, cfg).ready()
			p.swap(onCall(serve))
			begun := time.Now()
			_, err := r.call(t.Context(), "echo", `{}`)
			wantKind(t, err, ports.KindTimeout, "deadline")
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			p.swap(nil)
			eventually(t, "it works as before", func() bool { _, err := r.call(t.Context(), "echo", `{}`); return err == nil })
			if s := r.last(); s.Restarts != 0 {
				t.Errorf("the state is %+v", s)
			}
		})
	}
}

// TestServerThatTakesNoConnection: its TLS handshake never ends.
func TestServerThatTakesNoConnection(t *testing.T) {
	mute := httptest.NewUnstartedServer(nil)
	defer mute.Listener.Close()
	r := start(t, Config{URL: ports.Secret("https://" + mute.Listener.Addr().String()), Timeout: 300 * time.Millisecond})
	if s := r.awaitPhase(ports.PhaseDegraded, 0); !strings.Contains(s.Err, "timeout 300ms") {
		t.Errorf("the state is %+v", s)
	}
}
