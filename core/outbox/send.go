package outbox

import (
	"context"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// flush sends what is pending, in order; droppable ones never stand before an
// answer. Its error is the store's or the context's: a send that fails is
// either tried again here or given up.
func (o *Outbox) flush(l ports.Lease, list []ports.Delivery) error {
	for _, optional := range []bool{false, true} {
		for _, d := range list {
			if d.Optional != optional {
				continue
			}
			if err := o.deliver(l, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliver brings one delivery to its end: posted, or given up.
func (o *Outbox) deliver(l ports.Lease, d ports.Delivery) error {
	log := o.log.With("channel", d.Out.In.Channel, "chat", d.Out.In.Chat, "delivery", d.ID)
	c := o.channels[d.Out.In.Channel]
	if c == nil {
		log.Error("delivery_given_up", "err", "no such channel in the config")
		return o.mark(l, d.ID, ports.Receipt{Failed: "no such channel in the config"})
	}
	began, retry := time.Now(), newBackoff()
	for try := 1; ; try++ {
		id, err := o.attempt(c, d)
		if err == nil {
			return o.mark(l, d.ID, ports.Receipt{ID: id})
		}
		if o.ctx.Err() != nil {
			return o.ctx.Err()
		}
		kind := ports.KindOf(err)
		wait, again := pauseFor(kind, ports.RetryAfter(err), retry.NextBackOff())
		if !again || d.Optional || time.Since(began) > giveUpAfter {
			log.Log(o.ctx, levelOf(d), "delivery_given_up", "kind", kind, "err", err, "attempt", try)
			return o.mark(l, d.ID, ports.Receipt{Failed: err.Error()})
		}
		log.Warn("delivery_retried", "kind", kind, "err", err, "attempt", try, "wait", wait)
		o.pause(wait)
	}
}

// attempt makes one call of the platform, in a slot of the channel.
func (o *Outbox) attempt(c *channel, d ports.Delivery) (ports.MessageID, error) {
	select {
	case c.inFlight <- struct{}{}:
	case <-o.ctx.Done():
		return "", o.ctx.Err()
	}
	defer func() { <-c.inFlight }()
	ctx, cancel := context.WithTimeout(o.ctx, sendTimeout)
	defer cancel()
	return guard.Do(ctx, guard.Grace, o.leaks, "send", func(ctx context.Context) (ports.MessageID, error) {
		if d.Edits == "" {
			return c.port.Send(ctx, d.Out)
		}
		if d.EditID != "" && c.editor != nil {
			err := c.editor.Edit(ctx, d.EditID, d.Out)
			if !ports.IsKind(err, ports.KindNotFound) || d.Optional {
				return d.EditID, err
			}
		}
		if d.Optional {
			return "", ports.Errorf(ports.KindNotFound, "edit", "there is no message to edit")
		}
		return c.port.Send(ctx, d.Out)
	})
}

// mark records what became of a delivery. The platform has it: the mark is made
// even while the outbox is being closed, and tried until the store takes it.
func (o *Outbox) mark(l ports.Lease, id string, r ports.Receipt) error {
	retry := newBackoff()
	for {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(o.ctx), markTimeout)
		err := o.store.Delivered(ctx, l, id, r)
		cancel()
		if err == nil || ports.IsKind(err, ports.KindFenced) || o.ctx.Err() != nil {
			return err
		}
		o.log.Error("delivery_not_marked", "delivery", id, "kind", ports.KindOf(err), "err", err)
		o.pause(retry.NextBackOff())
	}
}

// pauseFor says whether a failed send is tried again, and when.
func pauseFor(k ports.Kind, platform, own time.Duration) (wait time.Duration, again bool) {
	switch k {
	case ports.KindRateLimited:
		return max(platform, own), true
	case ports.KindTemporary, ports.KindTimeout, ports.KindUnavailable, ports.KindUnsure, ports.KindConflict, ports.KindCancelled:
		return own, true
	case ports.KindUnauthorized:
		return keyPause, true
	}
	return 0, false
}
