package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// answerResponses makes one reply over POST responses. What is optional in a
// request, and refused, is left out and the request sent again: nothing else
// would ever be answered, and nothing was shown or paid for yet.
func (m *Model) answerResponses(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	with := options{cipher: !m.noCipher.Load(), state: true}
	for {
		reply, err := m.client.Generate(ctx, func() ([]byte, error) { return m.responsesBody(r, with) }, newAnswer(m.name, onText))
		var refused *wire.ProviderError
		switch errors.As(err, &refused); {
		case refused == nil:
			return reply, err
		case with.cipher && saysNoCipher(refused.Problem):
			m.noCipher.Store(true) // models that do not reason
			with.cipher = false
		case with.state && refused.Problem.Code == "invalid_encrypted_content":
			with.state = false // the key is of another organization by now
		default:
			return reply, err
		}
	}
}

// options are the parts of a request that a server may refuse.
type options struct {
	cipher bool // asks for the reasoning, encrypted
	state  bool // sends it back
}

// answer gathers the events of one reply: implements wire.Reader.
type answer struct {
	wire.Draft
	model string
	items map[int]*item
	order []*item
	spoke *item // the message that the last text was of
	end   *ending
}

func newAnswer(model string, onText func(string)) *answer {
	return &answer{Draft: wire.NewDraft(model, onText), model: model, items: map[int]*item{}}
}

// event is one of the stream, as far as it is read here.
type event struct {
	Type        wire.LooseText `json:"type"`
	OutputIndex wire.LooseInt  `json:"output_index"`
	Delta       wire.LooseText `json:"delta"`
	Arguments   wire.LooseText `json:"arguments"`
	Item        *outputItem    `json:"item"`
	Response    *ending        `json:"response"`
}

// ending is the response of the event that ends the stream.
type ending struct {
	Status            wire.LooseText  `json:"status"`
	Error             json.RawMessage `json:"error"`
	IncompleteDetails struct {
		Reason wire.LooseText `json:"reason"`
	} `json:"incomplete_details"`
	Output []*outputItem  `json:"output"`
	Usage  responsesUsage `json:"usage"`
}

type responsesUsage struct {
	InputTokens        wire.LooseInt `json:"input_tokens"`
	OutputTokens       wire.LooseInt `json:"output_tokens"`
	InputTokensDetails struct {
		CachedTokens     wire.LooseInt `json:"cached_tokens"`
		CacheWriteTokens wire.LooseInt `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
}

// Read takes one event of the stream.
func (a *answer) Read(e wire.Event) error {
	if string(e.Data) == "[DONE]" { // some servers end this wire as the other one
		return io.EOF
	}
	v, err := readEvent(e)
	if err != nil {
		return wire.Broken("an event of the stream is not a JSON object", err)
	}
	switch v.Type {
	case "response.output_text.delta", "response.refusal.delta":
		a.say(a.item(int(v.OutputIndex), "message"), string(v.Delta))
	case "response.function_call_arguments.delta":
		a.item(int(v.OutputIndex), "function_call").args.WriteString(string(v.Delta))
		a.Keep(len(v.Delta))
	case "response.function_call_arguments.done":
		a.Keep(a.item(int(v.OutputIndex), "function_call").argued(string(v.Arguments)))
	case "response.output_item.added":
		if o := v.Item; o != nil {
			a.take(a.begin(int(v.OutputIndex), string(o.Type)), o, false)
		}
	case "response.output_item.done":
		if o := v.Item; o != nil {
			a.take(a.item(int(v.OutputIndex), string(o.Type)), o, true)
		}
	case "response.completed", "response.incomplete":
		return a.finish(v, e.Data)
	case "response.failed":
		return failed(v.Response, e.Data)
	case "error":
		return wire.Failed(e.Data)
	case "": // an error that came without the name of its event
		if problem := wire.Failed(e.Data); hasWords(problem) {
			return problem
		}
	}
	return nil
}

// readEvent decodes an event, whose type may stand in its name alone.
func readEvent(e wire.Event) (event, error) {
	var v event
	err := json.Unmarshal(e.Data, &v)
	// The decoder skips a field of another type and fills in the others.
	if odd := (*json.UnmarshalTypeError)(nil); errors.As(err, &odd) && e.Data[0] == '{' {
		err = nil
	}
	if v.Type == "" {
		v.Type = wire.LooseText(e.Name)
	}
	return v, err
}

// finish takes the event that ends a reply; io.EOF says that it did.
func (a *answer) finish(v event, data []byte) error {
	a.end = v.Response
	if a.end == nil {
		a.end = &ending{}
	}
	switch a.end.Status {
	case "failed", "cancelled":
		return failed(a.end, data)
	case "incomplete", "completed":
	default:
		a.end.Status = v.Type[len("response."):]
	}
	if len(a.order) == 0 { // a server that streams nothing but the end
		for i, o := range a.end.Output {
			if o != nil {
				a.take(a.begin(i, string(o.Type)), o, true)
			}
		}
	}
	u := a.end.Usage
	a.Usage = ports.Tokens{
		Input:       int(u.InputTokens),
		CachedInput: int(u.InputTokensDetails.CachedTokens),
		CacheWrite:  int(u.InputTokensDetails.CacheWriteTokens),
		Output:      int(u.OutputTokens),
	}
	return io.EOF
}

// failed is the error in a response, else what little the event says.
func failed(end *ending, data []byte) error {
	if end == nil || len(end.Error) == 0 || string(end.Error) == "null" {
		return wire.Failed(data)
	}
	inner, err := wire.Encode(map[string]json.RawMessage{"error": end.Error})
	if err != nil {
		return wire.Failed(data)
	}
	return wire.Failed(inner)
}

// hasWords reports whether an error came with any words of the provider.
func hasWords(err error) bool {
	var e *wire.ProviderError
	return errors.As(err, &e) && e.Problem != (wire.Problem{})
}

// Reply is the whole reply, once its end was marked.
func (a *answer) Reply() (ports.ModelReply, bool, error) {
	if a.end == nil {
		return ports.ModelReply{}, false, nil
	}
	stop := ports.StopEnd
	if a.end.Status == "incomplete" {
		switch reason := string(a.end.IncompleteDetails.Reason); reason {
		case "", "max_output_tokens", "max_tokens":
			stop = ports.StopLength
		case "content_filter":
			return ports.ModelReply{}, true, wire.Declined(reason)
		default:
			return ports.ModelReply{}, true, wire.Broken("the reply broke off", fmt.Errorf("incomplete: %q", reason))
		}
	}
	kept := a.kept(stop)
	for _, it := range kept {
		if it.kind == "function_call" {
			c := a.Call()
			c.ID, c.Name = it.callID, it.name
			c.Argue(it.args.String())
		}
	}
	reply, err := a.Done(stop)
	if err == nil {
		reply.State = stateOf(kept)
	}
	return reply, true, err
}
