package inbox

import (
	"slices"
	"time"

	"dragoman/ports"
)

// holdMax is how long a turn is held back at most, by this process's own clock:
// the times of messages may be another's.
const holdMax = 10 * time.Second

// held is the turn that a lane holds back: the seq of its first message, and since when.
type held struct {
	seq   int64
	since time.Time
}

// hold waits, without a slot, where the turn that would begin, or go on with what
// came instead of an answer, is to wait for more messages, and reports whether it did: what is due must be looked at again. A
// stop among what waits, and the gateway's own end, are waited for by nothing.
func (x *Inbox) hold(in ports.Conversation, w ports.Work, n *lane) (waited bool) {
	if x.parts.Hold == nil || len(w.Waiting) == 0 || w.Turn != nil && !overtaken(w) ||
		slices.ContainsFunc(w.Waiting, func(m ports.Inbox) bool { return m.Route == ports.RouteControl }) {
		return false
	}
	if first := w.Waiting[0].Seq; n.held.seq != first {
		n.held = held{first, time.Now()}
	}
	d := min(x.parts.Hold(x.ctx, in, w), time.Until(n.held.since.Add(holdMax)))
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-n.news:
	case <-x.closed:
	case <-x.ctx.Done():
	}
	x.more(n)
	return true
}

// overtaken reports whether the turn that is due goes on because its person wrote
// instead of answering.
func overtaken(w ports.Work) bool {
	return w.Question != nil && w.Question.State == ports.QuestionSuperseded
}
