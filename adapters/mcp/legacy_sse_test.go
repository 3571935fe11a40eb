//go:build unix

package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/toolsourcetest"
)

// TestConformanceOverSSE: asked for by the config, and found out.
func TestConformanceOverSSE(t *testing.T) {
	for _, transport := range []string{"sse", ""} {
		t.Run("transport "+transport, func(t *testing.T) {
			p := newOlderPeer(t, "good")
			h := harness(true)
			h.New = func() (ports.ToolSource, error) {
				cfg := p.olderConfig()
				cfg.Trusted, cfg.Transport = true, transport
				return New(cfg, Deps{})
			}
			h.Kill = func(ports.ToolSource) error { return p.restart() }
			toolsourcetest.Run(t, h)
		})
	}
}

// TestSSEServersThatDoNotStart: each is degraded within its time-out, with words.
func TestSSEServersThatDoNotStart(t *testing.T) {
	stream := func(text string) http.HandlerFunc { return answers(200, "text/event-stream", text) }
	open := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		says  string
		kind  ports.Kind
	}{
		"a page":          {answers(200, "text/html", "<html>"), "answers with text/html and not with a stream of events", ports.KindProtocol},
		"no such path":    {answers(404, "text/html", "<html>"), "there is no MCP server at this path", ports.KindProtocol},
		"no GET":          {answers(405, "", ""), "takes no GET at this path (405 Method Not Allowed)", ports.KindProtocol},
		"a login":         {answers(401, "", ""), "does not accept the token", ports.KindUnauthorized},
		"busy":            {answers(503, "", "", "Retry-After: 60"), "the server asks to wait 1m0s", ports.KindUnavailable},
		"elsewhere":       {answers(307, "", "", "Location: https://evil.example/sse"), "redirects to https://evil.example, where the headers must not go along", ports.KindProtocol},
		"a login page":    {answers(302, "", "", "Location: /login"), "asks for a page and not for MCP", ports.KindProtocol},
		"ended":           {stream(""), "ended the stream", ports.KindUnavailable},
		"no endpoint":     {stream("data: {}\n\n"), "ended the stream", ports.KindUnavailable},
		"mute":            {open(": hello\n\n"), "timeout 500ms", ports.KindTimeout},
		"mute afterwards": {open("event: endpoint\ndata: /messages\n\n"), "timeout 500ms", ports.KindTimeout},
		"empty endpoint":  {open("event: endpoint\ndata:\n\n"), "does not say where it takes messages", ports.KindProtocol},
		"odd endpoint":    {open("event: endpoint\ndata: http://[::1/\n\n"), "does not say where it takes messages", ports.KindProtocol},
		"long endpoint":   {open("event: endpoint\ndata: /" + strings.Repeat("x", maxEndpoint) + "\n\n"), "does not say where it takes messages", ports.KindProtocol},
		"another's":       {open("event: endpoint\ndata: https://evil.example/m\n\n"), "wants its messages at https://evil.example, where the headers must not go along", ports.KindProtocol},
		"another port":    {open("event: endpoint\ndata: //127.0.0.1:1/m\n\n"), "wants its messages at http://127.0.0.1:1", ports.KindProtocol},
		"another scheme":  {open("event: endpoint\ndata: https://127.0.0.1/m\n\n"), "wants its messages at https://", ports.KindProtocol},
		"no address":      {open("event: endpoint\ndata: javascript:x\n\n"), "wants its messages at javascript", ports.KindProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					io.Copy(io.Discard, r.Body)
					w.WriteHeader(http.StatusAccepted)
					return
				}
				test.serve(w, r)
			}))
			defer s.Close()
			cfg := Config{Transport: "sse", URL: ports.Secret(s.URL), Timeout: 15 * time.Second, Headers: map[string]ports.Secret{"Authorization": "Bearer " + token}}
			if test.kind == ports.KindTimeout {
				cfg.Timeout = 500 * time.Millisecond
			}
			r := start(t, cfg)
			state := r.awaitPhase(ports.PhaseDegraded, 0)
			if !strings.Contains(state.Err, test.says) || strings.Contains(state.Err, token) || state.Transport != "sse" {
				t.Errorf("the state is %+v, want %q in it", state, test.says)
			}
			if err := r.src.Reconnect(t.Context()); !ports.IsKind(err, test.kind) {
				t.Errorf("it is %s (%v), want %s", ports.KindOf(err), err, test.kind)
			}
			r.end()
		})
	}
}

// TestHeadersStayOnTheOriginOverSSE: not even an address that the server itself
// names gets them.
func TestHeadersStayOnTheOriginOverSSE(t *testing.T) {
	strangers := make(chan string, 10)
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { strangers <- r.Header.Get("Authorization") }))
	defer stranger.Close()
	p := newOlderPeer(t, "good")
	cfg := p.olderConfig()
	cfg.Headers = map[string]ports.Secret{"Authorization": "Bearer " + token}
	r := start(t, cfg).ready()
	r.wantEcho("with them")
	p.mu.Lock()
	for i, h := range p.seen {
		if h.Get("Authorization") != "Bearer "+token {
			t.Errorf("request %d has the headers %v", i, h)
		}
	}
	p.mu.Unlock()
	p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
		switch {
		case r.Method == http.MethodGet:
			answers(200, "text/event-stream", "event: endpoint\ndata: "+stranger.URL+"/messages\n\n")(w, r)
		case m.Method == "tools/call":
			http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
		default:
			return false
		}
		return true
	})
	_, err := r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindProtocol, "redirects to "+stranger.URL)
	if err := r.src.Reconnect(t.Context()); !ports.IsKind(err, ports.KindProtocol) {
		t.Errorf("a stranger's address gives %v", err)
	}
	if len(strangers) > 0 {
		t.Errorf("another origin was asked, with %q", <-strangers)
	}
}

// TestLostSSEStreamFailsItsCalls: what was under way may have been done.
func TestLostSSEStreamFailsItsCalls(t *testing.T) {
	p := newOlderPeer(t, "good")
	r := start(t, p.olderConfig()).ready()
	gave := make(chan error, 1)
	go func() {
		_, err := r.tool("slow").Call(t.Context(), ports.ToolCall{}, nil)
		gave <- err
	}()
	eventually(t, "the call is running", func() bool { calls, _ := p.ran(); return calls == 1 })
	if err := p.restart(); err != nil {
		t.Fatal(err)
	}
	wantKind(t, <-gave, ports.KindUnsure, "")
	r.await("ready again", 0, func(s ports.State) bool { return s.Phase == ports.PhaseReady && s.Restarts > 0 })
	r.wantEcho("after it")
	if calls, _ := p.ran(); calls != 2 {
		t.Errorf("%d calls were run", calls)
	}
}

// TestForgottenSSESessionIsMended: the call that heard of it is run, once, in the next one.
func TestForgottenSSESessionIsMended(t *testing.T) {
	for name, refuse := range map[string]http.HandlerFunc{
		"404": answers(404, "text/plain", "Could not find session"),
		"410": answers(410, "", ""),
		"400": answers(400, "text/plain", "Invalid session ID"),
	} {
		t.Run(name, func(t *testing.T) {
			p := newOlderPeer(t, "good")
			r := start(t, p.olderConfig()).ready()
			p.swap(func(w http.ResponseWriter, r *http.Request, _ incoming) bool {
				if r.URL.Query().Get("session_id") != "session-1" {
					return false
				}
				refuse(w, r)
				return true
			})
			r.wantEcho("once")
			if calls, _ := p.ran(); calls != 1 {
				t.Errorf("the call was run %d times", calls)
			}
		})
	}
}

// TestRefusedSSECalls: a status says what became of the call, and costs no more.
func TestRefusedSSECalls(t *testing.T) {
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		kind  ports.Kind
		says  string
	}{
		"forbidden":  {answers(403, "", ""), ports.KindUnauthorized, "refuses access"},
		"a page":     {answers(418, "text/html", "<html>"), ports.KindProtocol, "answers 418 I'm a teapot, with a web page"},
		"busy":       {answers(429, "", "", "Retry-After: 1"), ports.KindUnavailable, "asks to wait 1s"},
		"broken":     {answers(502, "", ""), ports.KindUnsure, "answers 502"},
		"hung up":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ports.KindUnsure, "closed the connection"},
		"error":      {answers(400, "application/json", `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"bad"}}`), ports.KindInvalid, "bad"},
		"tool's own": {answers(400, "text/plain", "no browser session"), ports.KindProtocol, "no browser session"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newOlderPeer(t, "good")
			r := start(t, p.olderConfig()).ready()
			var had atomic.Int64
			p.swap(onCall(func(w http.ResponseWriter, r *http.Request) { had.Add(1); test.serve(w, r) }))
			_, err := r.call(t.Context(), "echo", `{}`)
			wantKind(t, err, test.kind, test.says)
			if n := had.Load(); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
			p.swap(nil)
			eventually(t, "it works as before", func() bool { _, err := r.call(t.Context(), "echo", `{}`); return err == nil })
			if s := r.last(); s.Restarts != 0 {
				t.Errorf("the state is %+v", s)
			}
		})
	}
}

// TestAnswerMayComeBeforeItsPostIsThrough: and a POST that never ends holds up nobody.
func TestAnswerMayComeBeforeItsPostIsThrough(t *testing.T) {
	p := newOlderPeer(t, "good")
	r := start(t, p.olderConfig()).ready()
	p.swap(func(_ http.ResponseWriter, r *http.Request, m incoming) bool {
		if m.Method != "tools/call" {
			return false
		}
		p.mu.Lock()
		s := p.sessions[r.URL.Query().Get("session_id")]
		p.mu.Unlock()
		s.handle(m)
		<-r.Context().Done()
		return true
	})
	r.wantEcho("at once")
	r.wantEcho("and again")
}

func TestSSEServerSpeaksByItself(t *testing.T) {
	p := newOlderPeer(t, "asking")
	r := start(t, p.olderConfig()).ready()
	eventually(t, "all four are answered", func() bool { return strings.Count(r.ask("answers"), "\n") == 3 })
	if answers := r.ask("answers"); !strings.Contains(answers, `"ask-0" {}`) || strings.Count(answers, `"code":-32601`) != 3 {
		t.Errorf("the answers are %s", answers)
	}
	r.ask("grow")
	eventually(t, "the new tool is registered", func() bool { return slices.Contains(r.names(), "grown") })
	ctx, cancel := context.WithCancel(t.Context())
	gave := make(chan error, 1)
	before, _ := p.ran()
	go func() {
		_, err := r.tool("slow").Call(ctx, ports.ToolCall{}, nil)
		gave <- err
	}()
	eventually(t, "the call has arrived", func() bool { calls, _ := p.ran(); return calls > before })
	cancel()
	wantKind(t, <-gave, ports.KindCancelled, "canceled")
	eventually(t, "the server heard of it", func() bool { return r.ask("cancelled") != "" })
}

// TestSSEStreamHasLimits: what is no message is bounded, what is one too; the
// connection is given up and not made again without pause.
func TestSSEStreamHasLimits(t *testing.T) {
	for name, test := range map[string]struct {
		text, says string
		rare       bool // tried again as seldom as what is not installed
	}{
		"comments":     {strings.Repeat(": x\n", 1000), "lines that are no messages", true},
		"empty lines":  {strings.Repeat("\n", 1000), "lines that are no messages", true},
		"nonsense":     {strings.Repeat("data: x\n\n", 1000), "lines that are no messages", true},
		"other events": {strings.Repeat("event: ping\ndata: {}\n\n", 1000), "lines that are no messages", true},
		"endpoints":    {strings.Repeat("event: endpoint\ndata: /m\n\n", 1000), "lines that are no messages", true},
		"wide comment": {":" + strings.Repeat("x", 60<<10) + "\n", "bytes that are no messages", true},
		"one event":    {"data: " + strings.Repeat("x", 1<<20), "more than 16777216 bytes (max_message_bytes)", false},
		"many lines":   {"data: " + strings.Repeat("x", 1<<20) + "\n", "more than 16777216 bytes (max_message_bytes)", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newOlderPeer(t, "good")
			var poured, streams atomic.Int64
			p.odd = func(w http.ResponseWriter, r *http.Request, _ incoming) bool {
				if r.Method != http.MethodGet {
					w.WriteHeader(http.StatusAccepted)
					return true
				}
				streams.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, "event: endpoint\ndata: /messages\n\n")
				for r.Context().Err() == nil {
					n, err := io.WriteString(w, test.text)
					if poured.Add(int64(n)); err != nil {
						break
					}
				}
				return true
			}
			cfg := p.olderConfig()
			cfg.Transport = "sse"
			r := start(t, cfg)
			state := r.awaitPhase(ports.PhaseDegraded, 0)
			if !strings.Contains(state.Err, test.says) || test.rare && state.RetryIn != lastRetry {
				t.Errorf("the state is %+v", state)
			}
			if n, streams := poured.Load(), streams.Load(); n > streams*(32<<20) {
				t.Errorf("%d bytes were read in %d streams", n, streams)
			}
		})
	}
}

// TestManySSECallsAtOnce: no answer goes to another call.
func TestManySSECallsAtOnce(t *testing.T) {
	p := newOlderPeer(t, "good")
	r := start(t, p.olderConfig()).ready()
	failed := make(chan error, 8)
	for worker := range 8 {
		go func() {
			var err error
			for n := 0; n < 40 && err == nil; n++ {
				text := fmt.Sprintf("worker %d call %d", worker, n)
				var result ports.ToolResult
				if result, err = r.call(t.Context(), "echo", `{"text":"`+text+`"}`); err == nil {
					err = wantText(result, text)
				}
			}
			failed <- err
		}()
	}
	for range 8 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// TestSSECallIsCalledOffAfterItsPost: the server hears of no cancellation before
// it has the call.
func TestSSECallIsCalledOffAfterItsPost(t *testing.T) {
	p := newOlderPeer(t, "good")
	r := start(t, p.olderConfig()).ready()
	arrived, release, heard := make(chan struct{}), make(chan struct{}), make(chan string, 2)
	p.swap(func(w http.ResponseWriter, _ *http.Request, m incoming) bool {
		switch m.Method {
		case "tools/call":
			close(arrived)
			<-release
		case "notifications/cancelled":
		default:
			return false
		}
		heard <- m.Method
		w.WriteHeader(http.StatusAccepted)
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	gave := make(chan error, 1)
	go func() {
		_, err := r.tool("slow").Call(ctx, ports.ToolCall{}, nil)
		gave <- err
	}()
	<-arrived
	cancel()
	wantKind(t, <-gave, ports.KindCancelled, "canceled")
	<-time.After(100 * time.Millisecond) // time enough to tell it too early
	close(release)
	if first, second := <-heard, <-heard; first != "tools/call" || second != "notifications/cancelled" {
		t.Errorf("the server heard %s and then %s", first, second)
	}
}
