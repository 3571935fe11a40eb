package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/ports"
)

// reply gathers the chunks of one reply.
type reply struct {
	model  string
	onText func(string)

	chunks int
	size   int // of what is kept, in bytes
	text   strings.Builder
	calls  []*call
	open   map[int]*call // the call that a fragment with this index belongs to
	extra  extras
	finish string
	usage  ports.Tokens
}

// call is a tool call in the making.
type call struct {
	id, name string
	args     strings.Builder
	extra    extras
}

func newReply(model string, onText func(string)) *reply {
	return &reply{model: model, onText: onText, open: map[int]*call{}}
}

// maxReply bounds the text, the calls and the state of one reply together: a peer
// that never ends must not fill the memory. It is far beyond any model's output.
const (
	maxReply = 4 << 20
	callSize = 512 // what a call costs beside its words
)

// full reports whether the reply is larger than any can be.
func (r *reply) full() bool { return r.size > maxReply }

func (r *reply) add(c chunk) {
	r.chunks++
	if u := c.Usage; u != nil { // some servers send a running count with each chunk
		r.usage = ports.Tokens{
			Input:       int(u.PromptTokens),
			CachedInput: int(u.PromptTokensDetails.CachedTokens),
			Output:      int(u.CompletionTokens),
		}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		r.say(choice.Delta.content)
		r.say(choice.Delta.refusal) // the model's own words of refusal are an answer to the person
		for _, f := range choice.Delta.calls {
			if f.object {
				r.addCall(f)
			}
		}
		r.size += r.extra.merge(choice.Delta.extra)
		if choice.FinishReason != "" {
			r.finish = string(choice.FinishReason)
		}
	}
}

func (r *reply) say(delta string) {
	if delta == "" {
		return
	}
	r.size += len(delta)
	r.text.WriteString(delta)
	if r.onText != nil {
		r.onText(delta)
	}
}

func (r *reply) addCall(f fragment) {
	c := r.open[f.index]
	if c == nil || startsAnother(c, f) {
		c = &call{}
		r.open[f.index] = c
		r.calls = append(r.calls, c)
		r.size += callSize
	}
	if c.id == "" {
		c.id = f.id
	}
	if c.name == "" {
		c.name = f.name
	}
	c.args.WriteString(f.args)
	r.size += len(f.args) + c.extra.merge(f.extra)
}

// startsAnother tells whether a fragment begins a new call although its index is
// in use: some compatible servers number every call 0.
func startsAnother(c *call, f fragment) bool {
	if f.name == "" || c.name == "" {
		return false
	}
	if f.id != "" && c.id != "" {
		return f.id != c.id
	}
	return f.id == "" && c.id == "" && f.args != "" && isObject([]byte(c.args.String()))
}

// done is the whole reply. It is called only after a finish_reason.
func (r *reply) done() (ports.ModelReply, error) {
	out := ports.ModelReply{Text: r.text.String(), State: r.extra.state(), Model: r.model, Stop: ports.StopEnd, Usage: r.usage}
	switch r.finish {
	case "content_filter":
		return ports.ModelReply{}, &refusal{reason: r.finish}
	case "error": // OpenRouter's word for a provider that failed behind it
		return ports.ModelReply{}, &protocolError{what: "the reply broke off", err: errors.New("finish_reason error")}
	case "length":
		out.Stop = ports.StopLength
		r.calls = slices.DeleteFunc(r.calls, (*call).cut)
	}
	if len(r.calls) == 0 {
		return out, nil
	}
	if out.Stop == ports.StopEnd {
		out.Stop = ports.StopCalls // many servers say "stop" all the same
	}
	seen := map[string]bool{}
	for _, c := range r.calls {
		if c.name == "" {
			return ports.ModelReply{}, &protocolError{what: "a tool call has no name", err: fmt.Errorf("call %d of %d", len(out.Calls)+1, len(r.calls))}
		}
		out.Calls = append(out.Calls, ports.Call{
			ID:        uniqueID(c.id, seen),
			Name:      c.name,
			Arguments: arguments(c.args.String()),
			State:     c.extra.state(),
		})
	}
	return out, nil
}

// cut tells that the token limit may have fallen into this call. A JSON object
// that is whole ends by itself; everything else, empty arguments included, may
// be a beginning.
func (c *call) cut() bool { return c.name == "" || !isObject([]byte(c.args.String())) }

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
	if raw[0] == '"' && json.Unmarshal(raw, &inner) == nil && isObject([]byte(inner)) {
		return json.RawMessage(inner) // encoded twice, as some models do
	}
	return raw
}

// isObject reports whether raw is one whole JSON object.
func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
