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

// The wires that a model may be asked over, as the peer calls them.
const (
	wireChat      = "chat"
	wireResponses = "responses"
	wireMessages  = "messages"
)

var wires = []string{wireChat, wireResponses, wireMessages}

// wirePeer is a provider of models on all three wires. What it does with a request
// is chosen by the model's name.
type wirePeer struct {
	URL string

	mu    sync.Mutex
	plays map[string]deed
	asked map[string][]wireAsk
}

// deed answers one request.
type deed func(s *speech, a wireAsk)

// wireAsk is a request, as far as an answer may depend on it.
type wireAsk struct {
	At      time.Time
	Wire    string
	Key     string
	Model   string
	Said    string   // the person's last message
	Texts   int      // bytes of all messages
	Results []string // of the calls since the person's last message
	Tools   []string
	Try     int // how often this model was asked so far, from 1
	Bytes   int
}

func startWirePeer(t testing.TB) *wirePeer {
	t.Helper()
	p := &wirePeer{plays: map[string]deed{}, asked: map[string][]wireAsk{}}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// Play sets what a model does. One that no test named says its name and what it was told.
func (p *wirePeer) Play(model string, do deed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plays[model] = do
}

// Asked are the requests that a model got.
func (p *wirePeer) Asked(model string) []wireAsk {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]wireAsk(nil), p.asked[model]...)
}

// Entry is a model of the peer's in a config, with more keys; more begins with a comma.
func (p *wirePeer) Entry(name, wire, more string) string {
	return modelEntry(p.URL, name, wire, more)
}

func modelEntry(url, name, wire, more string) string {
	key := `"api_key": ` + quoted(modelKey) + `, "model": ` + quoted(name)
	if wire == wireMessages {
		return quoted(name) + `: {"type": "anthropic", "base_url": ` + quoted(url) + `, ` + key + more + `}`
	}
	return quoted(name) + `: {"type": "openai", "api": ` + quoted(wire) + `, "base_url": ` + quoted(url+"/v1") + `, ` + key + more + `}`
}

func (p *wirePeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a, err := readAsk(r, body)
	if err != nil {
		http.Error(w, "this peer does not take that: "+err.Error(), http.StatusTeapot)
		return
	}
	p.mu.Lock()
	a.Try = len(p.asked[a.Model]) + 1
	p.asked[a.Model] = append(p.asked[a.Model], a)
	do := p.plays[a.Model]
	p.mu.Unlock()
	if do == nil {
		do = func(s *speech, a wireAsk) { s.whole(a.Model + " heard: " + a.Said) }
	}
	do(&speech{w: w, r: r, wire: a.Wire, id: fmt.Sprintf("%s_%d", a.Model, a.Try), size: a.Bytes}, a)
}

// readAsk reads a request of any wire.
func readAsk(r *http.Request, body []byte) (wireAsk, error) {
	var q struct {
		Model    string
		Stream   bool
		Messages []wireMessage
		Input    []wireMessage
		Tools    []struct {
			Name     string
			Function struct{ Name string }
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return wireAsk{}, err
	}
	a := wireAsk{At: time.Now(), Model: q.Model, Key: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), Bytes: len(body)}
	switch r.URL.Path {
	case "/v1/chat/completions":
		a.Wire = wireChat
	case "/v1/responses":
		a.Wire = wireResponses
	case "/v1/messages":
		a.Wire, a.Key = wireMessages, r.Header.Get("X-Api-Key")
	}
	if a.Wire == "" || !q.Stream || q.Model == "" || len(q.Messages)+len(q.Input) == 0 || a.Key != modelKey {
		return a, fmt.Errorf("no path, stream, model, messages or key of a wire at %s", r.URL.Path)
	}
	for _, t := range q.Tools {
		a.Tools = append(a.Tools, t.Name+t.Function.Name)
	}
	for _, m := range append(q.Messages, q.Input...) {
		said, results, err := m.read()
		if err != nil {
			return a, err
		}
		a.Texts += len(said)
		for _, text := range results {
			a.Texts += len(text)
		}
		if m.Role == "user" && len(results) == 0 {
			a.Said, a.Results = said, nil
		}
		a.Results = append(a.Results, results...)
	}
	return a, nil
}

// wireMessage is a message of chat completions or messages, or an item of responses.
type wireMessage struct {
	Type, Role string
	Content    json.RawMessage
	Output     json.RawMessage
}

func (m wireMessage) read() (said string, results []string, err error) {
	said, results, err = readParts(m.Content)
	switch {
	case err != nil:
		return "", nil, err
	case m.Role == "tool":
		return "", []string{said}, nil
	case m.Type == "function_call_output":
		said, _, err = readParts(m.Output)
		return "", []string{said}, err
	}
	return said, results, nil
}

// readParts reads a content: nothing, a string, or parts, results among them.
func readParts(raw json.RawMessage) (text string, results []string, err error) {
	if len(raw) == 0 || raw[0] == 'n' {
		return "", nil, nil
	}
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, nil, err
	}
	var parts []struct {
		Type, Text string
		Content    json.RawMessage
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", nil, err
	}
	for _, p := range parts {
		text += p.Text
		if p.Type == "tool_result" {
			result, _, err := readParts(p.Content)
			if err != nil {
				return "", nil, err
			}
			results = append(results, result)
		}
	}
	return text, results, nil
}
