// Package outbox brings what the core says to the chats: stored deliveries, in
// order, until the platform took each or refused it for good; and, beside them,
// the signs of life of a turn at work (typing, drafts), which nobody waits for.
//
// Promises: a delivery is marked in a commit of its own right after the
// platform's answer, so that a crash doubles at most the sends in flight, which
// are bounded per channel. An answer waits for nothing but an earlier answer of
// its conversation and a RetryAfter that the platform gave. A send that fails
// for good is marked so and the conversation goes on.
package outbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	sendTimeout = 30 * time.Second
	// uploadTimeout is for a message that is a file.
	uploadTimeout = 3 * time.Minute
	// optionalTimeout is for what may be dropped.
	optionalTimeout = 2 * time.Second
	// giveUpAfter is how long one delivery may block its conversation with
	// failures that look temporary.
	giveUpAfter = 12 * time.Hour
	// lastGrace is what a send that is on its way when the drain ends gets to
	// arrive and be marked: cut off, it would be sent again.
	lastGrace = 3 * time.Second
	// deafGrace is how long a send that was cut off may take to come back: one that
	// does not heed its context is left behind.
	deafGrace = time.Second
	// keyPause is the pause between tries while the channel's token is refused:
	// an admin has to act.
	keyPause = time.Minute
)

// Store is the slice of the store that the outbox uses.
type Store interface {
	Pending(ctx context.Context, l ports.Lease) ([]ports.Delivery, error)
	Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error
	// Read reads a part of an artifact. See ports.Artifacts.
	Read(ctx context.Context, in ports.Conversation, id string, offset, limit int64) (ports.Artifact, error)
	// Save keeps an artifact; the same ID again is left as it is.
	Save(ctx context.Context, a ports.Artifact) error
}

// Outbox sends. Make it with New, add the channels, then use it from any goroutine.
type Outbox struct {
	store    Store
	leaks    *guard.Leaks
	log      *slog.Logger
	channels map[string]*channel

	mu      sync.Mutex
	senders map[ports.Conversation]*sender
	// unsettled are previews with an edit whose outcome is not known: it may reach
	// the chat late, so they are not what an answer is put into.
	unsettled map[string]bool
	code      map[string]int // of deliveries whose code is posted as text: how many messages
	closed    bool           // no sender starts any more
	work      sync.WaitGroup
	ctx       context.Context // of the sends
	cancel    context.CancelFunc
	going     context.Context // ends first: nothing new is begun
	halt      context.CancelFunc
}

// channel is a port with its abilities, resolved once.
type channel struct {
	port     ports.ChannelPort
	traits   ports.Traits
	editor   ports.Editor
	uploader ports.Uploader
	renderer ports.Renderer
	typer    ports.Typer
	drafter  ports.Drafter
	reactor  ports.Reactor
	inFlight chan struct{} // one slot per send
	gate     gate
	pace     pace
	heard    chan struct{} // one slot per receipt
}

// sender is the goroutine that empties one conversation's outbox.
type sender struct {
	lease ports.Lease
	again bool // woken since it last looked
}

// New makes an outbox whose sends end when ctx does.
func New(ctx context.Context, store Store, leaks *guard.Leaks, log *slog.Logger) *Outbox {
	o := &Outbox{store: store, leaks: leaks, log: log, channels: map[string]*channel{},
		senders: map[ports.Conversation]*sender{}, unsettled: map[string]bool{}, code: map[string]int{}}
	o.ctx, o.cancel = context.WithCancel(ctx)
	o.going, o.halt = context.WithCancel(o.ctx)
	return o
}

// Add introduces a channel under its config name, with how many sends it may
// have in flight. Not for use while sends run.
func (o *Outbox) Add(name string, port ports.ChannelPort, inFlight int) {
	c := &channel{port: port, traits: port.Traits(), inFlight: make(chan struct{}, max(1, inFlight)), heard: make(chan struct{}, receiptsMax)}
	c.gate.whole = c.traits.ChatLimits
	c.editor, _ = port.(ports.Editor)
	c.uploader, _ = port.(ports.Uploader)
	c.renderer, _ = port.(ports.Renderer)
	c.typer, _ = port.(ports.Typer)
	c.drafter, _ = port.(ports.Drafter)
	c.reactor, _ = port.(ports.Reactor)
	o.channels[name] = c
}

// Wake tells that the conversation has something to send. It returns at once.
func (o *Outbox) Wake(l ports.Lease) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.senders[l.In]; s != nil {
		if l.Epoch > s.lease.Epoch {
			s.lease = l
		}
		s.again = true
		return
	}
	if o.closed {
		return
	}
	o.senders[l.In] = &sender{lease: l, again: true}
	o.work.Go(func() { o.run(l.In) })
}

// sends reports whether the conversation has something to send.
func (o *Outbox) sends(in ports.Conversation) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.senders[in] != nil
}

// Close waits for the senders to finish what they have until ctx ends, then
// makes them stop: the rest is in the store. It returns at most lastGrace and
// deafGrace after ctx's end, deafGrace after the end of the outbox's own.
func (o *Outbox) Close(ctx context.Context) {
	defer o.cancel()
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	done := make(chan struct{})
	go func() { o.work.Wait(); close(done) }()
	select {
	case <-done:
		o.halt()
		return
	case <-ctx.Done():
	}
	o.halt()
	if ended(done, lastGrace, o.ctx.Done()) {
		return
	}
	o.cancel()
	if !ended(done, deafGrace, nil) {
		o.log.Warn("sends_left_behind", "grace", deafGrace)
	}
}

// ended waits for done, for a while at most and not beyond cut.
func ended(done <-chan struct{}, within time.Duration, cut <-chan struct{}) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-cut:
	}
	return false
}

// run empties one conversation's outbox, and goes when it is empty.
func (o *Outbox) run(in ports.Conversation) {
	failures := newBackoff()
	for {
		l, ok := o.take(in)
		if !ok {
			return
		}
		list, err := guard.Read(o.ctx, o.leaks, "store_pending", func(ctx context.Context) ([]ports.Delivery, error) {
			return o.store.Pending(ctx, l)
		})
		left := false
		if err == nil {
			left, err = o.flush(l, list)
		}
		switch {
		case err == nil:
			failures.Reset()
			if left {
				o.Wake(l)
			}
		case ports.IsKind(err, ports.KindFenced):
		case o.going.Err() != nil:
		default:
			o.log.Warn("outbox_store_failed", "chat", in.String(), "kind", ports.KindOf(err), "err", err)
			o.pause(failures.NextBackOff())
			o.Wake(l)
		}
	}
}

// take gives the lease to work under, or ends the sender if nobody woke it
// since it last looked.
func (o *Outbox) take(in ports.Conversation) (ports.Lease, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.senders[in]
	if !s.again || o.going.Err() != nil {
		delete(o.senders, in)
		return ports.Lease{}, false
	}
	s.again = false
	return s.lease, true
}

// pause waits, or less if the outbox is closed for good.
func (o *Outbox) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.going.Done():
	}
}

func newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 500*time.Millisecond, 30*time.Second
	return b
}
