package openai

import (
	"encoding/json"
	"slices"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// mark is one item of a reply in its state, a list of them: reasoning as it
// came, and where between it the message's text and the calls stand. A list,
// since the state of the other wire is an object: neither takes the other for
// its own.
type mark struct {
	Type    string          `json:"type"`
	Size    int             `json:"size,omitempty"` // of a message: how many bytes of the entry's text are its
	Phase   string          `json:"phase,omitempty"`
	Cipher  string          `json:"encrypted_content,omitempty"`
	Summary json.RawMessage `json:"summary,omitempty"`
}

// stateOf is nil where the entry says it all: one text at most, then the calls.
func stateOf(items []*item) json.RawMessage {
	marks := make([]mark, len(items))
	plain := true
	for i, it := range items {
		marks[i] = mark{Type: it.kind, Phase: it.phase}
		switch it.kind {
		case "message":
			marks[i].Size = it.said.Len()
			plain = plain && i == 0 && it.phase == ""
		case "reasoning":
			marks[i].Cipher, marks[i].Summary = it.cipher, it.summary
			plain = false
		}
	}
	if plain {
		return nil
	}
	raw, err := wire.Encode(marks)
	if err != nil {
		return nil // cannot be: the summary is a part of an event that was parsed
	}
	return raw
}

// assistantItems are what the model said in an entry. Its state puts them in the
// order in which they came, unless it is not of this entry.
func (m *Model) assistantItems(out []any, e ports.Entry, with options) []any {
	text := e.Text
	for _, b := range e.Blocks {
		text = wire.JoinLines(text, wire.BlockText(b))
	}
	if with.state && e.Model == m.name && len(e.Blocks) == 0 {
		if items, ok := replayed(e, m.cfg.InWords()); ok {
			return append(out, items...)
		}
	}
	if text != "" {
		out = append(out, inputMessage{Type: "message", Role: "assistant", Content: text})
	}
	for _, c := range e.Calls {
		out = append(out, callItem(c))
	}
	return out
}

// replayed is false for a state that does not fit its entry. In words the text has
// the calls in it, as the model wrote them or nearly so: its one message is all of it.
func replayed(e ports.Entry, inWords bool) ([]any, bool) {
	var marks []mark
	if json.Unmarshal(e.State, &marks) != nil {
		return nil, false
	}
	isMessage := func(k mark) bool { return k.Type == "message" }
	if at := slices.IndexFunc(marks, isMessage); inWords && at >= 0 && !slices.ContainsFunc(marks[at+1:], isMessage) {
		marks[at].Size = len(e.Text)
	}
	text, calls := e.Text, e.Calls
	var items []any
	for _, k := range marks {
		switch k.Type {
		case "message":
			if len(text) != len(e.Text) { // not the first
				text = text[min(len(between), len(text)):]
			}
			if k.Size <= 0 || k.Size > len(text) {
				return nil, false
			}
			items = append(items, inputMessage{Type: "message", Role: "assistant", Content: text[:k.Size], Phase: k.Phase})
			text = text[k.Size:]
		case "function_call":
			if len(calls) == 0 {
				return nil, false
			}
			items, calls = append(items, callItem(calls[0])), calls[1:]
		case "reasoning":
			if len(k.Summary) == 0 || k.Summary[0] != '[' {
				k.Summary = json.RawMessage("[]") // required, and may be empty
			}
			items = append(items, reasoningItem{Type: "reasoning", Summary: k.Summary, EncryptedContent: k.Cipher})
		}
	}
	return items, text == "" && len(calls) == 0
}
