package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/ports"
)

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
	longestAsked = 3 * time.Second // of a Discord that is there, and asks to connect anew

	// Discord wants a pause of one to five seconds before it is asked for another
	// session, and bounds the sessions of a day
	// (https://discord.com/developers/docs/topics/gateway#session-start-limit-object).
	invalidPause  = time.Second
	invalidSpread = 4 * time.Second
	identifyEvery = 5 * time.Second
	scarce        = 100 // sessions that are left, from where on they are spread
)

// Run receives until ctx ends. Only one Run of a bot account should be at work in
// the world: Discord tells each of them everything. A bot in so many servers that
// Discord wants them parted has as many sessions as Discord recommends.
func (c *Channel) Run(ctx context.Context, in ports.Receiver) error {
	defer c.api.http.CloseIdleConnections()
	var err error
	for count := 0; ; {
		n, failed := c.recommended(ctx, in)
		switch {
		case failed != nil:
			return failed
		case n <= count:
			return err
		case count > 0:
			c.log.Info("discord_wants_more_shards", "count", n)
		}
		count = n
		if err = c.runShards(ctx, in, count); !tooFewShards(err) {
			return err
		}
	}
}

// recommended is how many sessions Discord recommends.
func (c *Channel) recommended(ctx context.Context, in ports.Receiver) (n int, err error) {
	lead := &runner{channel: c, in: in, log: c.log}
	err = lead.persist(ctx, func(ctx context.Context) error {
		g, err := c.gate(ctx)
		n = min(max(g.Shards, 1), maxShards)
		return err
	})
	lead.recovered()
	return n, err
}

// runShards receives with count sessions until one of them ends for good.
func (c *Channel) runShards(ctx context.Context, in ports.Receiver, count int) error {
	lead := &runner{channel: c, in: in, log: c.log}
	var all *shards
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) (err error) { all, err = newShards(ctx, in, count, c.log); return err },
		lead.whoAmI,
	} {
		if err := lead.persist(ctx, step); err != nil {
			return err
		}
	}
	lead.recovered()
	together, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	var work sync.WaitGroup
	first := new(starts)
	for i := range count {
		r := &runner{channel: c, in: all.of(i), log: c.log, pause: newPause(), posts: newQueue(), presses: newQueue(), app: make(chan string, 1),
			shard: shard{i, count}, starts: first, me: lead.me}
		if count > 1 {
			r.log = c.log.With("shard", i)
		}
		work.Go(func() { leave(r.run(together)) })
		if i == 0 {
			menu, _ := in.(ports.Menu)
			work.Go(func() { r.registerCommands(together, menu) })
		}
	}
	work.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return context.Cause(together)
}

// run receives for one shard.
func (r *runner) run(ctx context.Context) error {
	r.loadCursor(ctx)
	ctx, leave := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer leave()
	work.Go(func() { r.storePosts(ctx) })
	work.Go(func() { r.storePresses(ctx) })
	return r.connect(ctx)
}

// runner is one Run of a shard.
type runner struct {
	shard   shard
	starts  *starts
	channel *Channel
	in      ports.Receiver
	log     *slog.Logger
	pause   *backoff.ExponentialBackOff // of connect
	posts   *queue                      // messages, and what they need to be understood
	presses *queue                      // interactions, which cannot wait for messages
	me      user
	rooms   *rooms
	app     chan string // the application's id, when Discord told it

	mu      sync.Mutex
	failing bool
}

func newPause() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = firstPause, longestPause
	b.Reset()
	return b
}

// connect goes from session to session.
func (r *runner) connect(ctx context.Context) error {
	var k kept
	for {
		url := k.url
		if k.id == "" || url == "" {
			ask := r.ticket
			if k.id != "" {
				ask = r.address // a session that goes on is no new one
			}
			if err := r.persist(ctx, func(ctx context.Context) (err error) {
				url, err = ask(ctx)
				return err
			}); err != nil {
				return err
			}
		}
		before := k.id
		err := r.session(ctx, url, &k)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isRefused(err):
			return err
		case forgets(err):
			k = kept{}
		case before != "" && k.url == url && r.isFailing():
			k.url = "" // the address to resume at may be what is wrong
		}
		r.rest(ctx, err)
	}
}

// rest waits before another connection, as long as what ended the last one asks for.
func (r *runner) rest(ctx context.Context, err error) {
	wait := r.pause.NextBackOff()
	switch {
	case errors.Is(err, errReconnect):
		wait = min(wait, longestAsked)
		r.log.Info("discord_reconnects", "dur", wait)
		sleep(ctx, wait)
		return
	case errors.Is(err, errInvalid):
		wait = invalidPause + time.Duration(rand.Int64N(int64(invalidSpread)))
	}
	r.failed(err, wait)
	sleep(ctx, wait)
	r.posts.drained(ctx)
	r.presses.drained(ctx)
}

// address is where a session is resumed whose own address does not answer.
func (r *runner) address(ctx context.Context) (string, error) {
	g, err := r.channel.gate(ctx)
	return g.URL, err
}

// ticket is the address for a new session, once there may be one.
func (r *runner) ticket(ctx context.Context) (string, error) {
	r.starts.mu.Lock()
	defer r.starts.mu.Unlock()
	sleep(ctx, time.Until(r.starts.asked.Add(identifyEvery)))
	g, err := r.channel.gate(ctx)
	if err != nil {
		return "", err
	}
	left, reset := g.Limit.Remaining, time.Duration(g.Limit.Reset)*time.Millisecond
	switch {
	case g.Limit.Total == 0 || left >= scarce:
	case left <= 0:
		return "", &ports.Error{Kind: ports.KindRateLimited, Op: "discord gateway address", RetryAfter: reset,
			Err: fmt.Errorf("discord gives the bot no more sessions for %v; something made it connect too often", reset)}
	case !r.starts.asked.IsZero(): // the first one of a start is not to wait
		wait := reset / time.Duration(left)
		r.log.Warn("discord_sessions_scarce", "left", left, "dur", wait)
		sleep(ctx, wait)
	}
	r.starts.asked = time.Now()
	return g.URL, ctx.Err()
}

// persist tries a step until it works. It gives up when ctx ends or the token is refused.
func (r *runner) persist(ctx context.Context, step func(context.Context) error) error {
	pause := newPause()
	for {
		err := step(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			return nil
		case isRefused(err):
			return err
		}
		wait := max(pause.NextBackOff(), ports.RetryAfter(err))
		r.failed(err, wait)
		sleep(ctx, wait)
	}
}

// failed tells the log and the admin of a fault that is waited out.
func (r *runner) failed(err error, wait time.Duration) {
	r.mu.Lock()
	r.failing = true
	r.mu.Unlock()
	r.report(err)
	r.log.Warn("discord_receive_failed", "kind", ports.KindOf(err), "err", err, "dur", wait)
}

// recovered is called when all is well.
func (r *runner) recovered() {
	r.mu.Lock()
	was := r.failing
	r.failing = false
	r.mu.Unlock()
	if was {
		r.report(nil)
		r.log.Info("discord_receive_recovered")
	}
}

func (r *runner) isFailing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing
}

// report tells the admin how receiving goes, where somebody listens.
func (r *runner) report(err error) {
	if p, ok := r.in.(ports.Reporter); ok {
		p.Report(err)
	}
}

func (r *runner) loadCursor(ctx context.Context) {
	text, err := r.in.Cursor(ctx)
	if err == nil {
		r.rooms, err = newRooms(text)
	}
	if err != nil {
		r.log.Warn("discord_cursor_invalid", "err", err)
	}
}

func (r *runner) whoAmI(ctx context.Context) (err error) {
	r.me, err = r.channel.account(ctx)
	return err
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
