package outbox

import (
	"context"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	// receiptEmoji says that a message was seen.
	receiptEmoji = "👀"
	// receiptsMax is how many receipts a channel has under way; more are left out.
	receiptsMax = 32
	// receiptWait is how long one waits for its place in the chat: a preview that was
	// just shown is no reason to leave it out, a group's full minute is.
	receiptWait = 3 * time.Second
)

// Heard shows a person that their message is stored, by a reaction, where the
// channel can and no limit is near. It returns at once; nobody waits for what it
// does.
func (o *Outbox) Heard(m ports.Message) {
	c := o.channels[m.In.Channel]
	if c == nil || c.reactor == nil || m.ID == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	select {
	case c.heard <- struct{}{}:
	default:
		return
	}
	o.work.Go(func() {
		defer func() { <-c.heard }()
		wait := func() time.Duration { return max(c.gate.wait(m.In), c.pace.wait(m.In, !m.Private, c.traits)) }
		for began := time.Now(); wait() > 0; o.pause(wait()) {
			if time.Since(began)+wait() > receiptWait || o.going.Err() != nil {
				return
			}
		}
		c.pace.wrote(m.In, c.traits)
		ctx, cancel := context.WithTimeout(o.going, liveTimeout)
		defer cancel()
		_, err := guard.Do(ctx, liveGrace, o.leaks, "react", func(ctx context.Context) (struct{}, error) {
			return struct{}{}, c.reactor.React(ctx, m.In, m.ID, receiptEmoji)
		})
		if err != nil {
			c.gate.heed(m.In, err)
			o.log.Debug("receipt_not_shown", "channel", m.In.Channel, "chat", m.In.Chat, "kind", ports.KindOf(err), "err", err)
		}
	})
}
