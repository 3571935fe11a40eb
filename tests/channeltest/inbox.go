package channeltest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"dragoman/ports"
)

// Inbox is a ports.Receiver in memory, for the kit and for an adapter's own
// tests. It stores as the gateway does: each Event once, with the cursor. The
// zero value is ready. Safe for many goroutines.
type Inbox struct {
	mu       sync.Mutex
	seen     map[string]bool
	messages []ports.Message
	refused  []ports.Message
	tries    int
	refuse   int // < 0: always
	blind    int // Cursor calls still to fail
	cursor   string
	moved    int // batches with a cursor
	changed  chan struct{}
}

var _ ports.Receiver = (*Inbox)(nil)

var errRefused = errors.New("channeltest: the store cannot write now")

// Receive stores a batch, or refuses it as Refuse said.
func (i *Inbox) Receive(ctx context.Context, b ports.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	defer i.notify()
	if i.refuse != 0 {
		i.refuse = max(i.refuse-1, -1)
		i.tries++
		i.refused = append(i.refused, b.Messages...)
		return &ports.Error{Kind: ports.KindUnavailable, Op: "channeltest receive", Err: errRefused}
	}
	if i.seen == nil {
		i.seen = map[string]bool{}
	}
	for _, m := range b.Messages {
		if !i.seen[m.Event] {
			i.seen[m.Event] = true
			i.messages = append(i.messages, m)
		}
	}
	if b.Cursor != "" {
		i.cursor = b.Cursor
		i.moved++
	}
	return nil
}

// Cursor is the last one stored.
func (i *Inbox) Cursor(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.blind > 0 {
		i.blind--
		return "", &ports.Error{Kind: ports.KindUnavailable, Op: "channeltest cursor", Err: errRefused}
	}
	return i.cursor, nil
}

// Refuse makes the next times calls of Receive fail; times < 0 means all, 0 none.
func (i *Inbox) Refuse(times int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refuse = times
}

// Messages are those stored, in order of arrival.
func (i *Inbox) Messages() []ports.Message {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]ports.Message(nil), i.messages...)
}

// Refused are the messages of all refused batches, and how many those were.
func (i *Inbox) Refused() (messages []ports.Message, batches int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]ports.Message(nil), i.refused...), i.tries
}

// Await waits until at least n messages are stored and returns all.
func (i *Inbox) Await(ctx context.Context, n int) ([]ports.Message, error) {
	err := i.until(ctx, func() bool { return len(i.messages) >= n })
	all := i.Messages()
	if err != nil {
		return nil, fmt.Errorf("%d of %d messages came through: %w", len(all), n, err)
	}
	return all, nil
}

// AwaitRefused waits until at least n batches were refused.
func (i *Inbox) AwaitRefused(ctx context.Context, n int) error {
	if err := i.until(ctx, func() bool { return i.tries >= n }); err != nil {
		return fmt.Errorf("Receive was not called %d times: %w", n, err)
	}
	return nil
}

// until waits for a condition, which is called under the lock.
func (i *Inbox) until(ctx context.Context, ok func() bool) error {
	for {
		i.mu.Lock()
		if i.changed == nil {
			i.changed = make(chan struct{})
		}
		done, changed := ok(), i.changed
		i.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// notify wakes who waits. i.mu is held.
func (i *Inbox) notify() {
	if i.changed != nil {
		close(i.changed)
	}
	i.changed = make(chan struct{})
}

// blindFor makes the next calls of Cursor fail.
func (i *Inbox) blindFor(calls int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.blind = calls
}
