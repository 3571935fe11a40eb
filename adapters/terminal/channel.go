package terminal

import (
	"context"
	"log/slog"
	"sync"

	"dragoman/ports"
)

// Deps is what a terminal channel keeps its state in.
type Deps struct {
	Feed  ports.Feed  // what the conversations show
	Fates ports.Fates // what became of messages
	Log   *slog.Logger
}

// Channel is the terminals of one agent. Safe for many goroutines.
type Channel struct {
	feed  ports.Feed
	fates ports.Fates
	log   *slog.Logger
	hub   *hub

	mu     sync.Mutex
	shift  *shift        // nil outside of Run
	starts chan struct{} // closed once shift is set
}

// shift is one Run: the receiver, and the calls that use it.
type shift struct {
	in   ports.Receiver
	over chan struct{} // closed when it ends
	work sync.WaitGroup
}

var (
	_ ports.ChannelPort = (*Channel)(nil)
	_ ports.Typer       = (*Channel)(nil)
	_ ports.Drafter     = (*Channel)(nil)
	_ ports.Terminal    = (*Channel)(nil)
)

// New makes the channel. It does no I/O.
func New(deps Deps) (*Channel, error) {
	if deps.Feed == nil || deps.Fates == nil || deps.Log == nil {
		return nil, ports.Errorf(ports.KindInvalid, "terminal new", "feed, fates and log are required")
	}
	return &Channel{feed: deps.Feed, fates: deps.Fates, log: deps.Log, hub: newHub(), starts: make(chan struct{})}, nil
}

// Traits say that a question may have choices. A terminal has no limit of length
// and takes drafts as fast as they come.
func (c *Channel) Traits() ports.Traits { return ports.Traits{Choices: true} }

// Run lets messages through to in until ctx ends, and returns when the last one
// has been handed over. It never fails.
func (c *Channel) Run(ctx context.Context, in ports.Receiver) error {
	s := &shift{in: in, over: make(chan struct{})}
	c.mu.Lock()
	c.shift = s
	close(c.starts)
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.shift, c.starts = nil, make(chan struct{})
	c.mu.Unlock()
	close(s.over)
	s.work.Wait()
	return nil
}

// enter waits until the channel runs, and gives its receiver, and a context that
// ends with ctx and with the run. leave must be called.
func (c *Channel) enter(ctx context.Context) (within context.Context, in ports.Receiver, leave func(), err error) {
	for {
		c.mu.Lock()
		s, starts := c.shift, c.starts
		if s != nil {
			within, leave := s.join(ctx) // under the lock: Run does not wait yet
			c.mu.Unlock()
			return within, s.in, leave, nil
		}
		c.mu.Unlock()
		select {
		case <-starts:
		case <-ctx.Done():
			return nil, nil, nil, ports.Errorf(ports.KindUnavailable, "terminal say", "the gateway takes no messages now: %w", ctx.Err())
		}
	}
}

// join gives a context that ends with ctx and with the shift. The shift waits for leave.
func (s *shift) join(ctx context.Context) (within context.Context, leave func()) {
	within, cancel := context.WithCancel(ctx)
	left := make(chan struct{})
	s.work.Go(func() {
		select {
		case <-s.over:
			cancel()
			<-left
		case <-left:
		}
	})
	return within, func() { cancel(); close(left) }
}
