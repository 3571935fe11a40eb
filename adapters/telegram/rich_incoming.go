package telegram

import (
	"cmp"
	"encoding/json"
	"strings"
)

// richDepth is how deep a rich message is read; Telegram takes 16 levels.
const richDepth = 64

// richSaid is what a rich message says (https://core.telegram.org/bots/api#richmessage):
// a person forwarded one, or replies to one of ours. A block is a paragraph, a row or an
// item a line; how it looks is left out, and what is not known here too.
func richSaid(raw json.RawMessage) string {
	var m struct {
		Blocks []map[string]any `json:"blocks"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &m) != nil {
		return ""
	}
	var blocks []string
	for _, b := range m.Blocks {
		if text := strings.TrimSpace(richBlock(b, 0)); text != "" {
			blocks = append(blocks, text)
		}
	}
	return strings.Join(blocks, "\n\n")
}

// richBlock is a block's text; lines of it end with a line end.
func richBlock(b map[string]any, depth int) string {
	if depth > richDepth {
		return ""
	}
	var out strings.Builder
	for _, key := range []string{"summary", "text", "expression", "caption"} {
		if text := richWords(b[key], depth+1); text != "" {
			out.WriteString(text + "\n")
		}
	}
	for _, inner := range objects(b["blocks"]) {
		out.WriteString(richBlock(inner, depth+1))
	}
	for _, item := range objects(b["items"]) {
		label, _ := item["label"].(string)
		out.WriteString(cmp.Or(label, "•") + " " + strings.TrimSpace(richBlock(map[string]any{"blocks": item["blocks"]}, depth+1)) + "\n")
	}
	rows, _ := b["cells"].([]any)
	for _, row := range rows {
		var cells []string
		for _, cell := range objects(row) {
			cells = append(cells, richWords(cell["text"], depth+1))
		}
		out.WriteString(strings.Join(cells, " | ") + "\n")
	}
	return out.String()
}

// richWords is a RichText as it reads: a string, a list of them, or one that has a look.
func richWords(text any, depth int) string {
	if depth > richDepth {
		return ""
	}
	switch text := text.(type) {
	case string:
		return text
	case []any:
		var b strings.Builder
		for _, part := range text {
			b.WriteString(richWords(part, depth+1))
		}
		return b.String()
	case map[string]any:
		for _, key := range []string{"text", "expression", "alternative_text"} {
			if words := richWords(text[key], depth+1); words != "" {
				return words
			}
		}
	}
	return ""
}

// objects are the objects of a list.
func objects(list any) []map[string]any {
	all, _ := list.([]any)
	var out []map[string]any
	for _, o := range all {
		if m, ok := o.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
