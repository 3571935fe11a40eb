package linechat

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/ports"
)

// maxPeople is how many may be connected at a time.
const maxPeople = 64

// Channel is the TCP port. Safe for many goroutines.
type Channel struct {
	cfg    Config
	feed   ports.Feed
	log    *slog.Logger
	listen func(ctx context.Context, address string) (net.Listener, error) // the tests bring their own

	mu    sync.Mutex
	there map[*session]struct{} // who is logged in
}

var (
	_ ports.ChannelPort = (*Channel)(nil)
	_ ports.Typer       = (*Channel)(nil)
)

// New makes the channel. It does no I/O; KindInvalid says what is wrong with cfg.
func New(cfg Config, feed ports.Feed, log *slog.Logger) (*Channel, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	listen := func(ctx context.Context, address string) (net.Listener, error) {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	return &Channel{cfg: cfg, feed: feed, log: log, listen: listen, there: map[*session]struct{}{}}, nil
}

// Traits of a line of text: no limit of length, no edits, no buttons.
func (c *Channel) Traits() ports.Traits { return ports.Traits{} }

// Run listens until ctx ends. A port that is taken is waited for.
func (c *Channel) Run(ctx context.Context, in ports.Receiver) error {
	retry := newRetry()
	for {
		err := c.serve(ctx, in)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := retry.NextBackOff()
		report(in, err)
		c.log.Warn("linechat_not_listening", "kind", ports.KindOf(err), "err", err, "dur", wait)
		sleep(ctx, wait)
	}
}

// serve listens, and returns when that fails or ctx ends, and everybody has left.
func (c *Channel) serve(ctx context.Context, in ports.Receiver) error {
	l, err := c.listen(ctx, c.cfg.Listen)
	if err != nil {
		return wrap("listen", err)
	}
	report(in, nil)
	c.log.Info("linechat_listening", "address", l.Addr().String())
	ctx, cancel := context.WithCancel(ctx)
	var people sync.WaitGroup
	defer people.Wait()
	defer cancel()
	people.Go(func() {
		<-ctx.Done()
		_ = l.Close()
	})
	room := make(chan struct{}, maxPeople)
	for {
		conn, err := l.Accept()
		if err != nil {
			return wrap("accept", err)
		}
		select {
		case room <- struct{}{}:
			people.Go(func() {
				defer func() { <-room }()
				c.host(ctx, conn, in)
			})
		default:
			_ = write(conn, "* everybody's place is taken: come back later\n")
			_ = conn.Close()
		}
	}
}

// report tells the admin how receiving goes, where somebody listens.
func report(in ports.Receiver, err error) {
	if r, ok := in.(ports.Reporter); ok {
		r.Report(err)
	}
}

func newRetry() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 200*time.Millisecond, 10*time.Second
	return b
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
