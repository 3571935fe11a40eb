package agent

import (
	"context"
	"errors"
	"fmt"

	"dragoman/ports"
)

// The commands that are turns: they have their place among the messages, and are
// no part of what was said.
const (
	commandNew     = "new"
	commandCompact = "compact"
)

// What the person reads of them.
const (
	textNew       = "New conversation: I no longer look at what was said before."
	textCompacted = "Compacted: %d messages are now a summary of about %d tokens."
	textNothing   = "There is nothing to compact."
	textNoGain    = "I have left everything as it is: a summary would be longer than what was said."
	textNoSummary = "I could not summarise the conversation, and have left everything as it is. "
	textNotRead   = "\n\nWhat you wrote behind the command I have not read. Please send it again, as a message of its own."
)

// isCommand reports whether a message is one of these commands. Each is a turn of
// its own.
func isCommand(m ports.Inbox) bool {
	if m.Route != ports.RouteLane || m.Choice != nil || m.Change != "" {
		return false
	}
	name, _, ok := ports.ParseCommand(m.Text)
	return ok && (name == commandNew || name == commandCompact)
}

// commandOf is the command that a turn is about, "" if it is about none.
func commandOf(taken []ports.Inbox) string {
	for _, m := range taken {
		if m.Route != ports.RouteLane {
			continue
		}
		if !isCommand(m) {
			return ""
		}
		name, _, _ := ports.ParseCommand(m.Text)
		return name
	}
	return ""
}

// obey does what the person commands. Its error is the store's, or an end of the turn.
func (t *turn) obey(ctx context.Context, command string) (end ending, err error) {
	if command == commandNew {
		end = t.begin()
	} else if end, err = t.compact(ctx); err != nil {
		return ending{}, err
	}
	for _, m := range t.taken {
		if _, args, _ := ports.ParseCommand(m.Text); args != "" && isCommand(m) {
			end.text += textNotRead
		}
	}
	return end, nil
}

// begin has prompts say nothing of the turns before. It reads none of them: what
// is wrong with them ends here.
func (t *turn) begin() ending {
	b := memoBody{V: bodyVersion, Upto: t.last}
	t.add(ports.StepMemo, -1, b)
	t.recall = recall{past: []told{}, memo: b}
	return ending{outcome: ports.OutcomeAnswered, text: textNew}
}

// compact makes a memo of all turns but the last one that said something.
func (t *turn) compact(ctx context.Context) (ending, error) {
	if err := t.remember(ctx); err != nil {
		return ending{}, err
	}
	var err error
	if t.script != nil {
		err = t.makeMemosAsRecorded(ctx)
	} else {
		err = t.fold(ctx, t.compactable())
	}
	if err != nil && t.ended(ctx, err) {
		return ending{}, err
	}
	messages := 0
	for _, s := range t.steps { // also those of an activation that a crash cut off
		var b memoBody
		if s.Kind == ports.StepMemo && read(s, &b) == nil {
			messages += b.Messages
		}
	}
	switch {
	case messages > 0:
		return ending{outcome: ports.OutcomeAnswered, text: fmt.Sprintf(textCompacted, messages, guessText(t.memo.Text))}, nil
	case errors.Is(err, errLongerSummary):
		return ending{outcome: ports.OutcomeAnswered, text: textNoGain}, nil
	case err != nil:
		end := t.failed(err)
		end.text = textNoSummary + end.text
		return end, nil
	}
	return ending{outcome: ports.OutcomeAnswered, text: textNothing}, nil
}

// compactable is how many turns a person's /compact is about. The last that said
// something stays whole, unless it is the only one.
func (t *turn) compactable() int {
	n := len(t.past)
	for n > 0 && t.past[n-1].size == 0 {
		n--
	}
	if before := n - 1; before > 0 && t.hasSaid(before) {
		return before
	}
	if t.memo.Text == "" && t.hasSaid(n) {
		return n
	}
	return 0
}

// hasSaid reports whether anything was said in the n oldest turns.
func (t *turn) hasSaid(n int) bool {
	for _, p := range t.past[:max(n, 0)] {
		if p.size > 0 {
			return true
		}
	}
	return false
}
