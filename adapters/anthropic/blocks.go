package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// message is one of a user or of the assistant.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a piece of a message, of any type.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Source       *source         `json:"source,omitempty"`      // image
	Thinking     *string         `json:"thinking,omitempty"`    // thinking; it may be empty, and must be there
	Signature    string          `json:"signature,omitempty"`   // thinking
	Data         string          `json:"data,omitempty"`        // redacted_thinking
	ID           string          `json:"id,omitempty"`          // tool_use
	Name         string          `json:"name,omitempty"`        // tool_use
	Input        json.RawMessage `json:"input,omitempty"`       // tool_use
	ToolUseID    string          `json:"tool_use_id,omitempty"` // tool_result
	Content      []block         `json:"content,omitempty"`     // tool_result
	IsError      bool            `json:"is_error,omitempty"`    // tool_result
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// addText adds a text, which the wire takes only if there is something to see in it.
func addText(to []block, text string) []block {
	if strings.TrimSpace(text) == "" {
		return to
	}
	return append(to, block{Type: "text", Text: text})
}

// addMedia adds a block of content: a picture as it is, everything else in words.
func addMedia(to []block, b ports.Block) []block {
	if wire.IsImage(b) {
		return append(to, block{Type: "image", Source: &source{Type: "base64", MediaType: b.MIME, Data: wire.Base64(b.Data)}})
	}
	return addText(to, wire.BlockText(b))
}

// withoutImages has words in place of the pictures. The entries stay as they are.
func withoutImages(entries []ports.Entry) []ports.Entry {
	out := slices.Clone(entries)
	for i, e := range out {
		if !slices.ContainsFunc(e.Blocks, wire.IsImage) {
			continue
		}
		blocks := slices.Clone(e.Blocks)
		for k, b := range blocks {
			if wire.IsImage(b) {
				name := strings.Join(strings.Fields("[image "+b.Name), " ")
				blocks[k] = ports.Block{Kind: ports.BlockText, Text: name + ", not shown: this model takes none]"}
			}
		}
		out[i].Blocks = blocks
	}
	return out
}

// resultBlock is what a call gave. shown is what has no place in it: the result of a
// call that failed takes text alone.
func resultBlock(id string, e ports.Entry) (result block, shown []block) {
	result = block{Type: "tool_result", ToolUseID: id, IsError: e.IsError, Content: addText(nil, e.Text)}
	for _, b := range e.Blocks {
		if e.IsError && wire.IsImage(b) {
			shown = addMedia(shown, b)
			continue
		}
		result.Content = addMedia(result.Content, b)
	}
	if len(result.Content) == 0 && e.IsError {
		result.Content = addText(nil, wire.FailedCall(""))
	}
	if len(shown) > 0 {
		shown = append(addText(nil, "What the tool call "+id+" returned beside its text:"), shown...)
	}
	return result, shown
}
