package openai

import (
	"crypto/sha256"
	"encoding/hex"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// chatRequest is the request's body but for the tools, which body puts in as they
// are kept, and for "stream".
type chatRequest struct {
	Messages            []any         `json:"messages"`
	Model               string        `json:"model"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	PromptCacheKey      string        `json:"prompt_cache_key,omitempty"`
	ReasoningEffort     string        `json:"reasoning_effort,omitempty"`
	StreamOptions       streamOptions `json:"stream_options"`
	ToolChoice          string        `json:"tool_choice,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is one of any role. Content is a string or a list of parts, and absent
// from an assistant's message that only calls.
type message struct {
	Content    any    `json:"content,omitempty"`
	ToolCalls  []any  `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	Role       string `json:"role"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Function functionCall `json:"function"`
	Type     string       `json:"type"`
}

type functionCall struct {
	Arguments string `json:"arguments"`
	Name      string `json:"name"`
}

// part is a piece of a user's message: a text, a picture or a sound.
type part struct {
	Text       string      `json:"text,omitempty"`
	ImageURL   *imageURL   `json:"image_url,omitempty"`
	InputAudio *inputAudio `json:"input_audio,omitempty"`
	Type       string      `json:"type"`
}

type imageURL struct {
	URL string `json:"url"`
}

type inputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

func textPart(text string) part { return part{Type: "text", Text: text} }

// body is the request's body. Equal requests give equal bytes: the providers'
// prompt caches depend on it.
func (m *Model) body(r ports.ModelRequest) ([]byte, error) {
	c := chatRequest{
		Messages:        m.messages(r),
		Model:           m.cfg.Model,
		ReasoningEffort: m.cfg.ReasoningEffort,
		StreamOptions:   streamOptions{IncludeUsage: true},
		ToolChoice:      toolChoice(r),
	}
	limit := m.cfg.MaxTokens(r.MaxTokens)
	if m.official {
		c.MaxCompletionTokens = limit
		c.PromptCacheKey = cacheKey(r.CacheKey) // others may refuse a field that they do not know
	} else {
		c.MaxTokens = limit
	}
	return m.withTools(c, r.Tools)
}

// toolChoice says that a request with tools must not be answered with calls.
func toolChoice(r ports.ModelRequest) string {
	if r.NoCalls && len(r.Tools) > 0 {
		return "none"
	}
	return ""
}

// cacheKey keeps to the length that the provider takes.
func cacheKey(key string) string {
	const most = 64
	if len(key) <= most {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

func (m *Model) messages(r ports.ModelRequest) []any {
	out := make([]any, 0, len(r.Entries)+2)
	if r.System != "" {
		out = append(out, message{Role: "system", Content: r.System})
	}
	// A tool message takes text alone and must follow its call directly, so what
	// tools showed goes into a user message behind the last result of the row.
	var shown []part
	for _, e := range r.Entries {
		if e.Role != ports.RoleTool && len(shown) > 0 {
			out, shown = append(out, message{Role: "user", Content: shown}), nil
		}
		switch e.Role {
		case ports.RoleUser:
			out = append(out, m.userMessage(e))
		case ports.RoleAssistant:
			if msg, ok := m.assistantMessage(e); ok {
				out = append(out, msg)
			}
		case ports.RoleTool:
			text, media := m.toolContent(e)
			out = append(out, message{Role: "tool", Content: text, ToolCallID: e.CallID})
			if len(media) > 0 {
				shown = append(shown, textPart("What the tool call "+e.CallID+" returned beside its text:"))
				shown = append(shown, media...)
			}
		}
	}
	if len(shown) > 0 {
		out = append(out, message{Role: "user", Content: shown})
	}
	return out
}

func (m *Model) userMessage(e ports.Entry) message {
	if len(e.Blocks) == 0 {
		return message{Role: "user", Content: e.Text}
	}
	var parts []part
	if e.Text != "" {
		parts = append(parts, textPart(e.Text))
	}
	for _, b := range e.Blocks {
		if p, ok := m.mediaPart(b); ok {
			parts = append(parts, p)
		} else {
			parts = append(parts, textPart(m.inWords(b)))
		}
	}
	return message{Role: "user", Content: parts}
}

// assistantMessage is false for an entry that says nothing: the wire refuses it.
func (m *Model) assistantMessage(e ports.Entry) (any, bool) {
	msg := message{Role: "assistant"}
	text := e.Text
	for _, b := range e.Blocks {
		text = wire.JoinLines(text, wire.BlockText(b))
	}
	if text == "" && len(e.Calls) == 0 {
		return nil, false
	}
	if text != "" {
		msg.Content = text
	}
	ours := e.Model == m.name
	for _, c := range e.Calls {
		call := toolCall{ID: c.ID, Type: "function", Function: functionCall{Name: m.tools.Name(c.Name), Arguments: wire.ReplayArguments(c.Arguments)}}
		msg.ToolCalls = append(msg.ToolCalls, withState(call, ours, c.State))
	}
	return withState(msg, ours, e.State), true
}

// toolContent splits a tool's result into what a tool message can say and what
// has to be shown beside it.
func (m *Model) toolContent(e ports.Entry) (string, []part) {
	text := e.Text
	var media []part
	for _, b := range e.Blocks {
		if p, ok := m.mediaPart(b); ok {
			media = append(media, p)
		} else {
			text = wire.JoinLines(text, m.inWords(b))
		}
	}
	switch {
	case e.IsError:
		text = wire.FailedCall(text)
	case text == "" && len(media) > 0:
		text = "The result follows in the next message."
	case text == "":
		text = wire.EmptyResult
	}
	return text, media
}

// mediaPart is an image or a sound in the forms that the wire knows.
func (m *Model) mediaPart(b ports.Block) (part, bool) {
	if !m.shows(b) {
		return part{}, false
	}
	if format, ok := wire.AudioFormat(b); ok {
		return part{Type: "input_audio", InputAudio: &inputAudio{Data: wire.Base64(b.Data), Format: format}}, true
	}
	return part{Type: "image_url", ImageURL: &imageURL{URL: wire.DataURL(b)}}, true
}
