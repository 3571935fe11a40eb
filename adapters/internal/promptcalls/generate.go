package promptcalls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// Mode is the key of a model's section that chooses between the wire's tool calls
// and those in words. It is to be embedded in an adapter's Config.
type Mode struct {
	ToolCalls string `json:"tool_calls" validate:"oneof=native prompt" default:"native" doc:"prompt is for models that know no tool calls: the tools are described in the prompt, and called by a block of JSON"`
}

// InWords reports whether the model is asked by Generate.
func (m Mode) InWords() bool { return m.ToolCalls == "prompt" }

// CheckMode finds what the tag finds in a file, for literals; "" is native.
func (m Mode) CheckMode() error {
	switch m.ToolCalls {
	case "", "native", "prompt":
		return nil
	}
	return fmt.Errorf("tool_calls %q is not known (native or prompt)", m.ToolCalls)
}

// Ask asks a model over its wire, as ports.ModelPort's Generate does.
type Ask func(ctx context.Context, r ports.ModelRequest, onText func(delta string)) (ports.ModelReply, error)

// Generate is ports.ModelPort's Generate for a model that is asked by ask and has
// no tool calls of its own. Its errors are those of ask.
func Generate(ctx context.Context, r ports.ModelRequest, onText func(delta string), ask Ask) (ports.ModelReply, error) {
	if len(r.Tools) == 0 && !slices.ContainsFunc(r.Entries, func(e ports.Entry) bool { return len(e.Calls) > 0 }) {
		return ask(ctx, r, onText) // it was never told of calls
	}
	f := newFilter(onText, r.NoCalls || len(r.Tools) == 0)
	var aloud wire.Thoughts // a server of models that know no tools often leaves them in
	reply, err := ask(ctx, inWords(r), func(delta string) { f.write(aloud.Sift(delta)) })
	if err != nil {
		return ports.ModelReply{}, err
	}
	f.write(aloud.Rest())
	f.end(reply.Stop == ports.StopLength)
	reply.Text = f.said.String()
	reply.Calls = append(reply.Calls, f.calls...) // a server may know of calls all the same
	if len(reply.Calls) > 0 && reply.Stop == ports.StopEnd {
		reply.Stop = ports.StopCalls
	}
	name(reply.Calls, r)
	return reply, nil
}

// name gives the calls their ids: by what was said before them, so that they are
// the same whenever this reply is read, and others in every other place.
func name(calls []ports.Call, r ports.ModelRequest) {
	if len(calls) == 0 {
		return
	}
	seen := map[string]bool{}
	place := sha256.New()
	add(place, r.CacheKey)
	for _, e := range r.Entries {
		add(place, string(e.Role), e.Text, e.CallID)
		for _, c := range e.Calls {
			add(place, c.ID)
			seen[c.ID] = true
		}
	}
	base := "call_" + hex.EncodeToString(place.Sum(nil))[:20]
	for i := range calls {
		if calls[i].ID != "" && !seen[calls[i].ID] { // the server's own
			seen[calls[i].ID] = true
			continue
		}
		id := base
		for n := i + 1; i > 0 && id == base || seen[id]; n++ {
			id = fmt.Sprintf("%s_%d", base, n)
		}
		calls[i].ID, seen[id] = id, true
	}
}

// add writes texts so that no two lists of them give the same bytes.
func add(to hash.Hash, texts ...string) {
	for _, t := range texts {
		_, _ = fmt.Fprintf(to, "%d:", len(t)) // a hash takes everything
		_, _ = io.WriteString(to, t)
	}
}
