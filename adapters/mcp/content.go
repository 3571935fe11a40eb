package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"dragoman/ports"
)

// maxBlocks is how many pieces of content are taken of one result. A block
// costs more memory than the two bytes that it can be written with.
const maxBlocks = 1000

// decodeResult maps the result of tools/call (MCP server/tools, "Tool Result").
// It is lenient in all that does not change the meaning: an unknown kind of
// content is the text of its JSON, a missing one that of the structured content.
func decodeResult(raw json.RawMessage) (ports.ToolResult, error) {
	var r struct {
		ResultType json.RawMessage `json:"resultType"`
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    json.RawMessage `json:"isError"`
		Task       json.RawMessage `json:"task"`
	}
	if !isObject(raw) {
		return ports.ToolResult{}, malformed("the result of tools/call is no object")
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return ports.ToolResult{}, malformed("the result of tools/call is malformed: %v", err)
	}
	result := ports.ToolResult{IsError: string(r.IsError) == "true" || string(r.IsError) == `"true"`}
	if !isNull(r.Structured) {
		result.Structured = bytes.ToValidUTF8(r.Structured, []byte("\uFFFD"))
	}
	switch {
	case !isNull(r.Content):
		result.Content = decodeContent(r.Content)
	case result.Structured != nil:
		result.Content = []ports.Block{jsonBlock(r.Structured)}
	case !isNull(r.ResultType) && text(r.ResultType) != "complete", !isNull(r.Task):
		return ports.ToolResult{}, malformed("the tool did not finish (a task, or a request for input), which is not supported")
	default:
		return ports.ToolResult{}, malformed("the result of tools/call has no content")
	}
	return result, nil
}

// decodeContent takes a single block, or a text, for a list of it.
func decodeContent(raw json.RawMessage) []ports.Block {
	blocks, over := []ports.Block{}, 0
	err := eachItem(raw, func(one json.RawMessage) bool {
		if len(blocks) == maxBlocks {
			over++
			return true
		}
		blocks = append(blocks, decodeBlock(one))
		return true
	})
	if err != nil {
		return []ports.Block{decodeBlock(raw)}
	}
	if over > 0 {
		blocks = append(blocks, ports.Block{Kind: ports.BlockText, Text: fmt.Sprintf("[%d more pieces of content were left out]", over)})
	}
	return blocks
}

// decodeBlock never fails: what it does not understand is shown as it came.
// Annotations do not count: what is meant for the person alone reaches them only
// through the model.
func decodeBlock(raw json.RawMessage) ports.Block {
	var b struct {
		Type        json.RawMessage `json:"type"`
		Text        json.RawMessage `json:"text"`
		Data        json.RawMessage `json:"data"`
		MIME        json.RawMessage `json:"mimeType"`
		URI         json.RawMessage `json:"uri"`
		Name        json.RawMessage `json:"name"`
		Title       json.RawMessage `json:"title"`
		Description json.RawMessage `json:"description"`
		Size        json.RawMessage `json:"size"`
		Resource    json.RawMessage `json:"resource"`
	}
	if json.Unmarshal(raw, &b) != nil {
		return jsonBlock(raw)
	}
	kind, uri := text(b.Type), text(b.URI)
	switch {
	case kind == "text" && isString(b.Text):
		return ports.Block{Kind: ports.BlockText, Text: text(b.Text)}
	case kind == "image" && isString(b.Data):
		return dataBlock(ports.BlockImage, text(b.MIME), text(b.Data))
	case kind == "audio" && isString(b.Data):
		return dataBlock(ports.BlockAudio, text(b.MIME), text(b.Data))
	case kind == "resource_link" && uri != "":
		return ports.Block{Kind: ports.BlockLink, URI: uri, MIME: text(b.MIME), Name: first(text(b.Title), text(b.Name)),
			Text: text(b.Description), Size: size(b.Size)}
	case kind == "resource":
		return resourceBlock(raw, b.Resource)
	}
	return jsonBlock(raw)
}

func resourceBlock(raw, resource json.RawMessage) ports.Block {
	var r struct {
		URI  json.RawMessage `json:"uri"`
		MIME json.RawMessage `json:"mimeType"`
		Text json.RawMessage `json:"text"`
		Blob json.RawMessage `json:"blob"`
	}
	if json.Unmarshal(resource, &r) != nil || text(r.URI) == "" {
		return jsonBlock(raw)
	}
	block := ports.Block{Kind: ports.BlockResource, URI: text(r.URI), MIME: text(r.MIME)}
	switch {
	case isString(r.Text):
		block.Text = text(r.Text)
	case isString(r.Blob):
		data, ok := decodeBase64(text(r.Blob))
		if !ok {
			return unreadable(ports.BlockResource, block.MIME)
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

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// size is a number of bytes, 0 for anything else.
func size(raw json.RawMessage) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
