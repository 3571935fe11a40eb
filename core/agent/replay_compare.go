package agent

import (
	"encoding/json"
	"regexp"
	"slices"

	"dragoman/ports"
)

// Comparison is a recorded turn beside its replay.
type Comparison struct {
	Turn    string          `json:"turn"`
	Ref     string          `json:"ref"`
	Same    bool            `json:"same"`
	Steps   int             `json:"steps"`             // of the recording
	Outcome ports.Outcome   `json:"outcome,omitempty"` // the recorded one; "" = it has none yet
	State   ports.TurnState `json:"state"`             // the recorded one
	// Left is why the replay left the recording before its end, in words.
	Left   string   `json:"left,omitempty"`
	Notes  []string `json:"notes"` // what only a crash explains
	Events []Event  `json:"events"`
	Said   []string `json:"said"` // what would be said now
	// Prompts is what the model is told now before each of its replies.
	Prompts [][]ports.Entry `json:"-"`
}

// The kinds of an Event that is no row of the journal.
const (
	EventAsks    = "asks"    // the turn puts a question
	EventPrompt  = "prompt"  // what the model is told, where the recording has it
	EventOutcome = "outcome" // how the turn ends, and the words that say it
)

// Event is something that a turn did, once recorded and once now. One that is
// missing on a side has no value there.
type Event struct {
	What     string          `json:"what"` // a step's kind, or one of the above; of the recording, if it has one
	Now      string          `json:"what_now,omitempty"`
	Step     int             `json:"step"`             // rows of the journal before it
	Call     int             `json:"call"`             // -1: of no call
	Tool     string          `json:"tool,omitempty"`   // of the call
	Answer   string          `json:"answer,omitempty"` // what became of a question
	Same     bool            `json:"same"`
	Recorded json.RawMessage `json:"recorded,omitempty"`
	Replayed json.RawMessage `json:"replayed,omitempty"`
}

// First is the place of the first difference, -1 if there is none.
func (c Comparison) First() int {
	return slices.IndexFunc(c.Events, func(e Event) bool { return !e.Same })
}

// event is one side of an Event.
type event struct {
	what   string
	step   int
	call   int
	tool   string
	body   json.RawMessage
	answer string
}

// compare sets what was recorded beside what was replayed.
func (p *player) compare() Comparison {
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := p.script.rec
	c := Comparison{Turn: rec.Turn.ID, Ref: ports.Ref(rec.Turn.ID), Steps: len(rec.Steps), Outcome: rec.Turn.Outcome, State: rec.Turn.State,
		Notes: append([]string{}, p.notes...), Said: append([]string{}, p.said...), Prompts: p.prompts}
	was := events(p.script.steps, p.script.asked, rec.Prompts, rec.Prompts, rec.Turn.Outcome)
	now := events(p.steps, p.asked, p.prompts, rec.Prompts, p.outcome())
	unfinished := rec.Turn.State != ports.TurnDone
	if unfinished { // what would come next is no difference
		now = now[:min(len(now), len(was))]
	}
	for i := range max(len(was), len(now)) {
		c.Events = append(c.Events, beside(at(was, i), at(now, i)))
	}
	if p.halted != "" && !(p.halted == untilHere && unfinished) {
		c.Left = p.halted
	}
	c.Same = c.First() < 0 && c.Left == ""
	return c
}

func (p *player) outcome() ports.Outcome {
	if p.turn == nil {
		return ""
	}
	return p.turn.Outcome
}

// events tells a turn's journal, questions and end in order. known are the
// prompts that the recording has: the others are not compared.
func events(steps []ports.Step, asked map[int][]ports.Question, prompts, known [][]ports.Entry, o ports.Outcome) []event {
	var list []event
	var last replyBody
	replies := 0
	for n := range len(steps) + 1 {
		for _, q := range asked[n] {
			list = append(list, event{what: EventAsks, step: n, call: q.Call, body: write(asks(q)), answer: answered(q)})
		}
		if n == len(steps) {
			break
		}
		st := steps[n]
		e := event{what: string(st.Kind), step: n, call: -1, body: timeless(st)}
		switch st.Kind {
		case ports.StepReply:
			if replies < len(known) && replies < len(prompts) {
				list = append(list, event{what: EventPrompt, step: n, call: -1, body: write(prompts[replies])})
			}
			replies++
			last = replyBody{}
			_ = read(st, &last) // what cannot be read is compared as it is
		case ports.StepStart, ports.StepResult:
			if e.call = st.Call; st.Call >= 0 && st.Call < len(last.Calls) {
				e.tool = last.Calls[st.Call].Name
			}
		}
		list = append(list, e)
	}
	if o != "" {
		list = append(list, event{what: EventOutcome, step: len(steps), call: -1, body: write(o)})
	}
	return list
}

// ago is the one thing in a question's text that depends on the time.
var ago = regexp.MustCompile(`[0-9]+ [a-z]+ ago`)

// asks is what of a question is the same whenever it is asked.
func asks(q ports.Question) any {
	if q.Kind == ports.QuestionStale {
		q.Text = ago.ReplaceAllString(q.Text, "some time ago")
	}
	return struct {
		ID     string             `json:"id"`
		Kind   ports.QuestionKind `json:"kind"`
		Step   int                `json:"step"`
		Call   int                `json:"call"`
		Text   string             `json:"text"`
		Fields []ports.Field      `json:"fields"`
	}{q.ID, q.Kind, q.Step, q.Call, q.Text, q.Fields}
}

// answered says what became of a question: its person's answer, or how else it ended.
func answered(q ports.Question) string {
	if q.State == ports.QuestionAnswered {
		return q.Answers[ports.AnswerField]
	}
	return string(q.State)
}

func at(list []event, i int) *event {
	if i >= len(list) {
		return nil
	}
	return &list[i]
}

func beside(was, now *event) Event {
	switch {
	case was == nil:
		return Event{What: "", Now: now.what, Step: now.step, Call: now.call, Tool: now.tool, Replayed: now.body}
	case now == nil:
		return Event{What: was.what, Step: was.step, Call: was.call, Tool: was.tool, Answer: was.answer, Recorded: was.body}
	}
	return Event{What: was.what, Now: now.what, Step: was.step, Call: was.call, Tool: was.tool, Answer: was.answer, Recorded: was.body, Replayed: now.body,
		Same: was.what == now.what && was.step == now.step && was.call == now.call && same(was.body, now.body)}
}
