package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
	"dragoman/tests/modeltest"
)

const testKey = "sk-ant-test-0123456789abcdef"

// peer is a messages server that is as strict as the real one about what it is
// asked, and behaves as it is told.
type peer struct {
	*httptest.Server

	mu      sync.Mutex
	act     modeltest.Act
	raw     http.HandlerFunc // instead of act
	seen    modeltest.Seen
	refused []string // what it found wrong in requests
}

func newPeer(t testing.TB) *peer {
	t.Helper()
	p := &peer{}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

// script is modeltest.Harness.Script.
func (p *peer) script(_ context.Context, a modeltest.Act) error {
	for _, c := range a.Calls {
		if c.State != nil {
			return fmt.Errorf("this wire adds nothing to a call: %w", errors.ErrUnsupported)
		}
	}
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
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	fault := checkRequest(r, body)
	p.mu.Lock()
	p.seen.Requests++
	p.seen.Body, p.seen.Tools = body, toolNames(body)
	act, raw := p.act, p.raw
	if fault != nil {
		p.refused = append(p.refused, fault.Error())
	}
	p.mu.Unlock()
	switch {
	case fault != nil:
		refuse(w, http.StatusBadRequest, "invalid_request_error", fault.Error())
	case raw != nil:
		r.Body = io.NopCloser(bytes.NewReader(body))
		raw(w, r)
	case act.Do == modeltest.BadTool:
		refuse(w, http.StatusBadRequest, "invalid_request_error",
			fmt.Sprintf("tools.%d.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12.", slices.Index(toolNames(body), act.Tool)))
	default:
		perform(w, r, act)
	}
}

func toolNames(body []byte) []string {
	var request struct{ Tools []struct{ Name string } }
	_ = json.Unmarshal(body, &request) // it was checked
	var names []string
	for _, t := range request.Tools {
		names = append(names, t.Name)
	}
	return names
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
}

func testConfig(base string) Config {
	return Config{BaseURL: base, APIKey: testKey, Model: "claude-test", Limits: wire.Limits{
		ContextTokens: 200000, MaxOutputTokens: 4096, Timeout: time.Minute, IdleTimeout: 20 * time.Second, MaxConcurrency: 64}}
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

// sse writes server-sent events, each at once.
type sse struct{ w http.ResponseWriter }

func newSSE(w http.ResponseWriter) sse {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	return sse{w}
}

// frame writes an event under the name that its type tells, as the API does.
func (s sse) frame(data string) {
	var ev struct{ Type string }
	if json.Unmarshal([]byte(data), &ev) == nil && ev.Type != "" {
		fmt.Fprintf(s.w, "event: %s\n", ev.Type)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	s.w.(http.Flusher).Flush()
}

func (s sse) json(v map[string]any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s.frame(string(raw))
}

func (s sse) start(index int, block map[string]any) {
	s.json(map[string]any{"type": "content_block_start", "index": index, "content_block": block})
}

func (s sse) delta(index int, kind, field, value string) {
	s.json(map[string]any{"type": "content_block_delta", "index": index, "delta": map[string]any{"type": kind, field: value}})
}

func (s sse) stop(index int) {
	s.json(map[string]any{"type": "content_block_stop", "index": index})
}

// pieces cuts a text behind each blank, and so within words of JSON.
func pieces(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}
