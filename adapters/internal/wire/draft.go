package wire

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dragoman/ports"
)

// MaxReply bounds the text, the calls and the state of one reply together, in
// bytes: a peer that never ends must not fill the memory. It is far beyond any
// model's output.
const MaxReply = 4 << 20

const callSize = 512 // what a call costs beside its words

// Draft is a reply in the making.
type Draft struct {
	Usage ports.Tokens

	model  string
	onText func(string)
	text   strings.Builder
	calls  []*Call
	size   int // of what is kept, in bytes
}

// Call is a tool call in the making.
type Call struct {
	ID, Name string
	State    json.RawMessage

	args  strings.Builder
	draft *Draft
}

// NewDraft begins a reply of the model with this name. onText may be nil.
func NewDraft(model string, onText func(string)) Draft {
	return Draft{model: model, onText: onText}
}

// Say adds to the visible text and shows it at once.
func (d *Draft) Say(delta string) {
	if delta == "" {
		return
	}
	d.size += len(delta)
	d.text.WriteString(delta)
	if d.onText != nil {
		d.onText(delta)
	}
}

// Keep counts bytes that are kept elsewhere for this reply, its state.
func (d *Draft) Keep(bytes int) { d.size += bytes }

// Full reports whether the reply is larger than any can be.
func (d *Draft) Full() bool { return d.size > MaxReply }

// Call begins a call, the last so far.
func (d *Draft) Call() *Call {
	c := &Call{draft: d}
	d.calls = append(d.calls, c)
	d.size += callSize
	return c
}

// Argue adds a piece to the text of the arguments.
func (c *Call) Argue(piece string) {
	c.args.WriteString(piece)
	c.draft.size += len(piece)
}

// Whole reports whether the arguments are one whole JSON object, which ends by
// itself.
func (c *Call) Whole() bool { return IsObject([]byte(c.args.String())) }

// Done is the whole reply. A reply that ended with calls waits for their
// results, whatever the provider called the end; of one that was cut at its
// limit only those calls remain that are whole for certain: everything else,
// empty arguments included, may be a beginning.
func (d *Draft) Done(stop ports.StopReason) (ports.ModelReply, error) {
	out := ports.ModelReply{Text: d.text.String(), Model: d.model, Stop: stop, Usage: d.Usage}
	if stop == ports.StopLength {
		d.calls = slices.DeleteFunc(d.calls, func(c *Call) bool { return c.Name == "" || !c.Whole() })
	}
	if len(d.calls) == 0 {
		return out, nil
	}
	if stop == ports.StopEnd {
		out.Stop = ports.StopCalls
	}
	seen := map[string]bool{}
	for _, c := range d.calls {
		if c.Name == "" {
			return ports.ModelReply{}, Broken("a tool call has no name", fmt.Errorf("call %d of %d", len(out.Calls)+1, len(d.calls)))
		}
		out.Calls = append(out.Calls, ports.Call{ID: uniqueID(c.ID, seen), Name: c.Name, Arguments: arguments(c.args.String()), State: c.State})
	}
	return out, nil
}

// TextAlone is a reply without its calls, for servers that call although they were
// told not to. A state may speak of the calls, so it goes with them.
func TextAlone(op string, reply ports.ModelReply) (ports.ModelReply, error) {
	if reply.Text == "" {
		err := Broken("a text was asked for", fmt.Errorf("%d calls came instead", len(reply.Calls)))
		return ports.ModelReply{}, &ports.Error{Kind: ports.KindProtocol, Op: op, Err: err}
	}
	reply.Calls, reply.State = nil, nil
	if reply.Stop == ports.StopCalls {
		reply.Stop = ports.StopEnd
	}
	return reply, nil
}

// uniqueID gives a call a name within its reply; results are matched by it.
func uniqueID(id string, seen map[string]bool) string {
	if id == "" {
		id = "call_" + rand.Text()[:20]
	}
	unique := id
	for n := 2; seen[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", id, n)
	}
	seen[unique] = true
	return unique
}

// arguments is what a model wrote, as JSON: {} for nothing, the text as a JSON
// string where it is not JSON, so that the argument check can tell the model.
func arguments(text string) json.RawMessage {
	raw := []byte(strings.TrimSpace(text))
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	if !json.Valid(raw) {
		quoted, err := json.Marshal(text)
		if err != nil {
			return json.RawMessage(`""`)
		}
		return quoted
	}
	var inner string
	if raw[0] == '"' && json.Unmarshal(raw, &inner) == nil && IsObject([]byte(inner)) {
		return json.RawMessage(inner) // encoded twice, as some models do
	}
	return raw
}
