package outbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// flush sends what is pending, in order. What may be dropped never stands before
// an answer: it is left until nothing else is pending, and looked up anew, for it
// may edit what was just posted. The error is the store's or the context's: a
// send that fails is either tried again here or given up.
func (o *Outbox) flush(l ports.Lease, list []ports.Delivery) (left bool, err error) {
	due := slices.DeleteFunc(slices.Clone(list), func(d ports.Delivery) bool { return d.Optional })
	if len(due) == 0 {
		due = list
	}
	for _, d := range due {
		if err := o.deliver(l, d); err != nil {
			return false, err
		}
	}
	return len(due) < len(list), nil
}

// deliver brings one delivery to its end: posted, or given up.
func (o *Outbox) deliver(l ports.Lease, d ports.Delivery) error {
	c := o.channels[d.Out.In.Channel]
	if c == nil {
		return o.giveUp(l, d, "no such channel in the config")
	}
	if o.isUnsettled(d.Edits) {
		d.EditID = ""
	}
	began, retry := time.Now(), newBackoff()
	for {
		for wait := c.gate.chat(d.Out.In); wait > 0 && o.going.Err() == nil; wait = c.gate.chat(d.Out.In) { // a sign of life was refused, or another thread
			if d.Optional {
				return o.giveUp(l, d, errHeld.Error())
			}
			o.pause(wait)
		}
		err := o.attempt(c, l, d)
		var failed *sendFault
		if !errors.As(err, &failed) {
			return err
		}
		wait, again := pauseFor(failed.error, retry)
		if !again || d.Optional || time.Since(began) > giveUpAfter {
			return o.giveUp(l, d, failed.Error())
		}
		o.log.Warn("delivery_retried", "channel", d.Out.In.Channel, "chat", d.Out.In.Chat, "delivery", d.ID, ports.TurnAttr(ports.TurnOf(d.ID)),
			"kind", ports.KindOf(failed.error), "err", failed.error, "wait", wait)
		o.pause(wait)
	}
}

// sendFault is the platform's refusal of a send, apart from faults of ours.
type sendFault struct{ error }

// attempt brings a delivery to the platform and marks it, all in one of the
// channel's slots: what a crash can double is what the slots hold. Slots are given
// in the order in which they were asked for, and a refusal of the whole account is
// waited out in the slot, so that nobody is overtaken.
func (o *Outbox) attempt(c *channel, l ports.Lease, d ports.Delivery) error {
	select {
	case c.inFlight <- struct{}{}:
	case <-o.going.Done():
		return o.going.Err()
	}
	defer func() { <-c.inFlight }()
	for began := time.Now(); ; {
		if wait := c.gate.account(); wait > 0 {
			if d.Optional {
				return &sendFault{errHeld}
			}
			o.pause(wait)
		}
		if err := o.going.Err(); err != nil {
			return err
		}
		id, err := o.call(c, d)
		switch {
		case err == nil:
			return o.mark(l, d.ID, ports.Receipt{ID: id})
		case o.going.Err() != nil:
			return o.going.Err()
		case !c.gate.heed(d.Out.In, err) || time.Since(began) > giveUpAfter:
			return &sendFault{err}
		}
		o.log.Warn("account_held", "channel", d.Out.In.Channel, "chat", d.Out.In.Chat, "delivery", d.ID, ports.TurnAttr(ports.TurnOf(d.ID)),
			"kind", ports.KindOf(err), "err", err, "wait", c.gate.account())
	}
}

// errHeld is why what may be dropped is.
var errHeld = ports.Errorf(ports.KindRateLimited, "send", "the platform asked to wait")

// call makes one call of the platform.
func (o *Outbox) call(c *channel, d ports.Delivery) (ports.MessageID, error) {
	limit, grace := sendTimeout, guard.Grace
	if d.Out.Content.File != nil {
		limit = uploadTimeout
	}
	if d.Optional { // an answer may come to stand behind it
		limit, grace = optionalTimeout, 0
	}
	ctx, cancel := context.WithTimeout(guard.WithTurn(o.ctx, ports.TurnOf(d.ID)), limit)
	defer cancel()
	c.pace.wrote(d.Out.In, c.traits)
	return guard.Do(ctx, grace, o.leaks, "send", func(ctx context.Context) (ports.MessageID, error) { return o.post(ctx, c, d) })
}

// isUnsettled reports whether a preview has an edit that may still come, and
// forgets it.
func (o *Outbox) isUnsettled(preview string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	yes := o.unsettled[preview]
	delete(o.unsettled, preview)
	return yes
}

// post sends or edits. An answer whose message to edit is gone, or cannot be
// edited, is sent anew.
func (o *Outbox) post(ctx context.Context, c *channel, d ports.Delivery) (ports.MessageID, error) {
	if d.Out.Content.File != nil {
		return o.upload(ctx, c, d)
	}
	if d.Edits == "" {
		return c.port.Send(ctx, d.Out)
	}
	if d.EditID != "" && c.editor != nil {
		err := c.editor.Edit(ctx, d.EditID, d.Out)
		if err == nil || d.Optional || mayPass(err) {
			return d.EditID, err
		}
	}
	if d.Optional {
		return "", ports.Errorf(ports.KindNotFound, "edit", "there is no message to edit")
	}
	return c.port.Send(ctx, d.Out)
}

// giveUp ends a delivery that cannot be made; the conversation goes on.
func (o *Outbox) giveUp(l ports.Lease, d ports.Delivery, why string) error {
	level := slog.LevelError
	if d.Optional {
		level = slog.LevelDebug
	}
	o.log.Log(o.ctx, level, "delivery_given_up", "channel", d.Out.In.Channel, "chat", d.Out.In.Chat, "delivery", d.ID,
		ports.TurnAttr(ports.TurnOf(d.ID)), "err", why)
	return o.mark(l, d.ID, ports.Receipt{Failed: why})
}

// mark records what became of a delivery. The platform has it: the mark is made
// even while the outbox is being closed, and tried until the store takes it.
func (o *Outbox) mark(l ports.Lease, id string, r ports.Receipt) error {
	defer o.forget(id)
	retry := newBackoff()
	for {
		err := guard.Write(guard.WithTurn(o.ctx, ports.TurnOf(id)), o.ctx, o.leaks, "store_delivered", func(ctx context.Context) error { return o.store.Delivered(ctx, l, id, r) })
		if err == nil || ports.IsKind(err, ports.KindFenced) || o.going.Err() != nil {
			return err
		}
		o.log.Warn("delivery_not_marked", "delivery", id, ports.TurnAttr(ports.TurnOf(id)), "kind", ports.KindOf(err), "err", err)
		o.pause(retry.NextBackOff())
	}
}

// mayPass reports whether the same call may work later.
func mayPass(err error) bool {
	switch ports.KindOf(err) {
	case ports.KindRateLimited, ports.KindTemporary, ports.KindTimeout, ports.KindUnavailable, ports.KindUnsure, ports.KindConflict,
		ports.KindCancelled, ports.KindUnauthorized:
		return true
	}
	return false
}

// pauseFor says whether a failed send is tried again, and when.
func pauseFor(err error, own *backoff.ExponentialBackOff) (wait time.Duration, again bool) {
	if !mayPass(err) {
		return 0, false
	}
	wait = own.NextBackOff()
	switch after := ports.RetryAfter(err); {
	case ports.IsKind(err, ports.KindUnauthorized):
		wait = keyPause
	case after > 0: // the platform knows better than our guess, which grows
		wait = after
	}
	return wait, true
}
