package anthropic

import (
	"encoding/json"
	"slices"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// request is the request's body but for the tools, which body puts in as they
// are kept.
type request struct {
	Model      string    `json:"model"`
	MaxTokens  int       `json:"max_tokens"`
	Stream     bool      `json:"stream"`
	Thinking   *thinking `json:"thinking,omitempty"`
	ToolChoice *choice   `json:"tool_choice,omitempty"`
	System     []block   `json:"system,omitempty"`
	Messages   []message `json:"messages"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens,omitempty"`
}

type choice struct {
	Type string `json:"type"`
}

// cached marks the end of a beginning that the provider is to keep. It takes four
// marks at most: the last tool, the end of the system prompt, and two messages.
var cached = &cacheControl{Type: "ephemeral"}

const cachedTool = `,"cache_control":{"type":"ephemeral"}}`

// body is the request's body. Equal requests give equal bytes: the provider's
// prompt cache depends on it.
func (m *Model) body(r ports.ModelRequest) ([]byte, error) {
	c := request{
		Model:     m.cfg.Model,
		MaxTokens: m.cfg.MaxTokens(r.MaxTokens),
		Stream:    true,
		System:    addText(nil, r.System),
		Messages:  m.messages(r.Entries),
	}
	if len(c.System) > 0 {
		c.System[0].CacheControl = cached
	}
	markMessages(c.Messages)
	tools := r.Tools
	if len(tools) == 0 {
		tools = mentioned(c.Messages)
	}
	if len(tools) > 0 && (r.NoCalls || len(r.Tools) == 0) {
		c.ToolChoice = &choice{Type: "none"}
	}
	c.Thinking = m.thinking(c)
	raw, err := wire.Encode(c)
	if err != nil || len(tools) == 0 {
		return raw, err
	}
	raw = append(raw[:len(raw)-1], `,"tools":[`...) // its brace: more follows
	if raw, err = m.tools.Append(raw, tools); err != nil {
		return nil, err
	}
	raw = append(raw[:len(raw)-1], cachedTool...) // the last tool's
	return append(raw, "]}"...), nil
}

// markMessages marks the last two messages of the user: what the one before the
// last ends was written to the cache by the request before this.
func markMessages(all []message) {
	marks := 2
	for _, m := range slices.Backward(all) {
		if m.Role != "user" || marks == 0 {
			continue
		}
		m.Content[len(m.Content)-1].CacheControl = cached
		marks--
	}
}

// mentioned are the tools that the messages call, by their names alone: the wire
// takes calls in messages only beside tools.
func mentioned(all []message) []ports.ToolSpec {
	var out []ports.ToolSpec
	for _, m := range all {
		for _, b := range m.Content {
			known := func(t ports.ToolSpec) bool { return t.Name == b.Name }
			if b.Type == "tool_use" && !slices.ContainsFunc(out, known) {
				out = append(out, ports.ToolSpec{Name: b.Name, Description: "No longer there.", InputSchema: json.RawMessage(`{"type":"object"}`)})
			}
		}
	}
	return out
}

// thinking is how much the model is to think, nil for the provider's choice. A
// budget has to fit below the reply's bound; and with one the wire demands that
// each reply of the round under way began with thinking, which one of another
// model, or one made without, did not.
func (m *Model) thinking(c request) *thinking {
	switch {
	case m.cfg.Thinking != "":
		return &thinking{Type: m.cfg.Thinking}
	case m.cfg.ThinkingTokens == 0, c.MaxTokens <= m.cfg.ThinkingTokens:
		return nil
	}
	for _, msg := range slices.Backward(c.Messages) {
		first := msg.Content[0].Type
		if msg.Role == "user" && first != "tool_result" {
			break // here the round began
		}
		if msg.Role == "assistant" && first != "thinking" && first != "redacted_thinking" {
			return nil
		}
	}
	return &thinking{Type: "enabled", Budget: m.cfg.ThinkingTokens}
}
