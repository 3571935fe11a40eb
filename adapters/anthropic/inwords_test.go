package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// TestConformanceInWords: the kit's calls are said in text, and what is sent has
// neither tools nor blocks of calls.
func TestConformanceInWords(t *testing.T) {
	p := newPeer(t)
	modeltest.Run(t, modeltest.Harness{
		Model:  testModel(t, p.URL, func(c *Config) { c.ToolCalls = "prompt" }),
		Script: func(ctx context.Context, a modeltest.Act) error { return scriptInWords(ctx, p, a) },
		Seen:   func(ctx context.Context) (modeltest.Seen, error) { return seenInWords(ctx, p) },
		Secret: testKey,
		OwnIDs: true,
	})
	for _, r := range p.refused {
		t.Errorf("the API would refuse a request: %s", r)
	}
	m := testModel(t, p.URL, func(c *Config) { c.ToolCalls = "prompt" })
	if err := p.script(t.Context(), modeltest.Act{Do: modeltest.Reply, Text: "A cat."}); err != nil {
		t.Fatal(err)
	}
	r := ports.ModelRequest{Tools: []ports.ToolSpec{look}, Entries: []ports.Entry{user("Look!"),
		{Role: ports.RoleAssistant, Calls: []ports.Call{{ID: "1", Name: look.Name, Arguments: json.RawMessage(`{}`)}}}, gave("1", "a cat")}}
	if _, err := m.Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	seen, err := p.got(t.Context())
	if err != nil || len(seen.Tools) > 0 || strings.Contains(string(seen.Body), `"tool_use"`) || !strings.Contains(string(seen.Body), `mcp_result`) {
		t.Errorf("%v: sent\n%s", err, seen.Body)
	}
}

// TestItsOwnStateGoesBackInWords: the text that goes back has the calls in it, and
// is not the one that the thinking came with.
func TestItsOwnStateGoesBackInWords(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL, func(c *Config) { c.ToolCalls = "prompt" })
	call := ports.Call{Name: look.Name, Arguments: json.RawMessage(`{}`)}
	if err := scriptInWords(t.Context(), p, modeltest.Act{Do: modeltest.Reply, Text: "Wait.", Calls: []ports.Call{call}, State: "thought-7c1"}); err != nil {
		t.Fatal(err)
	}
	r := ports.ModelRequest{Tools: []ports.ToolSpec{look}, Entries: []ports.Entry{user("Look!")}}
	reply, err := m.Generate(t.Context(), r, nil)
	if err != nil || len(reply.Calls) != 1 || reply.Text != "Wait." {
		t.Fatalf("%v: %+v", err, reply)
	}
	e := ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, Calls: reply.Calls, State: reply.State}
	for name, back := range map[string]bool{reply.Model: true, "another/model": false} {
		e.Model = name
		r.Entries = []ports.Entry{user("Look!"), e, gave(reply.Calls[0].ID, "a cat")}
		if _, err := m.Generate(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		seen, err := p.got(t.Context())
		if body := string(seen.Body); err != nil || strings.Contains(body, `"thinking":"thought-7c1","signature":"sig-1"`) != back || !strings.Contains(body, `Wait.\n\n`) {
			t.Errorf("%v: as said by %s:\n%s", err, name, body)
		}
	}
	for _, r := range p.refused {
		t.Errorf("the API would refuse a request: %s", r)
	}
}

// seenInWords has the tools that the system prompt describes. There must be none
// beside it.
func seenInWords(ctx context.Context, p *peer) (modeltest.Seen, error) {
	seen, err := p.got(ctx)
	switch {
	case err != nil || len(seen.Body) == 0:
		return seen, err
	case len(seen.Tools) > 0:
		return seen, fmt.Errorf("sent beside their description: %q", seen.Tools)
	}
	var request struct{ System []struct{ Text string } }
	if err := json.Unmarshal(seen.Body, &request); err != nil {
		return seen, err
	}
	for _, block := range request.System {
		for line := range strings.Lines(block.Text) {
			var tool struct{ Name string }
			if strings.HasPrefix(line, `{"name":`) && json.Unmarshal([]byte(line), &tool) == nil {
				seen.Tools = append(seen.Tools, tool.Name)
			}
		}
	}
	return seen, nil
}

func scriptInWords(ctx context.Context, p *peer, a modeltest.Act) error {
	if a.Do == modeltest.BadTool {
		return fmt.Errorf("no definition of a tool is sent: %w", errors.ErrUnsupported)
	}
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
	return p.script(ctx, a)
}

func TestTheModelSaysWhatIsKnownOfIt(t *testing.T) {
	absent := func(c *Config) { c.ContextTokens, c.MaxOutputTokens = 0, 0 }
	f := testModel(t, "http://127.0.0.1:1", absent).Facts()
	if f != (ports.ModelFacts{ContextTokens: 32000, MaxTokens: 4096, Images: true}) {
		t.Errorf("of an unknown model: %+v", f)
	}
	f = testModel(t, "https://api.anthropic.com", absent, func(c *Config) { c.Model = "claude-haiku-4-5-20251001" }).Facts()
	if f.ContextTokens != 200000 || f.Price == nil || f.Price.CacheWrite != 1.25 || f.CacheFor == 0 {
		t.Errorf("of one of the table: %+v", f)
	}
}

func TestAPictureIsNotShownToAModelThatTakesNone(t *testing.T) {
	no := false
	m := testModel(t, "http://127.0.0.1:1", func(c *Config) { c.Images = &no })
	e := user("Look!")
	e.Blocks = []ports.Block{{Kind: ports.BlockImage, MIME: "image/png", Name: "cat.png", Data: []byte("x")}}
	got := withoutImages([]ports.Entry{e})
	if m.Facts().Images || got[0].Blocks[0].Text != "[image cat.png, not shown: this model takes none]" || e.Blocks[0].Kind != ports.BlockImage {
		t.Errorf("%+v, from %+v", got[0].Blocks, e.Blocks)
	}
}
