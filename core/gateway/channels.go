package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/core/inbox"
	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// How a channel stands, in /readyz.
const (
	stateStarting = "starting"
	stateRunning  = "running"
	stateDegraded = "degraded"
	stateStopped  = "stopped"
)

const (
	leaseRenew = time.Second
	leaseLimit = 4 * time.Second // without a renewal for so long we act as if it were lost
	keyRetry   = time.Minute     // a refused token waits for an admin
	// runGrace is how long an adapter may take to end what it runs: an MCP server
	// is asked, then told, then killed.
	runGrace = 10 * time.Second
	// hurry is how long a gateway that was told to stop at once waits for what it
	// runs: long enough for a child that leaves at the end of its input, or at
	// SIGTERM. What is deaf dies with us.
	hurry = 2500 * time.Millisecond
)

// runChannel keeps one channel receiving until ctx ends, whatever its adapter does.
func (g *Gateway) runChannel(ctx context.Context, c Channel, in *inbox.Inbox) {
	log := g.log.With("channel", c.Name)
	retry := backoff.NewExponentialBackOff()
	retry.MaxInterval = 30 * time.Second
	for ctx.Err() == nil {
		began := time.Now()
		err := g.receive(ctx, c, in)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > time.Minute {
			retry.Reset()
		}
		wait := retry.NextBackOff()
		if ports.IsKind(err, ports.KindUnauthorized) {
			wait = keyRetry
		}
		log.Error("channel_failed", "kind", ports.KindOf(err), "err", err, "wait", wait)
		g.channelState(c.Name, stateDegraded, err)
		pause(ctx, wait)
	}
	g.channelState(c.Name, stateStopped, nil)
}

// receive runs the adapter once, under the channel's lease where it has one.
func (g *Gateway) receive(ctx context.Context, c Channel, in *inbox.Inbox) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var epoch atomic.Int64
	if c.Port.Traits().Exclusive {
		e, err := g.opt.Store.Acquire(ctx, c.Name)
		if err != nil {
			return err
		}
		epoch.Store(e)
		var renewing sync.WaitGroup
		renewing.Go(func() { g.keep(ctx, cancel, c.Name, e) })
		defer func() {
			cancel()
			renewing.Wait()
			release, done := context.WithTimeout(context.WithoutCancel(ctx), leaseLimit)
			defer done()
			if err := g.opt.Store.Release(release, c.Name, e); err != nil {
				g.log.Warn("lease_not_released", "channel", c.Name, "err", err)
			}
		}()
	}
	report := func(err error) {
		if err != nil {
			g.channelState(c.Name, stateDegraded, err)
			return
		}
		g.channelState(c.Name, stateRunning, nil)
	}
	report(nil)
	g.log.Info("channel_running", "channel", c.Name)
	err := g.guarded(ctx, "channel", func(ctx context.Context) error { return c.Port.Run(ctx, in.Receiver(c.Name, epoch.Load, report)) })
	if err == nil {
		err = ports.Errorf(ports.KindTemporary, "channel", "it stopped receiving")
	}
	return err
}

// guarded runs an adapter's Run. One that panics gives an error; one that does
// not end soon after ctx does is left behind.
func (g *Gateway) guarded(ctx context.Context, op string, run func(context.Context) error) error {
	_, err := guard.Do(ctx, runGrace, &g.leaks, op, func(ctx context.Context) (struct{}, error) { return struct{}{}, run(ctx) })
	return err
}

// keep renews a lease, and ends the holder's context when it is lost.
func (g *Gateway) keep(ctx context.Context, lost func(), name string, epoch int64) {
	tick := time.NewTicker(leaseRenew)
	defer tick.Stop()
	good := time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := g.opt.Store.Renew(ctx, name, epoch)
		switch {
		case err == nil:
			good = time.Now()
		case ctx.Err() != nil:
			return
		case ports.IsKind(err, ports.KindFenced) || time.Since(good) > leaseLimit:
			g.log.Error("lease_lost", "channel", name, "kind", ports.KindOf(err), "err", err)
			lost()
			return
		}
	}
}

// reasons are what anybody may read about a fault; the log has the rest.
var reasons = map[ports.Kind]string{
	ports.KindTemporary:    "the platform cannot be reached",
	ports.KindTimeout:      "the platform does not answer",
	ports.KindRateLimited:  "the platform asks to wait",
	ports.KindUnauthorized: "the platform does not let the bot in",
	ports.KindConflict:     "somebody else receives for this account",
	ports.KindUnavailable:  "it cannot be written or read now",
	ports.KindFenced:       "another gateway has taken over",
}

// reason tells a fault without its details: /readyz needs no login.
func reason(err error) string {
	if words, ok := reasons[ports.KindOf(err)]; ok {
		return words
	}
	return "it failed: see the log"
}

func (g *Gateway) channelState(name, state string, err error) {
	s := ports.ChannelState{Name: name, State: state}
	if err != nil {
		s.Err = reason(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.channels[name] = s
}

// leave waits for what was told to end, and not long once the gateway is to stop
// at once. It reports whether it ended.
func (g *Gateway) leave(what string, atOnce <-chan struct{}, wait func()) bool {
	ended := make(chan struct{})
	go func() { wait(); close(ended) }()
	select {
	case <-ended:
		return true
	case <-atOnce:
	}
	over := time.NewTimer(hurry)
	defer over.Stop()
	select {
	case <-ended:
		return true
	case <-over.C:
		g.log.Warn("left_behind", "what", what, "grace", hurry)
		return false
	}
}

// serving reports whether this gateway was run, and is not only a command's.
func (g *Gateway) serving() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inbox != nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
