//go:build unix

package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

const token = "tok-very-secret"

// answers is a server that says the same to everything.
func answers(status int, media, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if media != "" {
			w.Header().Set("Content-Type", media)
		}
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, strings.ReplaceAll(body, "{auth}", r.Header.Get("Authorization")))
	}
}

// emptyResult answers whatever it is asked with {}.
func emptyResult(w http.ResponseWriter, r *http.Request) {
	var m incoming
	_ = json.NewDecoder(r.Body).Decode(&m)
	answers(200, "application/json", `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`)(w, r)
}

// TestHTTPServersThatDoNotStart: each is degraded within its time-out, with words
// that say why and hide the token, and is not asked again at once.
func TestHTTPServersThatDoNotStart(t *testing.T) {
	const page = "<html><body>Welcome {auth}</body></html>"
	for name, test := range map[string]struct {
		serve   http.HandlerFunc
		says    string
		kind    ports.Kind
		retryIn time.Duration // at least
	}{
		"a web page":      {answers(200, "text/html", page), `answers with text/html and not with MCP: is the url right? It begins: "<html><body>Welcome [redacted]<`, ports.KindProtocol, 0},
		"plain text":      {answers(200, "text/plain", "It works!"), `answers with text/plain and not with MCP`, ports.KindProtocol, 0},
		"nothing":         {answers(200, "", ""), "what is no answer to it", ports.KindProtocol, 0},
		"other JSON":      {answers(200, "application/json", `{"status":"up"}`), `what is no answer to it: "{\"status\":\"up\"}"`, ports.KindProtocol, 0},
		"cut JSON":        {answers(200, "application/json", `{"jsonrpc":"2.0","id":1,"resu`), "what is no answer to it", ports.KindProtocol, 0},
		"another's":       {answers(200, "application/json", `{"jsonrpc":"2.0","id":77,"result":{}}`), "what is no answer to it", ports.KindProtocol, 0},
		"empty result":    {emptyResult, "names no protocol version", ports.KindProtocol, 0},
		"accepted":        {answers(202, "", ""), "took initialize and gave no answer (202 Accepted)", ports.KindProtocol, 0},
		"no such path":    {answers(404, "text/html", page), "there is no MCP server at this path", ports.KindProtocol, 0},
		"no POST":         {answers(405, "text/plain", ""), "takes no POST at this path (405 Method Not Allowed): is the url right?", ports.KindProtocol, 0},
		"bad request":     {answers(400, "text/plain", "go away {auth}"), "the server answers 400 Bad Request: go away [redacted]", ports.KindProtocol, 0},
		"refused in JSON": {answers(400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported; supported: 2026-07-28"}}`), "supported: 2026-07-28", ports.KindProtocol, 0},
		"another login":   {answers(401, "application/json", `{"error":"invalid_token","error_description":"{auth}"}`), "does not accept the token in headers.Authorization (401 Unauthorized): it wants another: invalid_token", ports.KindUnauthorized, loginRetry},
		"no access":       {answers(403, "text/plain", "no"), "refuses access (403 Forbidden)", ports.KindUnauthorized, loginRetry},
		"broken":          {answers(500, "text/html", page), "answers 500 Internal Server Error, with a web page", ports.KindUnavailable, 0},
		"bad gateway":     {answers(502, "text/plain", "no upstream"), "answers 502 Bad Gateway: no upstream", ports.KindUnavailable, 0},
		"busy":            {answers(429, "", "", "Retry-After: 90"), "the server asks to wait 1m30s (429 Too Many Requests)", ports.KindUnavailable, 90 * time.Second},
		"down for work":   {answers(503, "", "", "Retry-After: 600"), "the server asks to wait 10m0s (503 Service Unavailable)", ports.KindUnavailable, 10 * time.Minute},
		"busy for years":  {answers(429, "", "", "Retry-After: 99999999"), "the server asks to wait 1h0m0s", ports.KindUnavailable, time.Hour},
		"elsewhere":       {answers(307, "", "", "Location: https://evil.example/mcp"), "redirects to https://evil.example, where the headers must not go along", ports.KindProtocol, 0},
		"login page":      {answers(302, "", "", "Location: /login"), "the server redirects to http://127.0.0.1", ports.KindProtocol, 0},
		"circle":          {answers(307, "", "", "Location: /mcp"), "the server redirects to", ports.KindProtocol, 0},
		"stream of noise": {answers(200, "text/event-stream", "data: hello\n\n: x\n\n"), "ended without an answer to initialize; 1 events of it were no JSON-RPC", ports.KindProtocol, 0},
		"empty stream":    {answers(200, "text/event-stream", ""), "ended the stream before the answer", ports.KindUnavailable, 0},
		"mute":            {func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }, "no answer to initialize: timeout 3s", ports.KindTimeout, 0},
		"hangs up":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed the connection", ports.KindUnavailable, 0},
		"odd session":     {answers(200, "application/json", `{}`, "Mcp-Session-Id: "+strings.Repeat("x", maxSessionID+1)), "session id cannot be sent back", ports.KindProtocol, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(test.serve)
			defer s.Close()
			log := new(journal)
			within := 15 * time.Second
			if test.kind == ports.KindTimeout {
				within = 3 * time.Second
			}
			src, err := New(Config{URL: ports.Secret(s.URL + "/mcp"), Timeout: within,
				Headers: map[string]ports.Secret{"Authorization": "Bearer " + token}}, Deps{Log: slog.New(slog.NewTextHandler(log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			r := startSource(t, src)
			state := r.awaitPhase(ports.PhaseDegraded, 0)
			if !strings.Contains(state.Err, test.says) {
				t.Errorf("the state says %q, want %q in it", state.Err, test.says)
			}
			if state.RetryIn < max(test.retryIn, firstRetry/2) || state.Transport != "http" {
				t.Errorf("the next try is in %s over %s, want %s or more over http", state.RetryIn, state.Transport, test.retryIn)
			}
			if err := src.Reconnect(t.Context()); !ports.IsKind(err, test.kind) {
				t.Errorf("it is %s (%v), want %s", ports.KindOf(err), err, test.kind)
			}
			if line := log.line(token); line != "" || strings.Contains(fmt.Sprint(state), token) {
				t.Errorf("the token shows: %+v %s", state, line)
			}
			r.end()
		})
	}
}

func TestHTTPServersThatCannotBeReached(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	tls := httptest.NewTLSServer(nil)
	defer tls.Close()
	for says, url := range map[string]string{
		"connection refused":            closed.URL,
		"gave HTTP response to HTTPS":   strings.Replace(plain.URL, "http", "https", 1),
		"failed to verify certificate":  tls.URL,
		"no-such-host.invalid cannot b": "http://user:pass-word@no-such-host.invalid/mcp?key=pass-word",
	} {
		r := start(t, Config{URL: ports.Secret(url), Timeout: 5 * time.Second})
		state := r.awaitPhase(ports.PhaseDegraded, 0)
		if !strings.Contains(state.Err, says) || strings.Contains(state.Err, "pass-word") {
			t.Errorf("the state says %q, want %q in it and no password", state.Err, says)
		}
		r.end()
	}
}

// TestHeadersGoToTheServer: the config's, and those that MCP asks for.
func TestHeadersGoToTheServer(t *testing.T) {
	p := newHTTPPeer(t, "good")
	cfg := p.config()
	cfg.Headers = map[string]ports.Secret{"Authorization": "Bearer " + token, "x-team": "7"}
	r := start(t, cfg).ready()
	r.wantEcho("one")
	p.listened()
	r.end()
	eventually(t, "the server takes the end of the session", func() bool { _, deleted := p.counts(); return deleted > 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen) < 7 { // server/discover, initialize, initialized, GET, tools/list, tools/call, DELETE
		t.Fatalf("%d requests", len(p.seen))
	}
	for i, h := range p.seen {
		if h.Get("Authorization") != "Bearer "+token || h.Get("X-Team") != "7" {
			t.Errorf("request %d has the headers %v", i, h)
		}
		want := map[string]string{"Mcp-Session-Id": "session-1", "Mcp-Protocol-Version": "2025-06-18"}
		switch i {
		case 0: // the probe
			want = map[string]string{"Mcp-Session-Id": "", "Mcp-Protocol-Version": newestModern}
		case 1: // initialize
			want = map[string]string{"Mcp-Session-Id": "", "Mcp-Protocol-Version": ""}
		}
		for name, value := range want {
			if got := h.Get(name); got != value {
				t.Errorf("request %d has %s %q, want %q", i, name, got, value)
			}
		}
	}
	if p.deleted != 1 {
		t.Errorf("the session was ended %d times", p.deleted)
	}
}

func TestRedirectsOnTheSameOriginAreFollowed(t *testing.T) {
	p := newHTTPPeer(t, "good")
	p.odd = func(w http.ResponseWriter, r *http.Request, _ incoming) bool {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	start(t, p.config()).ready().wantEcho("through the redirection")
}

func TestRedirectsElsewhereAreNotFollowed(t *testing.T) {
	strangers := make(chan string, 10)
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { strangers <- r.Header.Get("Authorization") }))
	defer stranger.Close()
	p := newHTTPPeer(t, "good")
	cfg := p.config()
	cfg.Headers = map[string]ports.Secret{"Authorization": "Bearer " + token}
	r := start(t, cfg).ready()
	for _, status := range []int{301, 302, 303, 307, 308} {
		p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
			if m.Method == "tools/call" {
				http.Redirect(w, r, stranger.URL, status)
			}
			return m.Method == "tools/call"
		})
		_, err := r.call(t.Context(), "echo", `{}`)
		wantKind(t, err, ports.KindProtocol, "redirects to "+stranger.URL)
	}
	select {
	case got := <-strangers:
		t.Errorf("another origin was asked, with %q", got)
	default:
	}
}

// TestSessionIsEndedWithoutDelay: a server that does not answer to the goodbye
// holds up nobody.
func TestSessionIsEndedWithoutDelay(t *testing.T) {
	p := newHTTPPeer(t, "good")
	p.odd = func(_ http.ResponseWriter, r *http.Request, _ incoming) bool {
		if r.Method == http.MethodDelete {
			<-r.Context().Done()
			return true
		}
		return false
	}
	r := start(t, p.config()).ready()
	begun := time.Now()
	r.end()
	if took := time.Since(begun); took > byeWithin+20*time.Second {
		t.Errorf("the end took %s", took)
	}
}

func TestLoginIsAskedFor(t *testing.T) {
	s := httptest.NewServer(answers(401, "", ""))
	t.Cleanup(s.Close)
	r := start(t, Config{URL: ports.Secret(s.URL)})
	want := `the server wants a login (401 Unauthorized): set a token in headers, as "Authorization": "Bearer …"`
	if state := r.awaitPhase(ports.PhaseDegraded, 0); state.Err != want {
		t.Errorf("the state says %q, want %q", state.Err, want)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "0": 0, "30": 30 * time.Second, " 7 ": 7 * time.Second, "99999999999": 0, "86400": longestWait,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q is %s, want %s", value, got, want)
		}
	}
}
