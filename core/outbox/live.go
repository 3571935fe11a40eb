package outbox

import (
	"context"
	"sync"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	// typingAfter spares a call for an answer that is there at once.
	typingAfter = 300 * time.Millisecond
	typingEvery = 4 * time.Second
	draftEvery  = 50 * time.Millisecond
	liveTimeout = 5 * time.Second
	// liveGrace is how long the end of a turn waits for a call that does not heed
	// its context.
	liveGrace = 500 * time.Millisecond
)

// Live shows a turn at work: typing at first, then the text so far where the
// channel can draft. All of it is best effort and never delays the turn.
type Live struct {
	leaks  *guard.Leaks
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	text   chan string // the newest text, latest wins
}

// Live begins to show that the conversation's turn is at work. Close it.
func (o *Outbox) Live(ctx context.Context, in ports.Conversation) *Live {
	v := &Live{leaks: o.leaks, text: make(chan string, 1)}
	v.ctx, v.cancel = context.WithCancel(ctx)
	if c := o.channels[in.Channel]; c != nil && (c.typer != nil || c.drafter != nil) {
		v.done.Go(func() { v.run(c, in) })
	}
	return v
}

// Text shows the text so far. It never blocks. For one goroutine.
func (v *Live) Text(soFar string) {
	select {
	case <-v.text:
	default:
	}
	select {
	case v.text <- soFar:
	default:
	}
}

// Close ends the show and waits for a call that is under way.
func (v *Live) Close() {
	v.cancel()
	v.done.Wait()
}

func (v *Live) run(c *channel, in ports.Conversation) {
	typing := time.NewTimer(typingAfter)
	defer typing.Stop()
	pace := max(draftEvery, c.traits.EditEvery)
	var quietUntil time.Time // the platform asked for silence
	show := func(call func(context.Context) error) {
		if time.Now().Before(quietUntil) {
			return
		}
		ctx, cancel := context.WithTimeout(v.ctx, liveTimeout)
		defer cancel()
		_, err := guard.Do(ctx, liveGrace, v.leaks, "show", func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
		if err != nil {
			quietUntil = time.Now().Add(max(time.Second, ports.RetryAfter(err)))
		}
	}
	for {
		select {
		case <-v.ctx.Done():
			return
		case <-typing.C:
			if c.typer != nil {
				show(func(ctx context.Context) error { return c.typer.Typing(ctx, in) })
			}
			typing.Reset(typingEvery)
		case text := <-v.text:
			if c.drafter == nil {
				continue
			}
			show(func(ctx context.Context) error { return c.drafter.Draft(ctx, in, text) })
			select {
			case <-v.ctx.Done():
				return
			case <-time.After(pace):
			}
		}
	}
}
