package openai

import (
	"encoding/json"
	"strings"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// responsesRequest is the request's body but for the tools and for "stream". The
// whole conversation goes with each: nothing is stored at the provider.
type responsesRequest struct {
	Model             string     `json:"model"`
	Instructions      string     `json:"instructions,omitempty"`
	Input             []any      `json:"input"`
	MaxOutputTokens   int        `json:"max_output_tokens"`
	Store             bool       `json:"store"`
	Include           []string   `json:"include,omitempty"`
	Reasoning         *reasoning `json:"reasoning,omitempty"`
	PromptCacheKey    string     `json:"prompt_cache_key,omitempty"`
	ParallelToolCalls bool       `json:"parallel_tool_calls,omitempty"`
	ToolChoice        string     `json:"tool_choice,omitempty"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

// inputMessage is a person's or the model's. Content is a string or a list of
// inputParts. It has no id: with "store": false the provider knows none.
type inputMessage struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content any    `json:"content"`
	Phase   string `json:"phase,omitempty"`
}

type functionCallItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// functionCallOutput answers a call. Output is a string or a list of inputParts.
type functionCallOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"`
}

// reasoningItem goes back without its id, which nobody stored, and without its
// plain content, which requests may not carry.
type reasoningItem struct {
	Type             string          `json:"type"`
	Summary          json.RawMessage `json:"summary"`
	EncryptedContent string          `json:"encrypted_content"`
}

type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// minOutputTokens is the least that this wire takes as a limit.
const minOutputTokens = 16

// responsesBody is the request's body. Equal requests give equal bytes.
func (m *Model) responsesBody(r ports.ModelRequest, with options) ([]byte, error) {
	c := responsesRequest{
		Model:             m.cfg.Model,
		Instructions:      r.System,
		Input:             m.input(r, with),
		MaxOutputTokens:   max(m.cfg.MaxTokens(r.MaxTokens), minOutputTokens),
		PromptCacheKey:    cacheKey(r.CacheKey),
		ParallelToolCalls: len(r.Tools) > 0,
		ToolChoice:        toolChoice(r),
	}
	if with.cipher {
		c.Include = []string{"reasoning.encrypted_content"}
	}
	if m.cfg.ReasoningEffort != "" {
		c.Reasoning = &reasoning{Effort: m.cfg.ReasoningEffort}
	}
	return m.withTools(c, r.Tools)
}

func (m *Model) input(r ports.ModelRequest, with options) []any {
	out := make([]any, 0, len(r.Entries)+1)
	for _, e := range r.Entries {
		switch e.Role {
		case ports.RoleUser:
			out = append(out, inputMessage{Type: "message", Role: "user", Content: m.inputContent(e.Text, e.Blocks)})
		case ports.RoleAssistant:
			out = m.assistantItems(out, e, with)
		case ports.RoleTool:
			out = append(out, functionCallOutput{Type: "function_call_output", CallID: e.CallID, Output: m.output(e)})
		}
	}
	return out
}

func callItem(c ports.Call) functionCallItem {
	return functionCallItem{Type: "function_call", CallID: c.ID, Name: c.Name, Arguments: wire.ReplayArguments(c.Arguments)}
}

// output is what a tool gave.
func (m *Model) output(e ports.Entry) any {
	text := e.Text
	switch {
	case e.IsError:
		text = wire.FailedCall(text)
	case text == "" && len(e.Blocks) == 0:
		text = wire.EmptyResult
	}
	return m.inputContent(text, e.Blocks)
}

// inputContent is a text, and a list of parts only where there are pictures: what
// else there is can be said in words.
func (m *Model) inputContent(text string, blocks []ports.Block) any {
	var parts []inputPart
	words := func(t string) {
		if t != "" {
			parts = append(parts, inputPart{Type: "input_text", Text: t})
		}
	}
	words(text)
	pictures := false
	for _, b := range blocks {
		if m.shows(b) {
			pictures = true
			parts = append(parts, inputPart{Type: "input_image", ImageURL: wire.DataURL(b), Detail: "auto"})
			continue
		}
		words(m.inWords(b))
	}
	if pictures {
		return parts
	}
	said := make([]string, len(parts))
	for i, p := range parts {
		said[i] = p.Text
	}
	return strings.Join(said, "\n")
}

// saysNoCipher finds the words of a model that does not reason.
func saysNoCipher(p wire.Problem) bool {
	return strings.Contains(strings.ToLower(p.Message), "encrypted content is not supported")
}
