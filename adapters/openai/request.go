package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"dragoman/ports"
)

// chatRequest is the request's body but for the tools, which body puts in as they
// are kept, and for "stream".
type chatRequest struct {
	Messages            []any         `json:"messages"`
	Model               string        `json:"model"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	ReasoningEffort     string        `json:"reasoning_effort,omitempty"`
	StreamOptions       streamOptions `json:"stream_options"`
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

// errEncode is a request that cannot be written down: a fault of ours.
var errEncode = errors.New("the request cannot be encoded")

// body is the request's body. Equal requests give equal bytes: the providers'
// prompt caches depend on it.
func (m *Model) body(r ports.ModelRequest) ([]byte, error) {
	c := chatRequest{
		Messages:        m.messages(r),
		Model:           m.cfg.Model,
		ReasoningEffort: m.cfg.ReasoningEffort,
		StreamOptions:   streamOptions{IncludeUsage: true},
	}
	limit := r.MaxTokens
	if limit <= 0 {
		limit = m.cfg.MaxOutputTokens
	}
	if m.official {
		c.MaxCompletionTokens = limit
	} else {
		c.MaxTokens = limit
	}
	raw, err := encode(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEncode, err)
	}
	raw = raw[:len(raw)-1] // its brace: more follows
	if len(r.Tools) > 0 {
		raw = append(raw, `,"tools":[`...)
		if raw, err = m.tools.Append(raw, r.Tools); err != nil {
			return nil, fmt.Errorf("%w: %w", errEncode, err)
		}
		raw = append(raw, ']')
	}
	return append(raw, `,"stream":true}`...), nil
}

// encode leaves <, > and & as they are, unlike json.Marshal: they are no danger
// here, and tokens to a model.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
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
			out = append(out, userMessage(e))
		case ports.RoleAssistant:
			if msg, ok := m.assistantMessage(e); ok {
				out = append(out, msg)
			}
		case ports.RoleTool:
			text, media := toolContent(e)
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

func userMessage(e ports.Entry) message {
	if len(e.Blocks) == 0 {
		return message{Role: "user", Content: e.Text}
	}
	var parts []part
	if e.Text != "" {
		parts = append(parts, textPart(e.Text))
	}
	for _, b := range e.Blocks {
		if p, ok := mediaPart(b); ok {
			parts = append(parts, p)
		} else {
			parts = append(parts, textPart(blockText(b)))
		}
	}
	return message{Role: "user", Content: parts}
}

// assistantMessage is false for an entry that says nothing: the wire refuses it.
func (m *Model) assistantMessage(e ports.Entry) (any, bool) {
	msg := message{Role: "assistant"}
	text := e.Text
	for _, b := range e.Blocks {
		text = joinLines(text, blockText(b))
	}
	if text == "" && len(e.Calls) == 0 {
		return nil, false
	}
	if text != "" {
		msg.Content = text
	}
	ours := e.Model == m.name
	for _, c := range e.Calls {
		call := toolCall{ID: c.ID, Type: "function", Function: functionCall{Name: c.Name, Arguments: replayArguments(c.Arguments)}}
		msg.ToolCalls = append(msg.ToolCalls, withState(call, ours, c.State))
	}
	return withState(msg, ours, e.State), true
}

// toolContent splits a tool's result into what a tool message can say and what
// has to be shown beside it.
func toolContent(e ports.Entry) (string, []part) {
	text := e.Text
	var media []part
	for _, b := range e.Blocks {
		if p, ok := mediaPart(b); ok {
			media = append(media, p)
		} else {
			text = joinLines(text, blockText(b))
		}
	}
	switch {
	case e.IsError && text == "":
		text = "The tool call failed and gave no reason."
	case e.IsError:
		text = "The tool call failed: " + text
	case text == "" && len(media) > 0:
		text = "The result follows in the next message."
	case text == "":
		text = "The tool call succeeded and returned nothing."
	}
	return text, media
}

// mediaPart is an image or a sound in the forms that the wire knows.
func mediaPart(b ports.Block) (part, bool) {
	switch b.Kind {
	case ports.BlockImage:
		switch b.MIME {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			return part{Type: "image_url", ImageURL: &imageURL{URL: "data:" + b.MIME + ";base64," + base64.StdEncoding.EncodeToString(b.Data)}}, true
		}
	case ports.BlockAudio:
		if format, ok := audioFormats[b.MIME]; ok {
			return part{Type: "input_audio", InputAudio: &inputAudio{Data: base64.StdEncoding.EncodeToString(b.Data), Format: format}}, true
		}
	}
	return part{}, false
}

var audioFormats = map[string]string{"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}

// blockText is a block in words, for where the wire has no place for it.
func blockText(b ports.Block) string {
	switch {
	case b.Kind == ports.BlockLink:
		return strings.TrimSpace(fmt.Sprintf("[link %s %s] %s", b.Name, b.URI, b.Text))
	case b.Text != "" && b.URI != "":
		return "[" + b.URI + "]\n" + b.Text
	case b.Text != "":
		return b.Text
	}
	name := b.Name
	if name == "" {
		name = b.URI
	}
	return strings.Join(strings.Fields(fmt.Sprintf("[%s %s %s, %d bytes, not shown]", b.Kind, name, b.MIME, len(b.Data))), " ")
}

// replayArguments is a recorded call's arguments as the wire wants them: a JSON
// object in a string. Chat templates of local servers parse it and fail the
// whole request on anything else, so what is no object goes into one.
func replayArguments(args json.RawMessage) string {
	switch {
	case len(args) == 0:
		return "{}"
	case isObject(args):
		return string(args)
	}
	wrapped, err := json.Marshal(map[string]json.RawMessage{"invalid_arguments": args})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
