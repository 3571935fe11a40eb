package terminal

import (
	"context"
	"time"

	"dragoman/ports"
)

const (
	pageItems = 100             // read from the feed at once
	reread    = 3 * time.Second // another process may have written
)

// Watch shows a conversation to its terminal. See ports.Terminal.
func (c *Channel) Watch(ctx context.Context, back int, show func(ports.Glimpse) error) error {
	name, leave, ok := c.hub.hold()
	if !ok {
		return ports.Errorf(ports.KindUnavailable, "terminal watch", "the gateway is about to stop")
	}
	defer leave()
	w := watch{channel: c, chat: name, show: show}
	if err := w.begin(ctx, back); err != nil {
		return ended(ctx, err)
	}
	again := time.NewTicker(reread)
	defer again.Stop()
	for {
		changed := c.hub.next(name)
		if err := w.news(ctx); err != nil {
			return ended(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-again.C:
		}
	}
}

// Close waits until no terminal looks any more, or ctx ends. Watch fails from then
// on, with KindUnavailable.
func (c *Channel) Close(ctx context.Context) { c.hub.close(ctx) }

// ended is nil where ctx was the reason.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

type watch struct {
	channel *Channel
	chat    string
	show    func(ports.Glimpse) error
	after   int64
}

// begin shows the conversation's name and the last lines of its past.
func (w *watch) begin(ctx context.Context, back int) error {
	back = min(max(back, 0), pageItems)
	past, err := w.read(ctx, -int64(max(back, 1)), max(back, 1))
	if err != nil {
		return err
	}
	if len(past) > back {
		past = nil
	}
	return w.show(ports.Glimpse{Chat: w.chat, Past: past})
}

// news shows what came since: lines first, so that a draft stands below them.
func (w *watch) news(ctx context.Context) error {
	for {
		lines, err := w.read(ctx, w.after, pageItems)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if err := w.show(ports.Glimpse{Line: &l}); err != nil {
				return err
			}
		}
		if len(lines) < pageItems {
			break
		}
	}
	draft, typing := w.channel.hub.take(w.chat)
	if typing {
		if err := w.show(ports.Glimpse{Typing: true}); err != nil {
			return err
		}
	}
	if draft == nil {
		return nil
	}
	return w.show(ports.Glimpse{Draft: draft})
}

// read reads lines and moves on behind them.
func (w *watch) read(ctx context.Context, after int64, limit int) ([]ports.Line, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	items, err := w.channel.feed.Tail(ctx, w.chat, after, limit)
	if err != nil {
		return nil, wrap("tail", err)
	}
	lines := make([]ports.Line, len(items))
	for i, f := range items {
		if lines[i], err = line(f); err != nil {
			return nil, wrap("tail", err)
		}
		w.after = f.Seq
	}
	return lines, nil
}
