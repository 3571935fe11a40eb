package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/adapters/internal/modelcard"
	"dragoman/adapters/internal/wire"
	"dragoman/ports"
	"dragoman/tests/modeltest"
)

const testKey = "sk-test-0123456789abcdef"

// peer is a server of both wires that behaves as it is told, badly included.
type peer struct {
	*httptest.Server

	mu   sync.Mutex
	act  modeltest.Act
	raw  http.HandlerFunc // instead of act
	seen modeltest.Seen
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

// script is modeltest.Harness.Script.
func (p *peer) script(_ context.Context, a modeltest.Act) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.act, p.raw, p.seen = a, nil, modeltest.Seen{}
	return nil
}

// answer has the peer run a handler of the test's own.
func (p *peer) answer(h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.raw, p.seen = h, modeltest.Seen{}
}

// says has the peer answer with these frames, each as it is.
func (p *peer) says(frames ...string) {
	p.answer(func(w http.ResponseWriter, _ *http.Request) {
		s := newSSE(w)
		for _, f := range frames {
			s.frame(f)
		}
	})
}

func (p *peer) got(context.Context) (modeltest.Seen, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen, nil
}

func (p *peer) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/responses" {
		p.serveResponses(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var request struct {
		Stream   bool
		Messages []json.RawMessage
		Tools    []struct{ Function struct{ Name string } }
	}
	if json.Unmarshal(body, &request) != nil || !request.Stream || len(request.Messages) == 0 || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, `{"error":{"message":"this peer takes streamed chat completions at /v1/chat/completions","type":"test_bug"}}`, http.StatusTeapot)
		return
	}
	p.mu.Lock()
	p.seen.Requests++
	p.seen.Body, p.seen.Tools = body, nil
	for _, t := range request.Tools {
		p.seen.Tools = append(p.seen.Tools, t.Function.Name)
	}
	act, raw := p.act, p.raw
	p.mu.Unlock()
	if raw != nil {
		raw(w, r)
		return
	}
	if act.Do == modeltest.BadTool {
		for i, t := range request.Tools {
			if t.Function.Name == act.Tool {
				refuse(w, 400, "invalid_request_error", "invalid_function_parameters", fmt.Sprintf("Invalid 'tools[%d].function.parameters': not a schema.", i))
			}
		}
		return
	}
	if !fails(w, r, act) {
		stream(w, r, act)
	}
}

func refuse(w http.ResponseWriter, status int, kind, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":%q,"code":%q,"param":null}}`, message, kind, code)
}

// fails plays the acts that end before any stream begins; false for the others.
func fails(w http.ResponseWriter, r *http.Request, a modeltest.Act) bool {
	key := r.Header.Get("Authorization")
	switch a.Do {
	case modeltest.RateLimit:
		w.Header().Set("Retry-After", strconv.Itoa(int(a.Wait.Seconds())))
		refuse(w, 429, "requests", "rate_limit_exceeded", "slow down, "+key)
	case modeltest.ServerError:
		refuse(w, 500, "server_error", "", "sorry, "+key)
	case modeltest.Overloaded:
		refuse(w, 529, "overloaded_error", "", "busy")
	case modeltest.Unauthorized:
		refuse(w, 401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: "+key)
	case modeltest.NotFound:
		refuse(w, 404, "invalid_request_error", "model_not_found", "no such model")
	case modeltest.Invalid:
		refuse(w, 400, "invalid_request_error", "", "bad request with "+key)
	case modeltest.TooLarge:
		refuse(w, 400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8 tokens.")
	case modeltest.HTML, modeltest.HTMLError:
		w.Header().Set("Content-Type", "text/html")
		if a.Do == modeltest.HTMLError {
			w.WriteHeader(502)
		}
		fmt.Fprintf(w, "<!doctype html>\n<html><title>Sign in</title>%s\n</html>\n", key)
	case modeltest.JSON:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"x","object":"chat.completion","choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, key)
	case modeltest.Hang:
		<-r.Context().Done()
	default:
		return false
	}
	return true
}

// stream plays the acts that begin as a stream.
func stream(w http.ResponseWriter, r *http.Request, a modeltest.Act) {
	s := newSSE(w)
	if a.Do == modeltest.Empty {
		s.frame("[DONE]")
		return
	}
	s.delta(map[string]any{"role": "assistant", "content": ""})
	if a.State != "" { // in two pieces, as reasoning comes
		s.delta(map[string]any{"reasoning_content": a.State[:3]})
		s.delta(map[string]any{"reasoning_content": a.State[3:]})
	}
	for _, piece := range pieces(a.Text) {
		s.delta(map[string]any{"content": piece})
	}
	for i, c := range a.Calls {
		s.call(a.Do, i, c)
	}
	finish := "stop"
	if len(a.Calls) > 0 {
		finish = "tool_calls"
	}
	switch a.Do {
	case modeltest.HangMid:
		<-r.Context().Done()
		return
	case modeltest.Cut:
		panic(http.ErrAbortHandler)
	case modeltest.Unmarked:
		return
	case modeltest.BadFrame:
		s.frame(`{"choices":[{"delta":{"content":"`)
		s.finish("stop", a.Usage)
		return
	case modeltest.ErrorFrame:
		s.frame(`{"error":{"message":"busy ` + r.Header.Get("Authorization") + `","type":"overloaded_error"}}`)
		return
	case modeltest.LimitFrame:
		s.frame(`{"error":{"message":"slow down","code":429}}`)
		return
	case modeltest.Length:
		finish = "length"
	case modeltest.Filtered:
		finish = "content_filter"
	}
	s.finish(finish, a.Usage)
}

// sse writes server-sent events, each at once.
type sse struct{ w http.ResponseWriter }

func newSSE(w http.ResponseWriter) sse {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	return sse{w}
}

func (s sse) frame(data string) {
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	s.w.(http.Flusher).Flush()
}

func (s sse) delta(delta map[string]any) { s.choice(delta, nil) }

func (s sse) choice(delta map[string]any, finish any) {
	s.json(map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (s sse) json(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s.frame(string(raw))
}

// call streams one tool call, its arguments in pieces.
func (s sse) call(do modeltest.Do, index int, c ports.Call) {
	id, args := oddCall(do, index, c)
	first := map[string]any{"index": index, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}
	if id != "" {
		first["id"] = id
	}
	var extra map[string]any
	if json.Unmarshal(c.State, &extra) == nil {
		for k, v := range extra {
			first[k] = v
		}
	}
	s.delta(map[string]any{"tool_calls": []any{first}})
	for _, piece := range pieces(args) {
		s.delta(map[string]any{"tool_calls": []any{map[string]any{"index": index, "function": map[string]any{"arguments": piece}}}})
	}
}

// oddCall is a call's id and arguments as the act wants them.
func oddCall(do modeltest.Do, index int, c ports.Call) (id, args string) {
	id, args = c.ID, string(c.Arguments)
	switch {
	case do == modeltest.MissingIDs:
		id = ""
	case do == modeltest.DoubledIDs:
		id = "call_same"
	case do == modeltest.BadArguments && index == 0:
		args = `{"path": "a`
	case do == modeltest.NoArguments && index == 0:
		args = ""
	}
	return id, args
}

func (s sse) finish(reason string, u ports.Tokens) {
	s.choice(map[string]any{}, reason)
	if u != (ports.Tokens{}) {
		s.json(map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": u.Input, "completion_tokens": u.Output,
			"total_tokens": u.Input + u.Output, "prompt_tokens_details": map[string]any{"cached_tokens": u.CachedInput, "cache_write_tokens": u.CacheWrite}}})
	}
	s.frame("[DONE]")
}

// pieces cuts a text behind each blank, and so within words of JSON.
func pieces(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// testConfig is of a model that takes everything.
func testConfig(base string) Config {
	yes := true
	return Config{BaseURL: base, APIKey: testKey, Model: "test-1", API: "auto", Limits: wire.Limits{
		ContextTokens: 128000, MaxOutputTokens: 4096, Timeout: time.Minute, IdleTimeout: 20 * time.Second, MaxConcurrency: 64,
		Config: modelcard.Config{Images: &yes, Audio: &yes}}}
}

func testModel(t testing.TB, base string, change ...func(*Config)) *Model {
	t.Helper()
	cfg := testConfig(base)
	for _, c := range change {
		c(&cfg)
	}
	m, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hello() ports.ModelRequest {
	return ports.ModelRequest{Entries: []ports.Entry{{Role: ports.RoleUser, Text: "Hello!"}}}
}

// as finds an error of a type in a chain, or fails.
func as[E error](t *testing.T, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("no %T in %v", e, err)
	}
	return e
}
