//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"dragoman/ports"
)

// modernServer is what a link in the modern era talks to: it notes what it is
// asked and lets a test answer.
type modernServer struct {
	*httptest.Server
	serve func(w http.ResponseWriter, r *http.Request, m message)

	mu   sync.Mutex
	seen []string // HTTP method and MCP method
	head []http.Header
}

func newModernServer(t *testing.T, serve func(http.ResponseWriter, *http.Request, message)) *modernServer {
	s := &modernServer{serve: serve}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *modernServer) Config() Config { return Config{Transport: overHTTP, URL: ports.Secret(s.URL)} }

func (s *modernServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	_ = json.NewDecoder(r.Body).Decode(&m)
	s.mu.Lock()
	s.seen = append(s.seen, r.Method+" "+m.Method)
	s.head = append(s.head, r.Header.Clone())
	s.mu.Unlock()
	w.Header().Set("Mcp-Session-Id", "unwanted")
	s.serve(w, r, m)
}

func (s *modernServer) requests() ([]string, []http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen, s.head
}

// startLink is a link to the server, in the modern era if a version is given.
func startLink(t *testing.T, cfg Config, version string, set ...func(*streamable)) *streamable {
	t.Helper()
	cfg, err := cfg.complete()
	if err != nil {
		t.Fatal(err)
	}
	h := newStreamable(cfg, slog.New(slog.DiscardHandler), nil)
	for _, one := range set {
		one(h)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	if version != "" {
		h.SetProtocolVersion(version)
	}
	return h
}

func askOver(ctx context.Context, h *streamable, id int, method string, header http.Header) (*transport.JSONRPCResponse, error) {
	return h.SendRequest(ctx, transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(int64(id)), Method: method, Header: header})
}

func answered(w http.ResponseWriter, m message) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
}

// TestModernLinkHasNoSession: no id of one, no stream of the server's own, no goodbye.
func TestModernLinkHasNoSession(t *testing.T) {
	s := newModernServer(t, func(w http.ResponseWriter, _ *http.Request, m message) { answered(w, m) })
	h := startLink(t, s.Config(), "")
	own := http.Header{"mcp-protocol-version": {"2026-07-28"}, "Mcp-Method": {"server/discover"}, "Mcp-Param-Odd": {""}}
	if _, err := askOver(t.Context(), h, 1, "server/discover", own); err != nil {
		t.Fatal(err)
	}
	h.SetProtocolVersion("2026-07-28")
	if _, err := askOver(t.Context(), h, 2, "tools/list", http.Header{"Mcp-Protocol-Version": {"2027-01-01"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := askOver(t.Context(), h, 3, "tools/list", nil); err != nil {
		t.Fatal(err)
	}
	h.Close()
	seen, head := s.requests()
	if got := strings.Join(seen, ", "); got != "POST server/discover, POST tools/list, POST tools/list" {
		t.Errorf("the server was asked %s", got)
	}
	for i, version := range []string{"2026-07-28", "2027-01-01", "2026-07-28"} {
		if id := head[i].Get("Mcp-Session-Id"); id != "" || fmt.Sprint(head[i].Values("Mcp-Protocol-Version")) != "["+version+"]" {
			t.Errorf("request %d has session %q and the version %v", i, id, head[i].Values("Mcp-Protocol-Version"))
		}
	}
	if head[0].Get("Mcp-Method") != "server/discover" || head[0].Values("Mcp-Param-Odd") == nil || head[1].Get("Mcp-Method") != "" {
		t.Errorf("the headers are %v and %v", head[0], head[1])
	}
}

// TestVersionIsNotNamedBeforeItIsSettled: a server refuses versions that it does not know.
func TestVersionIsNotNamedBeforeItIsSettled(t *testing.T) {
	s := newModernServer(t, func(w http.ResponseWriter, _ *http.Request, m message) { answered(w, m) })
	if _, err := askOver(t.Context(), startLink(t, s.Config(), ""), 1, "initialize", nil); err != nil {
		t.Fatal(err)
	}
	if _, head := s.requests(); head[0].Values("Mcp-Protocol-Version") != nil {
		t.Errorf("the headers are %v", head[0])
	}
}

// TestModernRequestIsCancelledByItsStream: also before the server began to answer.
func TestModernRequestIsCancelledByItsStream(t *testing.T) {
	for _, begin := range []bool{false, true} {
		gone, begun := make(chan struct{}), make(chan struct{})
		s := newModernServer(t, func(w http.ResponseWriter, r *http.Request, _ message) {
			if begin {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, ": begun\n\n")
				w.(http.Flusher).Flush()
			}
			close(begun)
			<-r.Context().Done()
			close(gone)
		})
		h := startLink(t, s.Config(), "2026-07-28")
		ctx, cancel := context.WithCancel(t.Context())
		gave := make(chan error, 1)
		go func() { _, err := askOver(ctx, h, 1, "tools/call", nil); gave <- err }()
		<-begun
		cancel()
		if err := <-gave; !errors.Is(err, context.Canceled) {
			t.Errorf("the request gives %v", err)
		}
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Error("the server did not see it")
		}
		if seen, _ := s.requests(); len(seen) != 1 {
			t.Errorf("the server was asked %v", seen)
		}
	}
}

// TestModernStreamIsNotTakenUpAgain: though its events have ids, and one of them
// is empty. The server may have run what was asked.
func TestModernStreamIsNotTakenUpAgain(t *testing.T) {
	s := newModernServer(t, answerStream("id: e1\nretry: 1\ndata:\n\n"))
	_, err := askOver(t.Context(), startLink(t, s.Config(), "2026-07-28"), 1, "tools/call", nil)
	wantKind(t, wrapCall("tools/call", err), ports.KindUnsure, "ended the stream before the answer")
	if seen, _ := s.requests(); len(seen) != 1 {
		t.Errorf("the server was asked %v", seen)
	}
}

func answerStream(text string) func(http.ResponseWriter, *http.Request, message) {
	return func(w http.ResponseWriter, _ *http.Request, m message) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.ReplaceAll(text, "{id}", string(m.ID)))
	}
}

// TestModernServerMayNotAsk: what it asks is not served, and does not harm the answer.
func TestModernServerMayNotAsk(t *testing.T) {
	s := newModernServer(t, answerStream("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}\n\n"))
	asked := false
	h := startLink(t, s.Config(), "2026-07-28", func(h *streamable) {
		h.SetRequestHandler(func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			asked = true
			return &transport.JSONRPCResponse{}, nil
		})
	})
	if _, err := askOver(t.Context(), h, 1, "tools/call", nil); err != nil {
		t.Error(err)
	}
	h.Close()
	if seen, _ := s.requests(); asked || len(seen) != 1 {
		t.Errorf("asked is %v, and the server saw %v", asked, seen)
	}
}

// TestListeningRequestIsBoundedByRate: its stream brings news, and nothing ends
// it but a flood.
func TestListeningRequestIsBoundedByRate(t *testing.T) {
	const news = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
	for name, test := range map[string]struct {
		begin, flood string
	}{
		"news":     {strings.Repeat(news, floodLines/4), news},
		"comments": {strings.Repeat(": x\n\n", floodLines/4), ": x\n\n"},
		"wide":     {strings.Repeat(": x\n\n", 10), ": " + strings.Repeat("x", 60<<10) + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			go1 := make(chan struct{})
			s := newModernServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if m.Method != methodListen {
					answered(w, m)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, test.begin+news)
				w.(http.Flusher).Flush()
				<-go1
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, test.flood); err != nil {
						return
					}
				}
			})
			var heard atomic.Int64
			h := startLink(t, s.Config(), "2026-07-28", func(h *streamable) {
				h.SetNotificationHandler(func(mcp.JSONRPCNotification) { heard.Add(1) })
			})
			gave := make(chan error, 1)
			go func() { _, err := askOver(t.Context(), h, 1, methodListen, nil); gave <- err }()
			eventually(t, "the news are heard", func() bool { return heard.Load() == int64(strings.Count(test.begin+news, news)) })
			if h.listening.Load() != 1 {
				t.Error("an open stream does not count")
			}
			close(go1)
			wantKind(t, wrap("listen", <-gave), ports.KindProtocol, "that are no messages")
			if _, err := askOver(t.Context(), h, 2, "tools/list", nil); err != nil || h.listening.Load() != 0 {
				t.Errorf("beside it: %v", err)
			}
		})
	}
}

// TestListeningRequestLivesForDays: what it brings is not added up.
func TestListeningRequestLivesForDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, err := Config{URL: "http://unused.example"}.complete()
		if err != nil {
			t.Fatal(err)
		}
		x := &exchange{streamable: newStreamable(cfg, slog.New(slog.DiscardHandler), nil), id: 1, method: methodListen}
		r, w := io.Pipe()
		go func() {
			const news = ": still here\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
			for range 10 {
				io.WriteString(w, strings.Repeat(news, floodLines/4))
				time.Sleep(24 * time.Hour)
			}
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		}()
		if answer, err := x.follow(t.Context(), r, new(cursor)); answer == nil || err != nil {
			t.Errorf("the stream ends with %v, %v", answer, err)
		}
	})
}

// TestRefusalsTellTheEras: what the session needs to know an old server by.
func TestRefusalsTellTheEras(t *testing.T) {
	const unsupported = `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`
	for name, test := range map[string]struct {
		status      int
		media, body string
		want        error
	}{
		"a modern server":  {400, "application/json", unsupported, &answerError{code: -32022, message: "no", data: json.RawMessage(`{"supported":["2026-07-28"]}`)}},
		"in 200":           {200, "application/json", unsupported, nil},
		"no such method":   {404, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, &answerError{code: -32601, message: "no"}},
		"no session":       {400, "text/plain", "Missing session ID", &refusedError{status: 400, what: "the server answers 400 Bad Request: Missing session ID"}},
		"no path":          {404, "text/html", "<html>", &refusedError{status: 404}},
		"no POST":          {405, "", "", &refusedError{status: 405}},
		"unacceptable":     {406, "", "", &refusedError{status: 406}},
		"no words of ours": {422, "application/json", `{"detail":[]}`, &refusedError{status: 422}},
		"a login":          {401, "application/json", unsupported, &unauthorizedError{status: 401}},
		"no access":        {403, "application/json", unsupported, &unauthorizedError{status: 403}},
		"busy":             {429, "", "", &lostError{after: time.Second, status: 429}},
		"broken":           {500, "text/plain", "oh", &lostError{sent: true, status: 500}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newModernServer(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				answers(test.status, test.media, test.body)(w, r)
			})
			a, err := askOver(t.Context(), startLink(t, s.Config(), ""), 1, "server/discover", nil)
			if test.want == nil {
				if err == nil {
					err = newAnswerError(a.Error)
				}
				test.want = &answerError{code: -32022, message: "no", data: json.RawMessage(`{"supported":["2026-07-28"]}`)}
			}
			if got, want := shape(err), shape(test.want); got != want {
				t.Errorf("the error is %s, want %s", got, want)
			}
		})
	}
}

// shape is what a session looks at in an error.
func shape(err error) string {
	switch e := err.(type) {
	case *answerError:
		return fmt.Sprintf("answer %d %s %s", e.code, e.message, e.data)
	case *refusedError:
		return fmt.Sprintf("refused %d", e.status)
	case *unauthorizedError:
		return fmt.Sprintf("login %d", e.status)
	case *lostError:
		return fmt.Sprintf("lost %d %v %s", e.status, e.sent, e.after)
	}
	return fmt.Sprintf("%T %v", err, err)
}

// TestPulseIsFeltWhenThereIsDoubt: by whatever means the session has for it.
func TestPulseIsFeltWhenThereIsDoubt(t *testing.T) {
	for name, test := range map[string]struct {
		pulse error
		lost  bool
	}{
		"alive":         {nil, false},
		"it answers":    {&answerError{code: -32601}, false},
		"it is busy":    {&lostError{after: time.Minute}, false},
		"slow":          {context.DeadlineExceeded, false},
		"gone":          {&lostError{reason: "gone"}, true},
		"another login": {&unauthorizedError{status: 401}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newModernServer(t, func(w http.ResponseWriter, r *http.Request, _ message) { answers(502, "", "")(w, r) })
			felt := make(chan struct{}, 10)
			h := startLink(t, s.Config(), "2026-07-28", func(h *streamable) {
				h.SetPulse(func(context.Context) error { felt <- struct{}{}; return test.pulse })
			})
			_, err := askOver(t.Context(), h, 1, "tools/call", nil)
			wantKind(t, wrapCall("tools/call", err), ports.KindUnsure, "502")
			select {
			case <-felt:
			case <-time.After(10 * time.Second):
				t.Fatal("nobody looked for the server")
			}
			if !test.lost {
				h.Close() // waits for whoever looked
				if h.Err().Error() != "the connection was closed" {
					t.Errorf("the connection was lost: %v", h.Err())
				}
				return
			}
			select {
			case <-h.Lost():
			case <-time.After(10 * time.Second):
				t.Error("the connection is kept")
			}
		})
	}
}
