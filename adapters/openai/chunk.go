package openai

import (
	"bytes"
	"encoding/json"
	"errors"

	"dragoman/adapters/internal/wire"
)

// chunk is a frame of the stream, as far as it is read here. Providers fill it in
// freely: a number may be a string, a list may be null. What has not the form of
// its field counts as not there.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
}

type choice struct {
	Index        wire.LooseInt  `json:"index"`
	Delta        delta          `json:"delta"`
	FinishReason wire.LooseText `json:"finish_reason"`
}

type usage struct {
	PromptTokens        wire.LooseInt `json:"prompt_tokens"`
	CompletionTokens    wire.LooseInt `json:"completion_tokens"`
	PromptTokensDetails struct {
		CachedTokens     wire.LooseInt `json:"cached_tokens"`
		CacheWriteTokens wire.LooseInt `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}

// delta is what a chunk adds to a choice.
type delta struct {
	content string
	refusal string
	calls   []fragment
	extra   []field
}

// fragment is what a chunk adds to a tool call.
type fragment struct {
	index          int
	id, name, args string
	extra          []field
	object         bool // false for what stands in the list and is no call
}

// field is one that the standard does not have.
type field struct {
	name string
	raw  json.RawMessage
}

// readChunk decodes a frame. Its error is for what is no JSON object.
func readChunk(data []byte) (chunk, error) {
	var c chunk
	err := json.Unmarshal(data, &c)
	if err == nil {
		return c, nil
	}
	// The decoder skips a field of another type and fills in the others.
	if odd := (*json.UnmarshalTypeError)(nil); errors.As(err, &odd) && data[0] == '{' {
		return c, nil
	}
	return c, err
}

// UnmarshalJSON keeps the fields that the standard does not have, which a struct
// with tags would drop. It never fails.
func (d *delta) UnmarshalJSON(raw []byte) error {
	for name, value := range wire.Members(raw) {
		switch string(name) {
		case "content":
			d.content = spoken(value)
		case "refusal":
			d.refusal = wire.Plain(value)
		case "tool_calls":
			_ = json.Unmarshal(value, &d.calls) // it is JSON; what is no list holds no call
		case "role", "function_call": // the standard's own, and nothing to us
		default:
			d.extra = append(d.extra, field{string(name), bytes.Clone(value)})
		}
	}
	return nil
}

// UnmarshalJSON does for a call what it does for a delta.
func (f *fragment) UnmarshalJSON(raw []byte) error {
	f.object = raw[0] == '{'
	for name, value := range wire.Members(raw) {
		switch string(name) {
		case "index":
			f.index = wire.Whole(value)
		case "id":
			f.id = wire.Plain(value)
		case "function":
			for name, value := range wire.Members(value) {
				switch string(name) {
				case "name":
					f.name = wire.Plain(value)
				case "arguments":
					f.args = written(value)
				}
			}
		case "type":
		default:
			f.extra = append(f.extra, field{string(name), bytes.Clone(value)})
		}
	}
	return nil
}

// spoken is the text of a message's content: a string, or the text parts of a
// list, as reasoning models of Mistral send it.
func spoken(raw []byte) string {
	if raw[0] != '[' {
		return wire.Plain(raw)
	}
	var parts []struct {
		Type string         `json:"type"`
		Text wire.LooseText `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // it is JSON; what is no part says nothing
	var text string
	for _, p := range parts {
		if p.Type == "text" {
			text += string(p.Text)
		}
	}
	return text
}

// written is a call's arguments: the standard has them in a string, some servers
// as the object itself.
func written(raw []byte) string {
	if raw[0] == '{' {
		return string(raw)
	}
	return wire.Plain(raw)
}
