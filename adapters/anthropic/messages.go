package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// What is said where the wire demands a message and there is none.
const (
	beginning = "(The conversation began earlier.)"
	goOn      = "Go on."
	noResult  = "No result of this call was recorded."
)

// talk brings entries into the form that the wire demands: a user begins and
// ends, roles alternate, and the results of a message's calls are the first of the
// next one, each once.
type talk struct {
	model string
	out   []message

	// The user's message in the making.
	results, said []block

	open []string          // wire's ids of the last message's calls that have no result yet
	ids  map[string]string // of the last message's calls: the wire's by the entry's
	used map[string]bool   // wire's ids
}

func (m *Model) messages(entries []ports.Entry) []message {
	t := &talk{model: m.name, used: map[string]bool{}}
	for _, e := range entries {
		switch e.Role {
		case ports.RoleUser:
			t.said = addText(t.said, e.Text)
			for _, b := range e.Blocks {
				t.said = addMedia(t.said, b)
			}
		case ports.RoleTool:
			t.result(e)
		case ports.RoleAssistant:
			t.assistant(e)
		}
	}
	t.endUser()
	if last := len(t.out) - 1; last < 0 || t.out[last].Role != "user" {
		// Newer models refuse to go on with a text that they are said to have begun.
		t.out = append(t.out, message{Role: "user", Content: addText(nil, goOn)})
	}
	return t.out
}

// result takes what a call gave. One whose call is not in the message before
// has no place on the wire but in words.
func (t *talk) result(e ports.Entry) {
	id, ok := t.ids[e.CallID]
	at := slices.Index(t.open, id)
	if !ok || at < 0 {
		t.said = addText(t.said, "The result of an earlier tool call: "+e.Text)
		for _, b := range e.Blocks {
			t.said = addMedia(t.said, b)
		}
		return
	}
	t.open = slices.Delete(t.open, at, at+1)
	result, shown := resultBlock(id, e)
	t.results = append(t.results, result)
	t.said = append(t.said, shown...)
}

// assistant takes a reply. One that says nothing is left out: the wire refuses it.
func (t *talk) assistant(e ports.Entry) {
	text := e.Text
	for _, b := range e.Blocks {
		text = wire.JoinLines(text, wire.BlockText(b))
	}
	if strings.TrimSpace(text) == "" && len(e.Calls) == 0 {
		return
	}
	t.endUser()
	calls := t.calls(e.Calls)
	content := inPlace(e, t.model, text, calls)
	if len(t.out) == 0 {
		t.out = append(t.out, message{Role: "user", Content: addText(nil, beginning)})
	}
	if last := &t.out[len(t.out)-1]; last.Role == "assistant" {
		last.Content = append(last.Content, content...)
		return
	}
	t.out = append(t.out, message{Role: "assistant", Content: content})
}

// endUser ends the user's message. Calls that have no result get one that says so.
func (t *talk) endUser() {
	for _, id := range t.open {
		t.results = append(t.results, block{Type: "tool_result", ToolUseID: id, IsError: true, Content: addText(nil, noResult)})
	}
	if content := append(t.results, t.said...); len(content) > 0 {
		t.out = append(t.out, message{Role: "user", Content: content})
	}
	t.results, t.said, t.open, t.ids = nil, nil, nil, nil
}

// calls are the calls of a reply, under ids that the wire takes.
func (t *talk) calls(calls []ports.Call) []block {
	if len(calls) == 0 {
		return nil
	}
	t.ids = map[string]string{}
	var out []block
	for _, c := range calls {
		id := t.id(c.ID)
		t.ids[c.ID] = id
		t.open = append(t.open, id)
		out = append(out, block{Type: "tool_use", ID: id, Name: toolName(c.Name), Input: json.RawMessage(wire.ReplayArguments(c.Arguments))})
	}
	return out
}

// id is a call's id in the wire's form, and used once: another provider may have
// made it, with other letters, or the same for each of its replies.
func (t *talk) id(id string) string {
	if !plainName(id) {
		id = rename(id)
	}
	unique := id
	for n := 2; t.used[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", id, n)
	}
	t.used[unique] = true
	return unique
}

// toolName is a tool's name in the wire's form: a model may have called one that
// never was.
func toolName(name string) string {
	if plainName(name) && len(name) <= 64 {
		return name
	}
	return rename(name)
}

func plainName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !isPlain(r) })
}

func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// rename is the same for the same name and another for another one.
func rename(name string) string {
	plain := strings.Map(func(r rune) rune {
		if isPlain(r) {
			return r
		}
		return '_'
	}, name)
	sum := sha256.Sum256([]byte(name))
	return plain[:min(len(plain), 40)] + "_" + hex.EncodeToString(sum[:6])
}
