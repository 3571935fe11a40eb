package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"

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

// since are the messages of the turn's person that came after everything that it
// has, up to a stop. What waited behind somebody else's when it began has its own
// place.
func (t *turn) since(waiting []ports.Inbox) []ports.Inbox {
	newest := t.behind
	for _, m := range t.taken {
		newest = max(newest, m.Seq)
	}
	return slices.DeleteFunc(own(waiting, t.person), func(m ports.Inbox) bool { return m.Seq <= newest || t.takes(m) })
}

// yield ends the turn for a new message of its person, where the conversation
// wants that. A turn that asks whether it is still wanted has its own rule, and a
// command is done before what was said after it.
func (t *turn) yield(ctx context.Context, waiting []ports.Inbox) {
	if t.stopped || t.idle || t.givenUp || t.old != fresh || commandOf(t.taken) != "" || len(t.since(waiting)) == 0 || t.busy(ctx) != ports.BusyInterrupt {
		return
	}
	t.interrupted, t.joining = true, nil
}

// steer has messages that came meanwhile join the turn before its next step, where
// the conversation wants that. They are recorded together with the reply to them.
func (t *turn) steer(ctx context.Context) error {
	if t.busy(ctx) != ports.BusySteer {
		return nil
	}
	waiting, err := t.look(ctx)
	if err != nil {
		return err
	}
	t.joining = t.freshOf(t.since(waiting))
	t.join()
	return nil
}
