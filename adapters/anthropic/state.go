package anthropic

import (
	"encoding/json"
	"strings"

	"dragoman/ports"
)

// piece is one block of a reply, as its state keeps it: thinking as it came, and
// of the other blocks where they stood. The wire wants thinking back unchanged and
// in its place, between texts and calls too.
type piece struct {
	Type      string  `json:"type"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
	Bytes     int     `json:"bytes,omitempty"` // of a text
}

func (p piece) thinks() bool { return p.Type == "thinking" || p.Type == "redacted_thinking" }

// whole reports whether a block of thinking came to its end: the wire takes none
// back without what seals it.
func (p piece) whole() bool { return p.Signature != "" || p.Data != "" }

func (p piece) block() block {
	return block{Type: p.Type, Thinking: p.Thinking, Signature: p.Signature, Data: p.Data}
}

// stateOf is nil for a reply without thinking.
func stateOf(pieces []piece) json.RawMessage {
	var kept []piece
	thinks := false
	for _, p := range pieces {
		if p.thinks() && !p.whole() || p.Type == "text" && p.Bytes == 0 {
			continue
		}
		thinks = thinks || p.thinks()
		kept = append(kept, p)
	}
	if !thinks {
		return nil
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return nil // cannot be: these are texts and numbers
	}
	return raw
}

// inPlace is the content of a reply: its text and calls with the thinking among
// them where the model put it. State of another model is left out.
func inPlace(e ports.Entry, model, text string, calls []block) []block {
	var pieces []piece
	if e.Model != model || len(e.State) == 0 || json.Unmarshal(e.State, &pieces) != nil {
		return append(addText(nil, text), calls...)
	}
	if !fits(pieces, text, calls) { // it was edited, or cut: the thinking comes first
		var thoughts []piece
		for _, p := range pieces {
			if p.thinks() {
				thoughts = append(thoughts, p)
			}
		}
		pieces = append(thoughts, piece{Type: "text", Bytes: len(text)})
		for range calls {
			pieces = append(pieces, piece{Type: "tool_use"})
		}
	}
	var out []block
	end := 0 // thinking behind it is left out: no message may end so
	for _, p := range pieces {
		switch {
		case p.thinks():
			out = append(out, p.block())
			continue
		case p.Type == "text":
			out = addText(out, strings.TrimPrefix(text[:p.Bytes], between))
			text = text[p.Bytes:]
		default:
			out, calls = append(out, calls[0]), calls[1:]
		}
		if len(out) > 0 && !(piece{Type: out[len(out)-1].Type}).thinks() {
			end = len(out)
		}
	}
	return out[:end]
}

// fits reports whether the pieces are those of this text and these calls.
func fits(pieces []piece, text string, calls []block) bool {
	bytes, used := 0, 0
	for _, p := range pieces {
		switch {
		case p.Bytes < 0, p.Bytes > len(text):
			return false
		case p.Type == "text":
			bytes += p.Bytes
		case !p.thinks():
			used++
		}
	}
	return bytes == len(text) && used == len(calls)
}
