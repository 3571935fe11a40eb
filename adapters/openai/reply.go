package openai

import (
	"errors"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// reply gathers the chunks of one reply.
type reply struct {
	wire.Draft

	sift   bool // the text may begin with thoughts
	aloud  wire.Thoughts
	calls  []*call
	open   map[int]*call // the call that a fragment with this index belongs to
	extra  extras
	finish string
}

var _ wire.Reader = (*reply)(nil)

// call is a tool call in the making.
type call struct {
	*wire.Call
	extra extras
}

func newReply(model string, onText func(string)) *reply {
	return &reply{Draft: wire.NewDraft(model, onText), open: map[int]*call{}}
}

func (r *reply) add(c chunk) {
	if u := c.Usage; u != nil { // some servers send a running count with each chunk
		r.Usage = ports.Tokens{
			Input:       int(u.PromptTokens),
			CachedInput: int(u.PromptTokensDetails.CachedTokens),
			CacheWrite:  int(u.PromptTokensDetails.CacheWriteTokens),
			Output:      int(u.CompletionTokens),
		}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		r.say(choice.Delta.content)
		r.Say(choice.Delta.refusal) // the model's own words of refusal are an answer to the person
		for _, f := range choice.Delta.calls {
			if f.object {
				r.addCall(f)
			}
		}
		r.Keep(r.extra.merge(choice.Delta.extra))
		if choice.FinishReason != "" {
			r.finish = string(choice.FinishReason)
		}
	}
}

// say shows a text, without what was thought before it. What is not shown counts
// too: it must have an end.
func (r *reply) say(text string) {
	if !r.sift {
		r.Say(text)
		return
	}
	said := r.aloud.Sift(text)
	r.Keep(len(text) - len(said))
	r.Say(said)
}

func (r *reply) addCall(f fragment) {
	c := r.open[f.index]
	if c == nil || startsAnother(c, f) {
		c = &call{Call: r.Call()}
		r.open[f.index] = c
		r.calls = append(r.calls, c)
	}
	if c.ID == "" {
		c.ID = f.id
	}
	if c.Name == "" {
		c.Name = f.name
	}
	c.Argue(f.args)
	r.Keep(c.extra.merge(f.extra))
}

// startsAnother tells whether a fragment begins a new call although its index is
// in use: some compatible servers number every call 0.
func startsAnother(c *call, f fragment) bool {
	if f.name == "" || c.Name == "" {
		return false
	}
	if f.id != "" && c.ID != "" {
		return f.id != c.ID
	}
	return f.id == "" && c.ID == "" && f.args != "" && c.Whole()
}

// Reply is the whole reply. Its end is marked by a finish_reason.
func (r *reply) Reply() (ports.ModelReply, bool, error) {
	stop := ports.StopEnd // many servers say "stop" behind calls too
	switch r.finish {
	case "":
		return ports.ModelReply{}, false, nil
	case "content_filter":
		return ports.ModelReply{}, true, wire.Declined(r.finish)
	case "error": // OpenRouter's word for a provider that failed behind it
		return ports.ModelReply{}, true, wire.Broken("the reply broke off", errors.New("finish_reason error"))
	case "length":
		stop = ports.StopLength
	}
	r.Say(r.aloud.Rest())
	for _, c := range r.calls {
		c.State = c.extra.state()
	}
	out, err := r.Done(stop)
	if err != nil {
		return ports.ModelReply{}, true, err
	}
	out.State = r.extra.state()
	return out, true, nil
}
