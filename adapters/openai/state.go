package openai

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3/packages/respjson"
)

// extras are the fields that a provider adds to the standard, in the pieces in
// which the chunks of a reply brought them. They are opaque: kept, and sent back.
type extras map[string][]json.RawMessage

// notSentBack are additions that a request may not carry.
var notSentBack = map[string]bool{"annotations": true}

func (x extras) merge(fields map[string]respjson.Field) {
	for name, f := range fields {
		raw := json.RawMessage(strings.TrimSpace(f.Raw()))
		if len(raw) == 0 || string(raw) == "null" || notSentBack[name] {
			continue
		}
		x[name] = append(x[name], raw)
	}
}

// state is the JSON object of all fields, nil if there are none.
func (x extras) state() json.RawMessage {
	if len(x) == 0 {
		return nil
	}
	whole := make(map[string]json.RawMessage, len(x))
	for name, pieces := range x {
		whole[name] = joinPieces(pieces)
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return nil // cannot be: the pieces are parts of a frame that was parsed
	}
	return raw
}

// extraFields reads a state back into what the SDK adds to a message. nil: none.
func extraFields(state json.RawMessage) map[string]any {
	var fields map[string]json.RawMessage
	if len(state) == 0 || json.Unmarshal(state, &fields) != nil || len(fields) == 0 {
		return nil
	}
	out := make(map[string]any, len(fields))
	for name, raw := range fields {
		out[name] = raw
	}
	return out
}

// joinPieces makes one value of what came piece by piece: strings and lists go
// on where the piece before left off (reasoning_content, reasoning_details); of
// anything else the last piece counts.
func joinPieces(pieces []json.RawMessage) json.RawMessage {
	last := pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return last
	}
	var joined any
	switch last[0] {
	case '"':
		var all strings.Builder
		for _, p := range pieces {
			var s string
			if json.Unmarshal(p, &s) != nil {
				return last
			}
			all.WriteString(s)
		}
		joined = all.String()
	case '[':
		var all []json.RawMessage
		for _, p := range pieces {
			var list []json.RawMessage
			if json.Unmarshal(p, &list) != nil {
				return last
			}
			all = append(all, list...)
		}
		joined = all
	default:
		return last
	}
	raw, err := json.Marshal(joined)
	if err != nil {
		return last
	}
	return raw
}
