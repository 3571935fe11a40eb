package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// badModel is a chat completions server that answers with whatever bytes a test
// wants, where aimock knows only a few faults. What the person said last chooses
// the act.
type badModel struct {
	URL string

	mu    sync.Mutex
	acts  map[string]act
	tries map[string]int // by what the person said last
	peek  func(prompt)
}

// act answers one request.
type act func(w http.ResponseWriter, r *http.Request, p prompt)

// prompt is what a request asks.
type prompt struct {
	Said    string   // the person's last message
	Results []string // of the tool calls since then
	Try     int      // how often this was asked since the person said it, from 1
	Bytes   int
	Users   []string // all that the prompt has of the person's
}

// modelKey must never be seen outside of the requests, innards not outside of the log.
const (
	modelKey = "sk-hostile-0123456789abcdef"
	innards  = "provider-innards-7731"
)

func startBadModel(t testing.TB) *badModel {
	t.Helper()
	m := &badModel{acts: map[string]act{}, tries: map[string]int{}}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.URL = s.URL + "/v1"
	return m
}

// On sets what is done for a message. One that no test named is answered with "Fine."
func (m *badModel) On(said string, a act) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acts[said] = a
}

// Peek has every prompt shown to a function, one at a time.
func (m *badModel) Peek(f func(prompt)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peek = f
}

// Tries is how often a message was asked about.
func (m *badModel) Tries(said string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tries[said]
}

func (m *badModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p, err := readPrompt(body)
	if err != nil || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, "this server takes streamed chat completions", http.StatusTeapot)
		return
	}
	m.mu.Lock()
	m.tries[p.Said]++
	p.Try = m.tries[p.Said]
	if m.peek != nil {
		m.peek(p)
	}
	a := m.acts[p.Said]
	m.mu.Unlock()
	if a == nil {
		a = says200("Fine.")
	}
	a(w, r, p)
}

func readPrompt(body []byte) (prompt, error) {
	var request struct {
		Stream   bool
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return prompt{}, err
	}
	if !request.Stream || len(request.Messages) == 0 {
		return prompt{}, fmt.Errorf("no stream, or no messages")
	}
	p := prompt{Bytes: len(body)}
	for _, m := range request.Messages {
		switch m.Role {
		case "user":
			p.Said, p.Results = m.Content, nil
			p.Users = append(p.Users, m.Content)
		case "tool":
			p.Results = append(p.Results, m.Content)
		}
	}
	return p, nil
}

// says200 answers in one piece, as it should be.
func says200(text string) act {
	return func(w http.ResponseWriter, _ *http.Request, _ prompt) { _, _ = w.Write(begin(w, wholeText(text))) }
}

// repeats answers with the results of the tools.
func repeats(w http.ResponseWriter, r *http.Request, p prompt) {
	says200("Got: "+strings.Join(p.Results, " | "))(w, r, p)
}

// callsFirst calls a tool with arguments as they are, JSON or not, and repeats
// its result.
func callsFirst(tool, arguments string) act {
	return func(w http.ResponseWriter, r *http.Request, p prompt) {
		if len(p.Results) > 0 {
			repeats(w, r, p)
			return
		}
		call := map[string]any{"index": 0, "id": "call_1", "type": "function", "function": map[string]any{"name": tool, "arguments": arguments}}
		_, _ = w.Write(begin(w, chunk(map[string]any{"tool_calls": []any{call}}, "")+chunk(map[string]any{}, "tool_calls")+"data: [DONE]\n\n"))
	}
}

// bare answers with a status, headers ("Name: value") and a body that quotes what
// nobody should see.
func bare(status int, body string, headers ...string) act {
	return func(w http.ResponseWriter, r *http.Request, _ prompt) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "$KEY", r.Header.Get("Authorization")+" "+innards))
	}
}

// cutAfter sends the first bytes of a recording, and then closes the connection,
// or ends the answer as if it were whole.
func cutAfter(recording []byte, n int, clean bool) act {
	return func(w http.ResponseWriter, _ *http.Request, _ prompt) {
		_, _ = w.Write(begin(w, string(recording[:n])))
		_ = http.NewResponseController(w).Flush()
		if !clean {
			panic(http.ErrAbortHandler)
		}
	}
}

// stalls sends a beginning and then nothing, or a comment at times, until its
// caller has had enough.
func stalls(beginning string, drip time.Duration) act {
	return func(w http.ResponseWriter, r *http.Request, _ prompt) {
		_, _ = w.Write(begin(w, beginning))
		_ = http.NewResponseController(w).Flush()
		var tick <-chan time.Time
		if drip > 0 {
			t := time.NewTicker(drip)
			defer t.Stop()
			tick = t.C
		}
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick:
				_, _ = io.WriteString(w, ": still thinking\n\n")
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

// pours sends a beginning and then the same piece until its caller leaves.
func pours(beginning, piece string) act {
	return func(w http.ResponseWriter, _ *http.Request, _ prompt) {
		_, err := w.Write(begin(w, beginning))
		for err == nil {
			_, err = io.WriteString(w, piece)
		}
	}
}

func begin(w http.ResponseWriter, text string) []byte {
	w.Header().Set("Content-Type", "text/event-stream")
	return []byte(text)
}

func wholeText(text string) string {
	return chunk(map[string]any{"role": "assistant", "content": text}, "") + chunk(map[string]any{}, "stop") + "data: [DONE]\n\n"
}

// chunk is one frame of a stream.
func chunk(delta map[string]any, finish string) string {
	choice := map[string]any{"index": 0, "delta": delta, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	b, err := json.Marshal(map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{choice}})
	if err != nil {
		panic(err) // plain maps always marshal
	}
	return "data: " + string(b) + "\n\n"
}
