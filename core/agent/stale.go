package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"dragoman/ports"
)

// age is how old what a person wrote is when it comes to be done.
type age int

const (
	fresh      age = iota
	stale          // written long ago, because nobody was there to do it: its person is asked first
	overtaken      // and its person has written again since
	questioned     // and its person was asked
)

// written is when a message was written; a platform may have kept it for a while.
func written(m ports.Inbox) time.Time {
	if !m.At.IsZero() && m.At.Before(m.Received) {
		return m.At
	}
	return m.Received
}

// isStale reports whether what was written then has to be asked about.
func (t *turn) isStale(at time.Time) bool {
	return t.cfg.StaleAfter > 0 && time.Since(at) > t.cfg.StaleAfter
}

// sameAge are the first messages that are all stale, or all fresh.
func (t *turn) sameAge(list []ports.Inbox) []ports.Inbox {
	if len(list) == 0 {
		return list
	}
	first := t.isStale(written(list[0]))
	for i, m := range list[1:] {
		if t.isStale(written(m)) != first {
			return list[:i+1]
		}
	}
	return list
}

// freshOf are the first messages that are fresh.
func (t *turn) freshOf(list []ports.Inbox) []ports.Inbox {
	if list = t.sameAge(list); len(list) > 0 && t.isStale(written(list[0])) {
		return nil
	}
	return list
}

// weigh finds out whether the person has to be asked before anything is done. What
// they answered is something they said, and may have become old since; what they
// did not answer is not done anyway.
func (t *turn) weigh(waiting []ports.Inbox) {
	old, q := t.isStale(t.lastSaid()), t.question
	switch {
	case q != nil && q.State == ports.QuestionAnswered && old && t.wants(*q):
		t.question = nil // it is put again
	case q != nil && q.Kind == ports.QuestionStale:
		t.old = questioned
		return
	case q != nil || !old:
		return
	}
	t.old = stale
	if slices.ContainsFunc(own(waiting, t.person), func(m ports.Inbox) bool { return !t.takes(m) && !t.isStale(written(m)) }) {
		t.old = overtaken
	}
}

// wants reports whether the person answered that something is to be done.
func (t *turn) wants(q ports.Question) bool {
	answer := q.Answers[ports.AnswerField]
	return answer == ports.AnswerYes || answer == ports.AnswerAgain
}

// lastSaid is when the turn's person last said something in it.
func (t *turn) lastSaid() (at time.Time) {
	for _, m := range t.taken {
		if w := written(m); w.After(at) {
			at = w
		}
	}
	return at
}

// stale asks the person whether what they wrote is still wanted, or goes by what
// became of that question: over says that the turn ends.
func (t *turn) stale(ctx context.Context, r *round) (end ending, over bool, err error) {
	end = ending{outcome: ports.OutcomeSuperseded, text: textLeftAlone}
	switch {
	case t.old == stale:
		return end, false, t.askStale(ctx)
	case t.old == questioned && t.question.State == ports.QuestionAnswered && t.wants(*t.question):
		t.old, t.question = fresh, nil
		return end, false, nil
	case t.old == questioned && t.question.State != ports.QuestionSuperseded:
		end.outcome = ports.OutcomeStopped
	}
	t.cancelOpen(r, textCutOff, textNotWanted)
	return end, true, nil
}

// askStale asks and leaves the turn waiting.
func (t *turn) askStale(ctx context.Context) error {
	var said []string
	for _, m := range t.taken {
		if m.Route == ports.RouteLane && strings.TrimSpace(m.Text) != "" {
			said = append(said, m.Text)
		}
	}
	about := t.about(-1, -1)
	about.Said, about.At = strings.Join(said, "\n\n"), t.lastSaid()
	q, content := t.asker.Stale(about)
	return t.park(ctx, q, content, "s")
}
