package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// answerWithin is how long a person waits before the run has failed.
const answerWithin = 60 * time.Second

// traffic has all chats of a rig write until it is stopped.
type traffic struct {
	group sync.WaitGroup
	quit  chan struct{} // no new message any more
	mu    sync.Mutex
	err   error
}

// begin lets the chats begin within spread.
func (r *rig) begin(ctx context.Context, spread time.Duration) *traffic {
	t := &traffic{quit: make(chan struct{})}
	for _, c := range r.chatters {
		first := time.Duration(rand.Int64N(int64(spread) + 1))
		t.group.Go(func() {
			if err := c.chat(ctx, t.quit, first); err != nil {
				t.fail(err)
			}
		})
	}
	return t
}

// stop waits until all that was asked is answered.
func (t *traffic) stop() error {
	close(t.quit)
	t.group.Wait()
	return t.failed()
}

func (t *traffic) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

func (t *traffic) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// chat says one thing after the other.
func (c *chatter) chat(ctx context.Context, quit <-chan struct{}, first time.Duration) error {
	wait := first
	for n := 0; ; n++ {
		if wait > 0 {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-quit:
			case <-ctx.Done():
			}
			t.Stop()
		}
		select {
		case <-quit:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if err := c.say(ctx, n); err != nil {
			return err
		}
		wait = 0
		if mean := c.rig.load.Pause; mean > 0 {
			wait = time.Duration(rand.Int64N(2 * int64(mean)))
		}
	}
}

// ask begins a turn.
func (c *chatter) ask(n int) *turn {
	t := c.begin(n)
	c.rig.platform.User(t.chat, "Ann "+strconv.Itoa(c.slot)).Say("How much is 17 times 3, and how do I see that by heart? " + t.ref)
	return t
}

// say asks and waits for the answer.
func (c *chatter) say(ctx context.Context, n int) error {
	t := c.ask(n)
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	select {
	case <-t.done:
		c.end()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Errorf("no answer within %s to %q; the chat shows %q", answerWithin, t.ref, t.last)
	}
}

// check looks at all that was posted once nothing is under way any more: each
// text is the answer to something that was asked, and the only one.
func (r *rig) check() error {
	var errs []error
	for _, c := range r.chatters {
		errs = append(errs, c.check()...)
	}
	if n := r.surprises.Load(); n > 0 {
		errs = append(errs, fmt.Errorf("%d times a chat showed something else than an answer", n))
	}
	if n := r.doubles.Load(); n > 0 {
		errs = append(errs, fmt.Errorf("%d answers were posted twice", n))
	}
	if len(errs) > 3 {
		errs = append(errs[:3], fmt.Errorf("and %d more", len(errs)-3))
	}
	return errors.Join(errs...)
}

// check looks at the chats of one place.
func (c *chatter) check() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for chat := int64(maxChats + c.slot); chat <= c.turn.chat; chat += maxChats {
		seen := map[string]bool{}
		for _, m := range c.rig.platform.Sent(chat) {
			ref := reference.FindString(m.Text)
			if !c.asked[ref] || seen[ref] {
				errs = append(errs, fmt.Errorf("chat %d shows %q, which nobody asked for, or not once more", chat, m.Text))
			}
			seen[ref] = true
		}
	}
	return errs
}
