package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"dragoman/core/internal/burst"
	"dragoman/ports"
)

// errInterrupted ends a step because the person wrote something new, in a
// conversation where that counts more than what runs.
var errInterrupted = errors.New("interrupted by the person's next message")

// settings are what the conversation's people chose. A store that does not say is
// no reason to fail: then the agent's own hold.
func (t *turn) settings(ctx context.Context) ports.Settings {
	if t.cfg.Settings == nil {
		return ports.Settings{}
	}
	s, err := t.cfg.Settings(ctx, t.lease.In)
	if err != nil {
		t.log.Warn("settings_not_read", "kind", ports.KindOf(err), "err", err)
	}
	return s
}

// busy is what becomes of a message that comes now.
func (t *turn) busy(ctx context.Context) ports.Busy {
	return cmp.Or(t.settings(ctx).Busy, t.cfg.Busy, ports.BusyQueue)
}

// more are the messages of the turn's person that it does not have, up to a stop,
// also one that came before their answer to a question. What waited behind somebody
// else's when it began has its own place.
func (t *turn) more(waiting []ports.Inbox) []ports.Inbox {
	return slices.DeleteFunc(own(waiting, t.person), func(m ports.Inbox) bool { return m.Seq <= t.behind || t.takes(m) })
}

// since are those that came after everything that it has: who answers a question
// after they wrote wants the turn to go on.
func (t *turn) since(waiting []ports.Inbox) []ports.Inbox {
	var newest int64
	for _, m := range t.taken {
		newest = max(newest, m.Seq)
	}
	return slices.DeleteFunc(t.more(waiting), func(m ports.Inbox) bool { return m.Seq <= newest })
}

// mends reports whether a message is an edit of one that the turn has.
func (t *turn) mends(m ports.Inbox) bool {
	return m.Change == ports.ChangeEdit && slices.ContainsFunc(t.taken, func(n ports.Inbox) bool { return n.ID == m.ID && n.Choice == nil })
}

// stirred reports whether an edit may wait that joins whatever the mode.
func (t *turn) stirred() bool {
	select {
	case <-t.news:
		return true
	default:
		return t.mended
	}
}

// yield ends the turn for a new message of its person, where the conversation
// wants that. A turn that asks whether it is still wanted has its own rule, and a
// command is done before what was said after it. Half of a burst ends nothing: all of
// it does, a moment later.
func (t *turn) yield(ctx context.Context, waiting []ports.Inbox) {
	// To mend what one wrote is not to want something else.
	since := slices.DeleteFunc(t.since(waiting), t.mends)
	if t.stopped || t.idle || t.givenUp || t.old != fresh || commandOf(t.taken) != "" || len(since) == 0 || t.busy(ctx) != ports.BusyInterrupt {
		return
	}
	if left := t.coming(since); left > 0 {
		t.relook = time.After(left)
		return
	}
	t.interrupted, t.joining = true, nil
}

// steer has messages that came meanwhile join the turn before its next step, where
// the conversation wants that, and edits of its own messages in any case. They are
// recorded together with the reply to them.
func (t *turn) steer(ctx context.Context) error {
	all := t.busy(ctx) == ports.BusySteer
	if !all && !t.stirred() {
		return nil
	}
	waiting, err := t.look(ctx)
	if err != nil {
		return err
	}
	more := t.more(waiting)
	if !all {
		more = slices.DeleteFunc(more, func(m ports.Inbox) bool { return !t.mends(m) })
	}
	if t.coming(more) <= 0 { // half of a burst joins at a later step
		t.joining = t.freshOf(more)
	}
	t.mended = false
	t.join()
	return nil
}

// coming is how long what came may still be half of a burst. What a recorded turn
// took was whole.
func (t *turn) coming(list []ports.Inbox) time.Duration {
	if t.script != nil {
		return 0
	}
	return burst.Left(list)
}
