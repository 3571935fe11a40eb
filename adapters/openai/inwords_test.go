package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// wordPeer is a peer that knows no tools, as many local servers: it refuses what
// is about them, and roles that do not alternate, and makes its calls in its text.
type wordPeer struct {
	*peer
	url string
}

func newWordPeer(t *testing.T) *wordPeer {
	t.Helper()
	p := &wordPeer{peer: newPeer(t)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = readWords(body)
		}
		if err != nil {
			http.Error(w, fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error"}}`, err), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.serve(w, r)
	}))
	t.Cleanup(s.Close)
	p.url = s.URL + "/v1"
	return p
}

// readWords holds a request to what such a server takes, and gives the tools that
// its system prompt describes.
func readWords(body []byte) (tools []string, err error) {
	var request struct {
		Messages, Input []map[string]json.RawMessage
		Instructions    json.RawMessage // with Input: the system prompt of Responses
		Tools           json.RawMessage
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	if len(request.Tools) > 0 || bytes.Contains(body, []byte(`"tool_choice":`)) {
		return nil, errors.New("this model does not support tools")
	}
	if request.Instructions != nil {
		tools = described(request.Instructions)
	}
	turn := []string{`"user"`, `"assistant"`}
	for i, m := range append(request.Messages, request.Input...) {
		if string(m["type"]) == `"reasoning"` && string(turn[0]) == `"assistant"` {
			continue
		}
		if string(m["role"]) == `"system"` && i == 0 {
			tools = described(m["content"])
			continue
		}
		if string(m["role"]) != turn[0] || m["tool_calls"] != nil || m["tool_call_id"] != nil {
			return nil, fmt.Errorf("message %d is from %s, not %s", i, m["role"], turn[0])
		}
		slices.Reverse(turn)
	}
	return tools, nil
}

func described(content json.RawMessage) (tools []string) {
	var system string
	if json.Unmarshal(content, &system) != nil {
		return nil
	}
	for line := range strings.Lines(system) {
		var tool struct{ Name string }
		if strings.HasPrefix(line, `{"name":`) && json.Unmarshal([]byte(line), &tool) == nil {
			tools = append(tools, tool.Name)
		}
	}
	return tools
}

func (p *wordPeer) got(ctx context.Context) (modeltest.Seen, error) {
	seen, err := p.peer.got(ctx)
	if err == nil && len(seen.Body) > 0 {
		seen.Tools, err = readWords(seen.Body)
	}
	return seen, err
}

// script has the calls said in the text.
func (p *wordPeer) script(ctx context.Context, a modeltest.Act) error {
	for i, c := range a.Calls {
		if len(c.State) > 0 {
			return fmt.Errorf("a call in words carries nothing of the provider's: %w", errors.ErrUnsupported)
		}
		args := `,"arguments":` + string(c.Arguments)
		switch {
		case a.Do == modeltest.BadArguments && i == 0:
			args = `,"arguments":{"path": "a`
		case a.Do == modeltest.NoArguments && i == 0:
			args = ""
		}
		if a.Text != "" {
			a.Text += "\n\n"
		}
		a.Text += "```json\n" + `{"type": "mcp_call", "params": {"tool_name":"` + c.Name + `"` + args + "}}\n```"
	}
	a.Calls = nil
	return p.peer.script(ctx, a)
}

func inWords(c *Config) { c.ToolCalls = "prompt" }

// wiresInWords are both wires of a model that calls in words.
var wiresInWords = map[string]func(*Config){
	"chat":      inWords,
	"responses": func(c *Config) { inWords(c); overResponses(c) },
}

// TestConformanceInWords holds a model that calls in words to the same promises.
func TestConformanceInWords(t *testing.T) {
	for wire, config := range wiresInWords {
		t.Run(wire, func(t *testing.T) {
			p := newWordPeer(t)
			modeltest.Run(t, modeltest.Harness{
				Model: testModel(t, p.url, config),
				Script: func(ctx context.Context, a modeltest.Act) error {
					if a.Do == modeltest.BadTool {
						return fmt.Errorf("no definition of a tool is sent: %w", errors.ErrUnsupported)
					}
					return p.script(ctx, a)
				},
				Seen:   p.got,
				Secret: testKey,
				OwnIDs: true,
			})
		})
	}
}

// TestItsOwnStateGoesBackInWords: the text that goes back has the calls in it, and
// is not the one that the state came with.
func TestItsOwnStateGoesBackInWords(t *testing.T) {
	for wire, config := range wiresInWords {
		t.Run(wire, func(t *testing.T) {
			p := newWordPeer(t)
			m := testModel(t, p.url, config)
			r := hello()
			r.Tools = []ports.ToolSpec{{Name: "a__look", InputSchema: json.RawMessage(`{"type":"object"}`)}}
			call := ports.Call{Name: "a__look", Arguments: json.RawMessage(`{}`)}
			if err := p.script(t.Context(), modeltest.Act{Do: modeltest.Reply, Text: "Wait.", Calls: []ports.Call{call}, State: "thought-7c1"}); err != nil {
				t.Fatal(err)
			}
			reply, err := m.Generate(t.Context(), r, nil)
			if err != nil || len(reply.Calls) != 1 || reply.Text != "Wait." {
				t.Fatalf("%v: %+v", err, reply)
			}
			for name, back := range map[string]bool{reply.Model: true, "another/model": false} {
				again := r
				again.Entries = append(slices.Clone(r.Entries),
					ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, Calls: reply.Calls, State: reply.State, Model: name},
					ports.Entry{Role: ports.RoleTool, CallID: reply.Calls[0].ID, Text: "a cat"})
				if _, err := m.Generate(t.Context(), again, nil); err != nil {
					t.Fatal(err)
				}
				seen, err := p.got(t.Context())
				if err != nil || bytes.Contains(seen.Body, []byte("thought-7c1")) != back || !bytes.Contains(seen.Body, []byte(`Wait.\n\n`)) {
					t.Errorf("%v: as said by %s:\n%s", err, name, seen.Body)
				}
			}
		})
	}
}
