//go:build unix

package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/ports"
)

// onCall is an oddity of the calls alone.
func onCall(do http.HandlerFunc) func(http.ResponseWriter, *http.Request, incoming) bool {
	return func(w http.ResponseWriter, r *http.Request, m incoming) bool {
		if m.Method == "tools/call" {
			do(w, r)
		}
		return m.Method == "tools/call"
	}
}

// TestSessionLossIsMended: in whatever form a server says that it forgot the
// session, the call that heard it is run, once, in the next one.
func TestSessionLossIsMended(t *testing.T) {
	for name, refuse := range map[string]http.HandlerFunc{
		"404":           answers(404, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`),
		"404, no words": answers(404, "", ""),
		"400":           answers(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`),
		"400, text":     answers(400, "text/plain", "Invalid session ID"),
		"400, new":      answers(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`),
		"410":           answers(410, "text/html", "<html>"),
		"-32001":        answers(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`),
		"-32001 in 409": answers(409, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`),
		"-32600":        answers(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session terminated"}}`),
	} {
		for _, deaf := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, deaf %v", name, deaf), func(t *testing.T) {
				p := newHTTPPeer(t, "good")
				p.deaf = deaf
				r := start(t, p.config()).ready()
				p.listened()
				p.swap(func(w http.ResponseWriter, r *http.Request, m incoming) bool {
					if r.Header.Get("Mcp-Session-Id") != "session-1" {
						return false
					}
					refuse(w, r)
					return true
				})
				r.wantEcho("once")
				begun, _ := p.counts()
				if calls, _ := p.ran(); calls != 1 || begun != 2 {
					t.Errorf("the call was run %d times in %d sessions", calls, begun)
				}
				if s := r.awaitPhase(ports.PhaseDegraded, 0); !strings.Contains(s.Err, "no longer knows the session") {
					t.Errorf("the state says %q", s.Err)
				}
				if s := r.await("ready again", 0, func(s ports.State) bool { return s.Phase == ports.PhaseReady && s.Restarts > 0 }); s.Restarts != 1 {
					t.Errorf("the state is %+v", s)
				}
			})
		}
	}
}

// TestToolsOwnSession: a tool that misses a session of its own is heard, and
// not taken for a server that forgot ours.
func TestToolsOwnSession(t *testing.T) {
	p := newHTTPPeer(t, "good")
	r := start(t, p.config()).ready()
	_, err := r.call(t.Context(), "refuse", `{"code":-32600,"message":"Browser session not found"}`)
	wantKind(t, err, ports.KindProtocol, "Browser session not found")
	if calls, _ := p.ran(); calls != 1 || r.last().Restarts != 0 {
		t.Errorf("it was run %d times, and the state is %+v", calls, r.last())
	}
	for name, test := range map[string]struct {
		refuse http.HandlerFunc
		kind   ports.Kind
	}{
		"400":          {answers(400, "text/plain", "Browser session not found"), ports.KindProtocol},
		"404":          {answers(404, "text/plain", "Browser session not found"), ports.KindProtocol},
		"400 and code": {answers(400, "application/json", `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Browser session not found"}}`), ports.KindInvalid},
		"-32001":       {answers(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Browser session not found"}}`), ports.KindProtocol},
		"404, method":  {answers(404, "application/json", `{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Browser session not found"}}`), ports.KindNotFound},
	} {
		var had atomic.Int64
		p.swap(onCall(func(w http.ResponseWriter, r *http.Request) { had.Add(1); test.refuse(w, r) }))
		_, err := r.call(t.Context(), "echo", `{}`)
		wantKind(t, err, test.kind, "Browser session not found")
		if n := had.Load(); n != 1 || r.last().Restarts != 0 {
			t.Errorf("%s: it was sent %d times, and the state is %+v", name, n, r.last())
		}
	}
}

// TestSessionLostAgainAndAgain: a call is tried twice at most.
func TestSessionLostAgainAndAgain(t *testing.T) {
	p := newHTTPPeer(t, "good")
	var refused atomic.Int64
	p.odd = func(w http.ResponseWriter, r *http.Request, m incoming) bool {
		switch m.Method {
		case "tools/call":
			refused.Add(1)
		case "ping":
		default:
			return false
		}
		answers(404, "", "")(w, r)
		return true
	}
	r := start(t, p.config()).ready()
	_, err := r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindUnavailable, "no longer knows the session")
	if n := refused.Load(); n != 2 {
		t.Errorf("it was sent %d times", n)
	}
}

// TestCallThatMayHaveRunIsNotRepeated: whatever cuts a call off that the server
// had, it is KindUnsure and was sent once.
func TestCallThatMayHaveRunIsNotRepeated(t *testing.T) {
	cut := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		says  string
	}{
		"hung up":         {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed the connection"},
		"502":             {answers(502, "text/html", "<html>"), "answers 502 Bad Gateway"},
		"503":             {answers(503, "text/plain", "upstream reset"), "answers 503 Service Unavailable: upstream reset"},
		"504":             {answers(504, "", ""), "answers 504 Gateway Timeout"},
		"cut stream":      {cut("data: {\"jsonrpc\":\"2.0\",\"id\":"), "ended the stream before the answer"},
		"ended stream":    {answers(200, "text/event-stream", ": nothing\n\n"), "ended the stream before the answer"},
		"half the answer": {answers(200, "application/json", `{"jsonrpc"`, "Content-Length: 100"), "closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newHTTPPeer(t, "good")
			r := start(t, p.config()).ready()
			var had atomic.Int64
			p.swap(onCall(func(w http.ResponseWriter, r *http.Request) { had.Add(1); test.serve(w, r) }))
			_, err := r.call(t.Context(), "echo", `{}`)
			wantKind(t, err, ports.KindUnsure, test.says)
			if n := had.Load(); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
			p.swap(nil)
			r.wantEcho("after it") // the server is there: the connection is kept
			if s := r.last(); s.Restarts != 0 {
				t.Errorf("the state is %+v", s)
			}
		})
	}
}

// TestCallOfADyingServerIsNotRepeated: not in the next session either.
func TestCallOfADyingServerIsNotRepeated(t *testing.T) {
	p := newHTTPPeer(t, "good")
	r := start(t, p.config()).ready()
	var had atomic.Int64
	p.swap(onCall(func(http.ResponseWriter, *http.Request) {
		had.Add(1)
		p.forget()
		panic(http.ErrAbortHandler)
	}))
	_, err := r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindUnsure, "closed the connection")
	r.await("ready again", 0, func(s ports.State) bool { return s.Phase == ports.PhaseReady && s.Restarts > 0 })
	if n := had.Load(); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

func TestDeadHTTPServer(t *testing.T) {
	p := newHTTPPeer(t, "good")
	p.deaf = true
	r := start(t, p.config()).ready()
	p.down()
	eventually(t, "calls are not sent", func() bool { // the first may go down a connection whose end was not seen yet
		_, err := r.call(t.Context(), "echo", `{}`)
		return ports.IsKind(err, ports.KindUnavailable)
	})
	s := r.await("degraded, as it cannot be reached", 0, func(s ports.State) bool { // nor can the connection that it had, for a moment
		return s.Phase == ports.PhaseDegraded && strings.Contains(s.Err, "cannot be reached")
	})
	if s.RetryIn <= 0 || len(r.names()) == 0 {
		t.Errorf("%d tools and the state %+v", len(r.names()), s)
	}
	from := r.told()
	p.up()
	r.awaitPhase(ports.PhaseReady, from)
	r.wantEcho("again")
}

// TestBusyServerIsLeftAlone: calls fail without being sent until the time is over.
func TestBusyServerIsLeftAlone(t *testing.T) {
	for _, status := range []int{429, 503} {
		p := newHTTPPeer(t, "good")
		r := start(t, p.config()).ready()
		p.swap(onCall(answers(status, "", "", "Retry-After: 4")))
		_, err := r.call(t.Context(), "echo", `{}`)
		wantKind(t, err, ports.KindUnavailable, "asks to wait 4s")
		if after := ports.RetryAfter(err); after != 4*time.Second {
			t.Errorf("RetryAfter is %s", after)
		}
		p.swap(nil)
		_, before := p.ran()
		_, err = r.call(t.Context(), "echo", `{}`)
		wantKind(t, err, ports.KindUnavailable, "asked to wait")
		if _, after := p.ran(); after != before {
			t.Error("a call was sent to a server that wants to be left alone")
		}
		eventually(t, "it is asked again", func() bool { _, err := r.call(t.Context(), "echo", `{}`); return err == nil })
	}
}

// TestHugeHTTPResult: a result of 300 MiB in any form costs one call and no more
// memory than the limit allows.
func TestHugeHTTPResult(t *testing.T) {
	const size = 300 << 20
	pour := func(w io.Writer, begin, end string) {
		io.WriteString(w, begin)
		chunk := []byte(strings.Repeat("x", 1<<20))
		for range size >> 20 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
		io.WriteString(w, end)
	}
	const begin, end = `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"`, `"}]}}`
	for name, serve := range map[string]http.HandlerFunc{
		"json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			pour(w, begin, end)
		},
		"json of a known length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", fmt.Sprint(len(begin)+size+len(end)))
			pour(w, begin, end)
		},
		"event": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			pour(w, "data: "+begin, end+"\n\n")
		},
		"event in lines": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			line := "data: " + strings.Repeat("x", 1<<20) + "\n"
			for range size >> 20 {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		},
		"comment": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			pour(w, ": ", "\n\n")
		},
		"refusal": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			pour(w, "", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newHTTPPeer(t, "good")
			r := start(t, p.config()).ready()
			p.swap(onCall(serve))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := r.call(t.Context(), "say", `{}`)
			runtime.ReadMemStats(&after)
			if name == "refusal" {
				wantKind(t, err, ports.KindProtocol, "the server answers 409 Conflict: xxx")
			} else {
				wantKind(t, err, ports.KindTooLarge, "more than 16777216 bytes (max_message_bytes)")
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 16*defaultMaxMessageBytes {
				t.Errorf("%d MiB were allocated in all for a limit of 16 MiB", grown>>20)
			}
			p.swap(nil)
			r.wantEcho("after it")
			if s := r.last(); s.Restarts != 0 || s.Phase != ports.PhaseReady {
				t.Errorf("the state is %+v", s)
			}
		})
	}
}

func TestHTTPCallIsCancelledAtTheServer(t *testing.T) {
	for _, stream := range []bool{false, true} {
		p := newHTTPPeer(t, "good")
		p.stream = stream
		r := start(t, p.config()).ready()
		ctx, cancel := context.WithCancel(t.Context())
		gave := make(chan error, 1)
		go func() {
			_, err := r.tool("slow").Call(ctx, ports.ToolCall{}, nil)
			gave <- err
		}()
		eventually(t, "the call is running", func() bool { calls, _ := p.ran(); return calls == 1 })
		cancel()
		wantKind(t, <-gave, ports.KindCancelled, "canceled")
		eventually(t, "the server heard of it", func() bool { return r.ask("cancelled") != "" })
	}
}

// TestManyHTTPCallsAtOnce: over two streams of calls and a restart in the middle,
// no result goes to another call, and none is run twice.
func TestManyHTTPCallsAtOnce(t *testing.T) {
	p := newHTTPPeer(t, "good")
	p.stream = true
	r := start(t, p.config()).ready()
	var wg sync.WaitGroup
	var fine atomic.Int64
	for worker := range 8 {
		wg.Go(func() {
			for n := range 40 {
				text := fmt.Sprintf("worker %d call %d", worker, n)
				result, err := r.call(t.Context(), "echo", `{"text":"`+text+`"}`)
				switch {
				case err == nil && wantText(result, text) == nil:
					fine.Add(1)
				case err == nil:
					t.Errorf("%s gives %+v", text, result)
				case !ports.IsKind(err, ports.KindUnsure) && !ports.IsKind(err, ports.KindUnavailable):
					t.Errorf("%s gives %v", text, err)
				}
				if worker == 0 && n == 20 {
					if err := p.restart(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if fine.Load() == 0 {
		t.Error("no call went well")
	}
	r.awaitPhase(ports.PhaseReady, 1)
	eventually(t, "it works again", func() bool { _, err := r.call(t.Context(), "echo", `{}`); return err == nil })
}
