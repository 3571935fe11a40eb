package promptcalls

import (
	"bytes"
	"encoding/json"
	"regexp"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// nameless is the tool of a call that names none: there is no such tool, and the
// model is told that.
const nameless = "mcp_call"

const blanks = " \t\r\n"

// likeness says how the beginning of an object looks.
type likeness int

const (
	undecided likeness = iota
	unlike             // it is no block
	likely             // it may be one: its end will tell
	evident            // it is one
)

// maxHead is how many bytes may decide it. Only blanks make it so long.
const maxHead = 256

// compare tells what an object that begins with these bytes, "{" included, may be.
// The more of it there is, the surer it gets; it never changes its mind.
func compare(head []byte) likeness {
	rest := bytes.TrimLeft(head[1:], blanks)
	key, isType := []byte(`"params"`), bytes.HasPrefix(rest, []byte(`"t`))
	if isType {
		key = []byte(`"type"`)
	}
	rest, seen := expect(rest, key)
	if seen == evident && !isType {
		return likely
	}
	if seen == evident {
		rest, seen = expect(rest, []byte(`:`))
	}
	if seen == evident {
		_, seen = expect(rest, []byte(`"mcp_call"`))
	}
	if seen == undecided && len(head) > maxHead {
		return unlike
	}
	return seen
}

// expect takes a word and the blanks behind it off the text.
func expect(text, word []byte) ([]byte, likeness) {
	switch {
	case bytes.HasPrefix(text, word):
		return bytes.TrimLeft(text[len(word):], blanks), evident
	case bytes.HasPrefix(word, text):
		return nil, undecided
	}
	return nil, unlike
}

var (
	typeOfCall = regexp.MustCompile(`"type"\s*:\s*"mcp_call"`)
	toolOfCall = regexp.MustCompile(`"tool_name"\s*:\s*("(?:[^"\\]|\\.)+")`)
)

// read makes a call of an object's text; false for an object that is no call. What
// was meant to be a block and is not JSON is a call with its text as the
// arguments, which no schema of a tool takes.
func read(raw []byte) (ports.Call, bool) {
	if !json.Valid(raw) {
		return broken(raw)
	}
	var b struct {
		Type   wire.LooseText             `json:"type"`
		Params map[string]json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal(raw, &b) // it is JSON; params of another form hold nothing
	if b.Type != "mcp_call" {
		return ports.Call{}, false
	}
	call := ports.Call{Name: nameless, Arguments: arguments(b.Params["arguments"])}
	if given := b.Params["tool_name"]; len(given) > 0 {
		if tool := wire.Plain(given); tool != "" {
			call.Name = tool
		}
	}
	return call, true
}

func broken(raw []byte) (ports.Call, bool) {
	if !typeOfCall.Match(raw) {
		return ports.Call{}, false
	}
	call := ports.Call{Name: nameless, Arguments: json.RawMessage(`""`)}
	if m := toolOfCall.FindSubmatch(raw); m != nil {
		var tool string
		if json.Unmarshal(m[1], &tool) == nil {
			call.Name = tool
		}
	}
	if quoted, err := json.Marshal(string(raw)); err == nil {
		call.Arguments = quoted
	}
	return call, true
}

// arguments are what a block gives: {} for nothing, an object in quotes without
// its quotes, as models write it at times.
func arguments(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	var inner string
	if raw[0] == '"' && json.Unmarshal(raw, &inner) == nil && wire.IsObject([]byte(inner)) {
		return json.RawMessage(inner)
	}
	return raw
}
