package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// outputItem is one item of a response as the wire has it: at its beginning, at
// its end, and once more in the response that ends the stream.
type outputItem struct {
	Type             wire.LooseText  `json:"type"`
	CallID           wire.LooseText  `json:"call_id"`
	Name             wire.LooseText  `json:"name"`
	Arguments        wire.LooseText  `json:"arguments"`
	Phase            wire.LooseText  `json:"phase"`
	EncryptedContent wire.LooseText  `json:"encrypted_content"`
	Summary          json.RawMessage `json:"summary"`
	Content          []outputContent `json:"content"`
}

type outputContent struct {
	Type    wire.LooseText `json:"type"`
	Text    wire.LooseText `json:"text"`
	Refusal wire.LooseText `json:"refusal"`
}

// item is one of a reply in the making.
type item struct {
	kind         string // message, function_call, reasoning, or one that is of no use here
	said         strings.Builder
	phase        string
	callID, name string
	args         strings.Builder
	cipher       string
	summary      json.RawMessage
}

// itemSize is what an item costs beside its words.
const itemSize = 512

// between parts the messages of a reply that has several: what a model says
// before it thinks on, and its answer.
const between = "\n\n"

// begin makes an item; the one that had its index before is whole.
func (a *answer) begin(index int, kind string) *item {
	it := &item{kind: kind}
	a.items[index] = it
	a.order = append(a.order, it)
	a.Keep(itemSize)
	return it
}

// item is the one of a kind at an index, made where nothing began it.
func (a *answer) item(index int, kind string) *item {
	if it := a.items[index]; it != nil && it.kind == kind {
		return it
	}
	return a.begin(index, kind)
}

// say shows a piece of a message. Both a text and a refusal are the model's own
// words to the person.
func (a *answer) say(it *item, delta string) {
	if delta == "" {
		return
	}
	if a.spoke != nil && a.spoke != it {
		a.Say(between)
	}
	a.spoke = it
	it.said.WriteString(delta)
	a.Say(delta)
}

// take fills in an item. Of what came in pieces before only the rest is new, and
// what an item has at its beginning may be less than all.
func (a *answer) take(it *item, o *outputItem, done bool) {
	switch it.kind {
	case "message":
		if o.Phase != "" {
			it.phase = string(o.Phase)
		}
		if rest, ok := strings.CutPrefix(o.text(), it.said.String()); ok && done {
			a.say(it, rest)
		}
	case "function_call":
		if o.CallID != "" {
			it.callID = string(o.CallID)
		}
		if o.Name != "" {
			it.name = string(o.Name)
		}
		a.Keep(it.argued(string(o.Arguments)))
	case "reasoning":
		if done {
			it.cipher, it.summary = string(o.EncryptedContent), o.Summary
			a.Keep(len(it.cipher) + len(it.summary))
		}
	}
}

// text is all that a message says.
func (o *outputItem) text() string {
	var all strings.Builder
	for _, c := range o.Content {
		switch c.Type {
		case "output_text", "text":
			all.WriteString(string(c.Text))
		case "refusal":
			all.WriteString(string(c.Refusal))
		}
	}
	return all.String()
}

// argued has the arguments whole, and tells by how much they grew.
func (it *item) argued(whole string) int {
	grown := len(whole) - it.args.Len()
	if whole != "" && whole != it.args.String() {
		it.args.Reset()
		it.args.WriteString(whole)
	}
	return max(grown, 0)
}

// kept are the items that the reply consists of. A call that the limit may have
// cut is none of them, and reasoning that nothing follows is refused when it is
// sent back.
func (a *answer) kept(stop ports.StopReason) []*item {
	all := slices.DeleteFunc(a.order, func(it *item) bool {
		switch it.kind {
		case "message":
			return it.said.Len() == 0
		case "function_call":
			return stop == ports.StopLength && (it.name == "" || !wire.IsObject([]byte(it.args.String())))
		case "reasoning":
			return it.cipher == ""
		}
		return true
	})
	for len(all) > 0 && all[len(all)-1].kind == "reasoning" {
		all = all[:len(all)-1]
	}
	return all
}
