package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"dragoman/ports"
)

// bodyVersion is written into every row, so that a later binary can read turns
// that an earlier one parked.
const bodyVersion = 1

// The bodies of the journal's rows.
type (
	replyBody struct {
		V     int              `json:"v"`
		Text  string           `json:"text,omitempty"`
		Calls []ports.Call     `json:"calls,omitempty"` // the intents
		State json.RawMessage  `json:"state,omitempty"`
		Model string           `json:"model"`
		Stop  ports.StopReason `json:"stop"`
		Usage *ports.Tokens    `json:"usage,omitempty"` // nil where the provider did not say
		Guess int              `json:"guess,omitempty"` // what we took the prompt for, in tokens
		At    time.Time        `json:"at,omitzero"`     // when the reply was there
	}
	startBody struct {
		V     int         `json:"v"`
		Class ports.Class `json:"class"`
		Key   string      `json:"key"`
	}
	inputBody struct {
		V     int        `json:"v"`
		Seq   []int64    `json:"seq,omitempty"`   // of the messages that joined
		Files []fileNote `json:"files,omitempty"` // what became of attachments
	}
	resultBody struct {
		V int `json:"v"`
		ports.CallResult
	}
	memoBody struct {
		V        int    `json:"v"`
		Upto     string `json:"upto"`               // the last turn that it stands for; "" = there was none before
		Text     string `json:"text"`               // "" = nothing is said of them any more
		Model    string `json:"model,omitempty"`    // who wrote it
		Messages int    `json:"messages,omitempty"` // that it stands for and no memo before it did
	}
	finalBody struct {
		V    int    `json:"v"`
		Text string `json:"text,omitempty"` // what the person was told, where it is not the last reply
		Kind string `json:"kind,omitempty"` // of the failure
	}
)

// round is a reply with what became of its calls so far, as the journal has it.
type round struct {
	step  int // of the reply
	reply replyBody
	calls []callState
}

// callState is one call of a round.
type callState struct {
	started bool // a start row is there
	class   ports.Class
	result  *ports.CallResult
	sought  bool // its server was asked, in this activation, whether it still has it
}

// open reports whether a call of the round has no result yet.
func (r *round) open() bool {
	for _, c := range r.calls {
		if c.result == nil {
			return true
		}
	}
	return false
}

// failed is the name of the first tool that failed in the round: one that never
// ran, or that its person refused or ended, did not.
func (r *round) failed() string {
	for i, c := range r.calls {
		if c.result == nil {
			continue
		}
		switch c.result.Outcome {
		case ports.CallToolError, ports.CallTimeout, ports.CallTransport, ports.CallProtocol:
			return r.reply.Calls[i].Name
		}
	}
	return ""
}

// lastRound reads the journal's last reply and what followed it, nil if the
// model has not replied yet.
func lastRound(steps []ports.Step) (*round, error) {
	var r *round
	for _, s := range steps {
		if s.Kind == ports.StepReply {
			r = &round{step: s.Index}
			if err := read(s, &r.reply); err != nil {
				return nil, err
			}
			r.calls = make([]callState, len(r.reply.Calls))
			continue
		}
		if r == nil || s.Call < 0 || s.Call >= len(r.calls) {
			continue
		}
		if err := r.follow(s); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// follow applies a start or a result row.
func (r *round) follow(s ports.Step) error {
	c := &r.calls[s.Call]
	switch s.Kind {
	case ports.StepStart:
		var b startBody
		if err := read(s, &b); err != nil {
			return err
		}
		c.started, c.class = true, b.Class
	case ports.StepResult:
		var b resultBody
		if err := read(s, &b); err != nil {
			return err
		}
		c.result = &b.CallResult
	}
	return nil
}

// sanitize makes a reply fit for the journal, whatever its adapter let through:
// what is not JSON where JSON belongs becomes a JSON string.
func sanitize(r *ports.ModelReply) {
	r.State = validJSON(r.State)
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.State = validJSON(c.State); len(c.Arguments) == 0 {
			c.Arguments = json.RawMessage("{}")
		}
		c.Arguments = validJSON(c.Arguments)
	}
}

func validJSON(b json.RawMessage) json.RawMessage {
	if len(b) == 0 || json.Valid(b) {
		return b
	}
	return write(string(b))
}

func read(s ports.Step, into any) error {
	if err := json.Unmarshal(s.Body, into); err != nil {
		return ports.Errorf(ports.KindInternal, "read journal", "step %d (%s): %w", s.Index, s.Kind, err)
	}
	return nil
}

func write(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a journal row does not marshal: %v", err)) // plain values of ours always do
	}
	return b
}
