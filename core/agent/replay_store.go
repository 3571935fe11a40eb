package agent

import (
	"context"
	"slices"

	"dragoman/ports"
)

// replayStore keeps the replayed turn's rows in memory, with the rules that the
// real one has.
type replayStore struct{ p *player }

var _ Store = replayStore{}

func (s replayStore) Load(context.Context, ports.Lease) (ports.Work, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.p.work(), nil
}

// History gives the recorded turns before this one.
func (s replayStore) History(_ context.Context, _ ports.Lease, limit int) ([]ports.Past, error) {
	past := s.p.script.rec.Past
	var list []ports.Past
	for _, p := range past[max(0, len(past)-limit):] {
		list = append(list, p.Past())
	}
	return list, nil
}

func (s replayStore) Record(_ context.Context, _ ports.Lease, c ports.Change) error {
	return s.p.commit(c, ports.TurnRunning, "")
}

func (s replayStore) Park(_ context.Context, _ ports.Lease, c ports.Change) error {
	if c.Ask == nil {
		return ports.Errorf(ports.KindInvalid, "replay park", "turn %s is to wait, but asks nothing", c.Turn)
	}
	return s.p.commit(c, ports.TurnParked, "")
}

func (s replayStore) Finish(_ context.Context, _ ports.Lease, c ports.Change, o ports.Outcome) error {
	if o == "" {
		return ports.Errorf(ports.KindInvalid, "replay finish", "turn %s is to end without an outcome", c.Turn)
	}
	return s.p.commit(c, ports.TurnDone, o)
}

// commit makes one write of the turn's.
func (p *player) commit(c ports.Change, state ports.TurnState, o ports.Outcome) error {
	const op = "replay commit"
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.script.rec.Turn
	switch {
	case p.act.died, p.halted != "":
		return ports.Errorf(ports.KindFenced, op, "a process that is gone writes")
	case p.turn != nil && p.turn.State == ports.TurnDone:
		return ports.Errorf(ports.KindInternal, op, "turn %s is over", c.Turn)
	case c.Turn != was.ID:
		return ports.Errorf(ports.KindInvalid, op, "it writes turn %q, the recorded one is %q", c.Turn, was.ID)
	case p.turn == nil && !slices.Contains(c.Take, p.script.rec.Inbox[0].Seq):
		return ports.Errorf(ports.KindInvalid, op, "turn %s does not take the message that it begins with", c.Turn)
	}
	for i, st := range c.Steps {
		if st.Index != len(p.steps)+i {
			return ports.Errorf(ports.KindInternal, op, "step %d of turn %s comes after %d steps", st.Index, c.Turn, len(p.steps)+i)
		}
	}
	for _, seq := range c.Take {
		if !slices.ContainsFunc(p.waiting, func(m ports.Inbox) bool { return m.Seq == seq }) {
			return ports.Errorf(ports.KindInternal, op, "message %d does not wait for turn %s", seq, c.Turn)
		}
	}
	p.strayed = p.strayed || p.strays(c)
	p.apply(c)
	if p.turn == nil {
		t := was.Turn()
		t.Person, t.Outcome, t.Question = c.Person, "", ""
		p.turn = &t
	}
	p.turn.State, p.turn.Outcome = state, o
	if c.Ask != nil {
		q := *c.Ask
		p.question, p.turn.Question = &q, q.ID
		p.asked[len(p.steps)] = append(p.asked[len(p.steps)], q)
	}
	p.stir()
	return nil
}

// strays reports whether a change makes a row that is not the recorded one, or
// passes over a question. From then on nothing has to come in the recorded order.
// mu is held.
func (p *player) strays(c ports.Change) bool {
	for _, st := range c.Steps {
		if st.Index >= len(p.script.steps) {
			break
		}
		was := p.script.steps[st.Index]
		if !sameStep(was, st) || p.unasked(st.Index) != nil {
			return true
		}
	}
	return false
}

// apply adds a checked change. mu is held.
func (p *player) apply(c ports.Change) {
	for _, seq := range c.Take {
		i := slices.IndexFunc(p.waiting, func(m ports.Inbox) bool { return m.Seq == seq })
		p.own(p.waiting[i])
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	for _, st := range c.Steps {
		p.steps = append(p.steps, st)
		switch st.Kind {
		case ports.StepReply:
			p.reply = st.Index
		case ports.StepStart:
			p.begun[callID{p.reply, st.Call}]++
			p.starts[p.reply]++
		case ports.StepResult:
			p.results[callID{p.reply, st.Call}] = true
		}
	}
	for _, d := range c.Deliveries {
		if !d.Optional {
			p.said = append(p.said, d.Out.Content.Text)
		}
	}
}
