package anthropic

import (
	"context"
	"io"
	"log"
	"net/http/httputil"
	"net/url"
	"testing"

	"dragoman/ports"
	"dragoman/tests/aimock"
	"dragoman/tests/modeltest"
)

func TestConformance(t *testing.T) {
	p := newPeer(t)
	modeltest.Run(t, modeltest.Harness{
		Model:  testModel(t, p.URL),
		Script: p.script,
		Seen:   p.got,
		Secret: testKey,
	})
	for _, r := range p.refused {
		t.Errorf("the API would refuse a request: %s", r)
	}
}

// TestConformanceAimock runs the kit against a server of the wire that nobody
// here wrote. The peer stands before it and keeps what is sent: aimock's own
// journal has no tool_choice of this wire.
func TestConformanceAimock(t *testing.T) {
	p := newPeer(t)
	mock := aimock.Start(t, testKey)
	mock.Filter = "refusal"
	to, err := url.Parse(mock.URL)
	if err != nil {
		t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(to)
	behind.FlushInterval = -1 // at once
	behind.ErrorLog = log.New(io.Discard, "", 0)
	modeltest.Run(t, modeltest.Harness{
		Model: testModel(t, p.URL),
		Script: func(ctx context.Context, a modeltest.Act) error {
			p.answer(behind.ServeHTTP)
			return mock.Script(ctx, a)
		},
		Seen:   p.got,
		Secret: testKey,
	})
	for _, r := range p.refused {
		t.Errorf("the API would refuse a request: %s", r)
	}
}

// TestARoundOfThoughtAimock has aimock check what it demands of thinking in a round
// of tools: it refuses a reply that does not begin with its thoughts, sealed.
func TestARoundOfThoughtAimock(t *testing.T) {
	mock := aimock.Start(t, testKey)
	calls := []any{map[string]any{"id": "toolu_1", "name": "a__look", "arguments": map[string]any{"n": 1}}, map[string]any{"id": "toolu_2", "name": "b__find", "arguments": map[string]any{}}}
	err := mock.Fixtures(t.Context(),
		map[string]any{"match": map[string]any{"hasToolResult": false}, "response": map[string]any{"content": "Let me see.", "toolCalls": calls,
			"reasoning": "There is a tool.", "reasoningSignature": "sealed", "redactedThinking": []any{"b3BhcXVl"}}},
		map[string]any{"match": map[string]any{"hasToolResult": true}, "response": map[string]any{"content": "A cat."}})
	if err != nil {
		t.Fatal(err)
	}
	m := testModel(t, mock.URL, func(c *Config) { c.Model, c.ThinkingTokens = "claude-sonnet-4-5", 1024 })
	r := ports.ModelRequest{Entries: []ports.Entry{user("Look!")}, Tools: []ports.ToolSpec{look, find}}
	first, err := m.Generate(t.Context(), r, nil)
	if err != nil || len(first.Calls) != 2 || first.State == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	e := ports.Entry{Role: ports.RoleAssistant, Text: first.Text, Calls: first.Calls, State: first.State, Model: first.Model}
	r.Entries = append(r.Entries, e, gave("toolu_1", "a cat"), gave("toolu_2", "no cat"))
	if last, err := m.Generate(t.Context(), r, nil); err != nil || last.Text != "A cat." {
		t.Errorf("%+v, %v", last, err)
	}
	r.Entries[1].State = nil // the mock would refuse it beside a budget
	if last, err := m.Generate(t.Context(), r, nil); err != nil || last.Text != "A cat." {
		t.Errorf("without its thoughts: %+v, %v", last, err)
	}
}
