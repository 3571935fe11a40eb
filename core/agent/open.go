package agent

import (
	"slices"

	"dragoman/ports"
)

// open makes the activation of the conversation's unfinished turn, or of a new
// one that takes the leading messages of one person.
func (a *Agent) open(l ports.Lease, w ports.Work, news <-chan struct{}) *turn {
	t := &turn{Agent: a, lease: l, news: news, last: w.Last, changed: w.Changed, gone: w.Gone, givenUp: w.Deaths.Fatal(), rulings: map[int]ports.Ruling{}}
	if w.Turn != nil {
		t.id, t.person, t.taken, t.steps = w.Turn.ID, w.Turn.Person, w.Taken, w.Steps
		if q := w.Question; q != nil && a.asker.Current(*q, len(t.steps)) {
			t.question = q
			t.stopped = q.State == ports.QuestionStopped
		}
		if t.question != nil && t.question.State == ports.QuestionSuperseded && t.question.Kind != ports.QuestionStale {
			t.joining = t.freshOf(own(w.Waiting, t.person))
		}
	} else {
		first := w.Waiting[0]
		t.behind = w.Waiting[len(w.Waiting)-1].Seq
		t.id, t.person = ports.TurnID(l.In, first.Seq), first.Person
		t.take(t.sameAge(leading(w.Waiting, t.person)))
		if first.Route == ports.RouteControl {
			t.idle = true
			t.take(w.Waiting[:1])
		}
	}
	t.pending.Turn, t.pending.Person, t.pending.Changed = t.id, t.person, t.changed
	if w.Turn == nil {
		t.anew, t.pending.Usage = a.starts.take(l.In, t.id)
	}
	t.log = a.log.With("channel", l.In.Channel, "chat", l.In.Chat, "user", t.person, "turn", t.id, "ref", ports.Ref(t.id))
	t.mended = slices.ContainsFunc(w.Waiting, t.mends)
	t.heed(w.Waiting)
	t.unbutton()
	t.weigh(w.Waiting)
	return t
}

// unbutton takes the buttons off a prompt whose question no message settled.
func (t *turn) unbutton() {
	if t.question == nil {
		return
	}
	q := *t.question
	if q.State == ports.QuestionOpen && t.stopped {
		q.State = ports.QuestionStopped
	} else if q.State != ports.QuestionExpired {
		return
	}
	t.pending.Deliveries = append(t.pending.Deliveries, t.asker.Settled(q, t.render)...)
}

// own are the messages that wait and are this person's, up to a stop, a command or a redo.
// One that was deleted is nothing to anybody.
func own(waiting []ports.Inbox, person ports.PersonID) []ports.Inbox {
	var list []ports.Inbox
	for _, m := range waiting {
		if m.Person != person {
			continue
		}
		if m.Route != ports.RouteLane || isCommand(m) || m.Undoes > 0 {
			break
		}
		if m.Change == ports.ChangeDelete {
			continue
		}
		list = append(list, m)
	}
	return list
}

// leading are the first messages that wait, as long as they are this person's
// and none of them is a stop or, but for the first alone, a command or a redo.
func leading(waiting []ports.Inbox, person ports.PersonID) []ports.Inbox {
	for i, m := range waiting {
		if i > 0 && (isCommand(m) || isCommand(waiting[0]) || m.Undoes > 0) {
			return waiting[:i]
		}
		if m.Person != person || m.Route != ports.RouteLane {
			return waiting[:i]
		}
	}
	return waiting
}

// heed looks for the person's stop among the messages that wait. What they wrote
// before it ends with the turn too, unless it is no stop of theirs: to delete one
// message is not to take back the others.
func (t *turn) heed(waiting []ports.Inbox) {
	stop := slices.IndexFunc(waiting, func(m ports.Inbox) bool { return m.Route == ports.RouteControl && m.Person == t.person })
	if stop < 0 || t.idle {
		return
	}
	t.stopped = true
	if !isStop(waiting[stop]) {
		t.take(waiting[stop : stop+1])
		return
	}
	for _, m := range waiting[:stop+1] {
		if m.Person == t.person {
			t.take([]ports.Inbox{m})
		}
	}
}

// take makes waiting messages the turn's with the next commit.
func (t *turn) take(list []ports.Inbox) {
	for _, m := range list {
		if !t.takes(m) {
			t.taken = append(t.taken, m)
			t.pending.Take = append(t.pending.Take, m.Seq)
		}
	}
}

// takes reports whether a message is the turn's.
func (t *turn) takes(m ports.Inbox) bool {
	return slices.ContainsFunc(t.taken, func(have ports.Inbox) bool { return have.Seq == m.Seq })
}
