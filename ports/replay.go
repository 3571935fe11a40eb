package ports

import (
	"encoding/json"
	"time"
)

// RecordingVersion is the form of a Recording that this version writes and reads.
const RecordingVersion = 1

// Recording is a turn as its rows tell it, with what it took to run it: the
// messages it took, its journal, its questions as they were settled, and the
// finished turns before it. It holds what people wrote and what tools answered,
// and no secret of the gateway: none is in a journal.
type Recording struct {
	Version   int               `json:"version"`
	Turn      RecordedTurn      `json:"turn"`
	Inbox     []RecordedMessage `json:"inbox"` // by seq
	Steps     []RecordedStep    `json:"steps"`
	Questions []Question        `json:"questions,omitempty"` // of the turn, in no order: an id tells when it was asked
	Past      []RecordedPast    `json:"past,omitempty"`      // oldest first
	// Prompts is what the model was told before each of its replies, where that is
	// known: rows do not have it.
	Prompts [][]Entry `json:"prompts,omitempty"`
}

// RecordedTurn is a Turn in a Recording.
type RecordedTurn struct {
	ID       string       `json:"id"`
	In       Conversation `json:"in"`
	Person   PersonID     `json:"person"`
	State    TurnState    `json:"state"`
	Outcome  Outcome      `json:"outcome,omitempty"`
	Question string       `json:"question,omitempty"`
	Started  time.Time    `json:"started"`
	Finished time.Time    `json:"finished,omitzero"`
}

// Turn is the turn itself.
func (t RecordedTurn) Turn() Turn {
	return Turn{ID: t.ID, In: t.In, Person: t.Person, State: t.State, Outcome: t.Outcome, Question: t.Question, Started: t.Started}
}

// RecordedMessage is an Inbox in a Recording.
type RecordedMessage struct {
	Seq      int64     `json:"seq"`
	Person   PersonID  `json:"person"`
	Route    RouteKind `json:"route"`
	Received time.Time `json:"received"`
	Undoes   int64     `json:"undoes,omitempty"`
	Message  Message   `json:"message"`
}

// Inbox is the message of a turn.
func (m RecordedMessage) Inbox(turn string) Inbox {
	return Inbox{Seq: m.Seq, Person: m.Person, Route: m.Route, Turn: turn, Received: m.Received, Undoes: m.Undoes, Message: m.Message}
}

// RecordedStep is a Step in a Recording, with when it was stored.
type RecordedStep struct {
	Index int             `json:"index"`
	Kind  StepKind        `json:"kind"`
	Call  int             `json:"call"`
	Body  json.RawMessage `json:"body"`
	At    time.Time       `json:"at,omitzero"`
}

// Step is the step itself.
func (s RecordedStep) Step() Step {
	return Step{Index: s.Index, Kind: s.Kind, Call: s.Call, Body: s.Body}
}

// RecordedPast is a Past in a Recording.
type RecordedPast struct {
	Turn  RecordedTurn      `json:"turn"`
	Inbox []RecordedMessage `json:"inbox"`
	Steps []RecordedStep    `json:"steps"`
}

// Past is the finished turn itself.
func (p RecordedPast) Past() Past {
	out := Past{Turn: p.Turn.Turn()}
	for _, m := range p.Inbox {
		out.Inbox = append(out.Inbox, m.Inbox(p.Turn.ID))
	}
	for _, s := range p.Steps {
		out.Steps = append(out.Steps, s.Step())
	}
	return out
}
