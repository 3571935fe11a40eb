package inbox

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// lane is the goroutine of one conversation that has work.
type lane struct {
	lease ports.Lease
	again bool          // something came in since the lane last looked
	news  chan struct{} // the same for a turn at work
	held  held
}

// news starts the conversation's lane, or tells it that there is more.
func (x *Inbox) news(l ports.Lease) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := x.lanes[l.In]; n != nil {
		if l.Epoch > n.lease.Epoch {
			n.lease = l
		}
		n.again = true
		select {
		case n.news <- struct{}{}:
		default:
		}
		return
	}
	if x.closing() {
		return
	}
	n := &lane{lease: l, again: true, news: make(chan struct{}, 1)}
	x.lanes[l.In] = n
	x.work.Go(func() { x.run(l.In, n) })
}

// take gives the lease to work under, or ends the lane if nothing came in since
// it last looked.
func (x *Inbox) take(in ports.Conversation, n *lane) (ports.Lease, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !n.again || x.closing() {
		delete(x.lanes, in)
		return ports.Lease{}, false
	}
	n.again = false
	return n.lease, true
}

// more makes the lane look once more.
func (x *Inbox) more(n *lane) {
	x.mu.Lock()
	n.again = true
	x.mu.Unlock()
}

func (x *Inbox) run(in ports.Conversation, n *lane) {
	failures := backoff.NewExponentialBackOff()
	failures.MaxInterval = 30 * time.Second
	for {
		l, ok := x.take(in, n)
		if !ok {
			return
		}
		turn, err := x.once(l, n)
		switch {
		case err == nil:
			failures.Reset()
		case ports.IsKind(err, ports.KindFenced) || x.ctx.Err() != nil:
			// Somebody else has it now, or we are leaving: say and write nothing.
		default:
			x.log.Error("lane_failed", "channel", in.Channel, "chat", in.Chat, "thread", in.Thread,
				ports.TurnAttr(turn), "kind", ports.KindOf(err), "err", err)
			x.more(n)
			x.parts.Flush(l) // a commit of unknown outcome may have left something to send
			x.pause(failures.NextBackOff())
		}
	}
}

// once looks at the conversation and runs the turn that is due, if one is: turn
// is its id, "" if none was run.
func (x *Inbox) once(l ports.Lease, n *lane) (turn string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = ports.Errorf(ports.KindInternal, "lane", "panic: %v\n%s", r, debug.Stack())
		}
	}()
	select { // what came before Load is in w; what comes after it is news
	case <-n.news:
	default:
	}
	w, err := x.load(l)
	if err != nil || !due(w) {
		return "", err
	}
	if x.hold(l.In, w, n) {
		return "", nil
	}
	if suspect(w) {
		return x.onTrial(l, w, n)
	}
	if !x.slot() {
		return "", x.ctx.Err()
	}
	defer x.free()
	if w.Deaths.All > 0 {
		if err := x.takeUp(l, false); err != nil {
			return "", err
		}
	}
	return x.turn(l, w, n)
}

func (x *Inbox) load(l ports.Lease) (ports.Work, error) {
	return guard.Read(x.ctx, x.leaks, "store_load", func(ctx context.Context) (ports.Work, error) { return x.store.Load(ctx, l) })
}

// slot waits for one of the slots of turns; free gives it back. It reports false
// if no turn may start any more.
func (x *Inbox) slot() bool {
	select {
	case x.slots <- struct{}{}:
	case <-x.closed:
		return false
	case <-x.ctx.Done():
		return false
	}
	if x.closing() {
		x.free()
		return false
	}
	return true
}

func (x *Inbox) free() { <-x.slots }

// turn runs the turn that is due, in a slot of its own.
func (x *Inbox) turn(l ports.Lease, w ports.Work, n *lane) (turn string, err error) {
	turn = turnOf(l, w)
	if err := x.parts.Turn(x.ctx, l, w, n.news); err != nil {
		return turn, err
	}
	if leaves(w) {
		x.more(n)
	}
	return turn, nil
}

// leaves reports whether the turn that is due may leave some of what waits: one
// that begins takes the first message at least. What comes in meanwhile is news.
func leaves(w ports.Work) bool {
	return len(w.Waiting) > 1 || w.Turn != nil && len(w.Waiting) > 0
}

// turnOf is the id of the turn that is due.
func turnOf(l ports.Lease, w ports.Work) string {
	if w.Turn != nil {
		return w.Turn.ID
	}
	return ports.TurnID(l.In, w.Waiting[0].Seq)
}

// due reports whether there is something to run: a turn that is not parked, or
// that its person stopped just before it was; or messages with no turn before them.
func due(w ports.Work) bool {
	if w.Turn == nil {
		return len(w.Waiting) > 0
	}
	return w.Turn.State == ports.TurnRunning || stopped(w)
}

// stopped reports whether the person of what is due has stopped it.
func stopped(w ports.Work) bool {
	var person ports.PersonID
	switch {
	case w.Turn != nil:
		person = w.Turn.Person
	case len(w.Waiting) > 0:
		person = w.Waiting[0].Person
	}
	return slices.ContainsFunc(w.Waiting, func(m ports.Inbox) bool { return m.Route == ports.RouteControl && m.Person == person })
}

func (x *Inbox) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.closed:
	case <-x.ctx.Done():
	}
}
