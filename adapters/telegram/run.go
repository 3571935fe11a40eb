package telegram

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/ports"
)

const (
	pollWait    = 50 * time.Second // the longest that Telegram holds a poll
	pollTimeout = pollWait + 15*time.Second
	pollLimit   = 100
	meTimeout   = 15 * time.Second

	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
)

// wanted are the kinds of update that are understood. Without the list Telegram
// keeps the one of an earlier program.
var wanted = [...]string{"message", "edited_message", "callback_query", "stopped_message_generation"}

type pollParams struct {
	Offset  int64    `json:"offset,omitempty"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"`
	Allowed []string `json:"allowed_updates"`
}

// Run polls, or takes in what a webhook brings, until ctx ends. Only one Run of a
// bot account can be at work in the world: Telegram ends the older poll with 409,
// which is waited out here, as a webhook is that somebody sets meanwhile.
func (c *Channel) Run(ctx context.Context, in ports.Receiver) error {
	p := &poller{intake: newIntake(c, in), pause: newPause()}
	defer c.api.http.CloseIdleConnections()
	defer p.answers.wait()
	if c.hook != nil {
		return p.serve(ctx)
	}
	return p.run(ctx)
}

// poller is one Run.
type poller struct {
	*intake
	pause   *backoff.ExponentialBackOff
	cursor  int64 // id of the last update that was stored; 0 = none
	failing bool
	stuck   bool // Telegram has updates and cannot bring them
}

func newPause() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = firstPause, longestPause
	b.Reset()
	return b
}

// run goes from step to step; each is tried until it works or going on is pointless.
func (p *poller) run(ctx context.Context) error {
	if err := p.each(ctx, p.loadCursor, p.whoAmI, p.channel.unhook); err != nil {
		return err
	}
	for {
		var raw []json.RawMessage
		if err := p.persist(ctx, func(ctx context.Context) (err error) {
			raw, err = p.poll(ctx)
			return err
		}); err != nil {
			return err
		}
		if len(raw) == 0 {
			continue
		}
		b := p.batch(raw)
		if err := p.persist(ctx, func(ctx context.Context) error { return p.deliver(ctx, ctx, b) }); err != nil {
			return err
		}
		p.cursor = b.last
	}
}

// each takes steps one after the other.
func (p *poller) each(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := p.persist(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// persist tries a step until it works. It gives up when ctx ends or the token is refused.
func (p *poller) persist(ctx context.Context, step func(context.Context) error) error {
	for {
		err := step(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			p.recovered()
			return nil
		case isRefused(err):
			return err
		}
		p.failing = true
		p.report(err)
		wait := max(p.pause.NextBackOff(), ports.RetryAfter(err))
		p.log.Warn("telegram_receive_failed", "kind", ports.KindOf(err), "err", err, "dur", wait)
		sleep(ctx, wait)
	}
}

func (p *poller) recovered() {
	p.pause.Reset()
	if p.failing {
		p.failing = false
		p.report(nil)
		p.log.Info("telegram_receive_recovered")
	}
}

func (p *poller) loadCursor(ctx context.Context) error {
	text, err := p.in.Cursor(ctx)
	if err != nil || text == "" {
		return err
	}
	id, ok := p.channel.moves.load(text)
	if !ok {
		// Telegram keeps what was not acknowledged, and Receive knows what it has seen.
		p.log.Warn("telegram_cursor_invalid", "cursor", text)
		return nil
	}
	p.cursor = id
	return nil
}

func (p *poller) whoAmI(ctx context.Context) error {
	me, err := p.channel.account(ctx)
	if err != nil {
		return err
	}
	p.channel.me.Store(&me)
	p.log.Info("telegram_connected", "bot", "@"+me.Username)
	p.menu(ctx)
	return nil
}

// poll asks for what comes behind the cursor, which is the acknowledgement of all before.
func (p *poller) poll(ctx context.Context) ([]json.RawMessage, error) {
	params := pollParams{Limit: pollLimit, Timeout: int(pollWait / time.Second), Allowed: wanted[:]}
	if p.cursor != 0 {
		params.Offset = p.cursor + 1
	}
	var raw []json.RawMessage
	if err := p.channel.api.post(ctx, "getUpdates", pollTimeout, params, &raw); err != nil {
		if isConflict(err) {
			err = explainConflict(err, p.channel.holder(ctx))
		}
		return nil, wrap("telegram getUpdates", refusedToken(err))
	}
	if len(raw) > 0 && lastID(raw) == 0 {
		return nil, ports.Errorf(ports.KindProtocol, "telegram getUpdates", "%d updates without an id", len(raw))
	}
	return raw, nil
}

// lastID is the highest id in an answer of getUpdates; 0 if there is none.
func lastID(raw []json.RawMessage) int64 {
	var last int64
	for _, r := range raw {
		last = max(last, idOf(r))
	}
	return last
}

// idOf reads an update's id even if all else in it is unreadable.
func idOf(raw json.RawMessage) int64 {
	var u struct {
		ID int64 `json:"update_id"`
	}
	_ = json.Unmarshal(raw, &u)
	return u.ID
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
