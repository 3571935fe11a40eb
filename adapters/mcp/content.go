package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/ports"
)

// maxBlocks is how many pieces of content are taken of one result. A block
// costs more memory than the two bytes that it can be written with.
const maxBlocks = 1000

// maxLenient is how large an object may be, in bytes, whose members are looked at
// one by one because some are of the wrong type: it costs many times their length.
const maxLenient = 64 << 10

// failedSilently is what is read of a tool that says no more than that it failed.
const failedSilently = "The tool failed and did not say why."

// resultMembers are what a result of tools/call may have, not yet decoded.
type resultMembers struct {
	ResultType json.RawMessage `json:"resultType"`
	Content    json.RawMessage `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    json.RawMessage `json:"isError"`
	Task       json.RawMessage `json:"task"`
}

func membersOf(raw json.RawMessage) (r resultMembers, err error) {
	if !isObject(raw) {
		return r, malformed("the result of tools/call is no object")
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, malformed("the result of tools/call is malformed: %v", err)
	}
	return r, nil
}

// decodeResult maps the result of tools/call (MCP server/tools, "Tool Result").
func decodeResult(raw json.RawMessage) (ports.ToolResult, error) {
	r, err := membersOf(raw)
	if err != nil {
		return ports.ToolResult{}, err
	}
	return r.result()
}

// result is lenient in all that does not change the meaning: an unknown kind of
// content is the text of its JSON, a missing one that of the structured content.
func (r resultMembers) result() (ports.ToolResult, error) {
	result := ports.ToolResult{IsError: string(r.IsError) == "true" || string(r.IsError) == `"true"`}
	if !isNull(r.Structured) {
		result.Structured = bytes.ToValidUTF8(r.Structured, []byte("\uFFFD"))
	}
	switch {
	case !isNull(r.Content):
		result.Content = decodeContent(r.Content)
		if result.IsError && len(result.Content) == 0 {
			result.Content = []ports.Block{{Kind: ports.BlockText, Text: failedSilently}}
		}
	case result.Structured != nil:
		result.Content = []ports.Block{jsonBlock(r.Structured)}
	case !isNull(r.ResultType) && text(r.ResultType) != "complete", !isNull(r.Task):
		return ports.ToolResult{}, malformed("the tool did not finish (a task, or a request for input), which is not supported")
	case result.IsError:
		result.Content = []ports.Block{{Kind: ports.BlockText, Text: failedSilently}}
	default:
		return ports.ToolResult{}, malformed("the result of tools/call has no content")
	}
	return result, nil
}

// decodeContent takes a single block, or a text, for a list of it.
func decodeContent(raw json.RawMessage) []ports.Block {
	blocks, more := []ports.Block{}, false
	err := eachItem(raw, func(one json.RawMessage) bool {
		if more = len(blocks) == maxBlocks; !more {
			blocks = append(blocks, decodeBlock(one))
		}
		return !more
	})
	if err != nil {
		return []ports.Block{decodeBlock(raw)}
	}
	if more {
		blocks = append(blocks, ports.Block{Kind: ports.BlockText, Text: fmt.Sprintf("[what follows the first %d pieces of content was left out]", maxBlocks)})
	}
	return blocks
}

// decodeBlock never fails: what it does not understand is shown as it came.
// Annotations do not count: what is meant for the person alone reaches them only
// through the model.
func decodeBlock(raw json.RawMessage) ports.Block {
	b, ok := decodeMembers[struct {
		Type        string          `json:"type"`
		Text        *string         `json:"text"`
		Data        *string         `json:"data"`
		MIME        string          `json:"mimeType"`
		URI         string          `json:"uri"`
		Name        string          `json:"name"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Size        int64           `json:"size"`
		Resource    json.RawMessage `json:"resource"`
	}](raw)
	if !ok {
		return jsonBlock(raw)
	}
	switch {
	case b.Type == "text" && b.Text != nil:
		return ports.Block{Kind: ports.BlockText, Text: *b.Text}
	case b.Type == "image" && b.Data != nil:
		return dataBlock(ports.BlockImage, b.MIME, *b.Data)
	case b.Type == "audio" && b.Data != nil:
		return dataBlock(ports.BlockAudio, b.MIME, *b.Data)
	case b.Type == "resource_link" && b.URI != "":
		return ports.Block{Kind: ports.BlockLink, URI: b.URI, MIME: b.MIME, Name: first(b.Title, b.Name), Text: b.Description, Size: max(b.Size, 0)}
	case b.Type == "resource":
		return resourceBlock(raw, b.Resource)
	}
	return jsonBlock(raw)
}

// decodeMembers decodes an object; a member of the wrong type is as if it were
// not there. ok is false for what is no object.
func decodeMembers[T any](raw json.RawMessage) (all T, ok bool) {
	if json.Unmarshal(raw, &all) == nil {
		return all, isObject(raw)
	}
	var members map[string]json.RawMessage
	if len(raw) > maxLenient || json.Unmarshal(raw, &members) != nil {
		return all, false
	}
	var good T
	for name, value := range members { // each alone: a wrong one leaves something of itself behind
		one, err := json.Marshal(map[string]json.RawMessage{name: value})
		var alone T
		if err == nil && json.Unmarshal(one, &alone) == nil {
			_ = json.Unmarshal(one, &good)
		}
	}
	return good, true
}

func resourceBlock(raw, resource json.RawMessage) ports.Block {
	r, ok := decodeMembers[struct {
		URI  string  `json:"uri"`
		MIME string  `json:"mimeType"`
		Text *string `json:"text"`
		Blob *string `json:"blob"`
	}](resource)
	if !ok || r.URI == "" {
		return jsonBlock(raw)
	}
	block := ports.Block{Kind: ports.BlockResource, URI: r.URI, MIME: r.MIME}
	switch {
	case r.Text != nil:
		block.Text = *r.Text
	case r.Blob != nil:
		data, ok := decodeBase64(*r.Blob)
		if !ok {
			return unreadable(ports.BlockResource, r.MIME)
		}
		block.Data = data
	}
	return block
}

func dataBlock(kind ports.BlockKind, mime, encoded string) ports.Block {
	data, ok := decodeBase64(encoded)
	if !ok {
		return unreadable(kind, mime)
	}
	return ports.Block{Kind: kind, MIME: mime, Data: data}
}

func unreadable(kind ports.BlockKind, mime string) ports.Block {
	return ports.Block{Kind: ports.BlockText, Text: "[" + string(kind) + " " + mime + " whose data is not valid base64]"}
}

// decodeBase64 takes the standard alphabet and that for URLs, with or without
// padding, also as a data URI.
func decodeBase64(s string) ([]byte, bool) {
	if head, body, ok := strings.Cut(s, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		s = body
	}
	s = strings.TrimRight(strings.TrimSpace(s), "=")
	data, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		data, err = base64.RawURLEncoding.DecodeString(s)
	}
	return data, err == nil
}

// jsonBlock shows a JSON value as text; a string as what it says. Go takes JSON
// that is not UTF-8, and nobody else does.
func jsonBlock(raw json.RawMessage) ports.Block {
	var s string
	if json.Unmarshal(raw, &s) == nil && !isNull(raw) {
		return ports.Block{Kind: ports.BlockText, Text: s}
	}
	shown := string(raw)
	var compact bytes.Buffer
	if json.Compact(&compact, raw) == nil {
		shown = compact.String()
	}
	return ports.Block{Kind: ports.BlockText, Text: strings.ToValidUTF8(shown, "\uFFFD")}
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
