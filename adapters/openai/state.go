package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"dragoman/adapters/internal/wire"
)

// extras are the fields that a provider adds to the standard, in the pieces in
// which the chunks of a reply brought them. They are opaque: kept, and sent back.
type extras map[string][]json.RawMessage

// notSentBack are additions that a request may not carry.
var notSentBack = map[string]bool{"annotations": true}

// merge adds the fields of a chunk, and tells how many bytes that keeps.
func (x *extras) merge(fields []field) int {
	size := 0
	for _, f := range fields {
		if string(f.raw) == "null" || notSentBack[f.name] {
			continue
		}
		if *x == nil {
			*x = extras{}
		}
		(*x)[f.name] = append((*x)[f.name], f.raw)
		size += len(f.name) + len(f.raw)
	}
	return size
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

// withState is a message or a call with the fields of its state, which go back
// only to those who made them.
func withState(standard any, ours bool, state json.RawMessage) any {
	var fields map[string]json.RawMessage
	if !ours || len(state) == 0 || json.Unmarshal(state, &fields) != nil || len(fields) == 0 {
		return standard
	}
	return extended{standard, fields}
}

// extended is a JSON object with more fields behind its own.
type extended struct {
	standard any
	fields   map[string]json.RawMessage
}

// MarshalJSON sorts the fields: equal ones give equal bytes.
func (e extended) MarshalJSON() ([]byte, error) {
	out, err := wire.Encode(e.standard)
	if err != nil {
		return nil, err
	}
	out = out[:len(out)-1]
	for _, name := range slices.Sorted(maps.Keys(e.fields)) {
		quoted, err := wire.Encode(name)
		if err != nil {
			return nil, err
		}
		out = append(append(out, ','), quoted...)
		out = append(append(out, ':'), e.fields[name]...)
	}
	return append(out, '}'), nil
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
