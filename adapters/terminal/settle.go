package terminal

import (
	"context"
	"slices"
	"time"

	"dragoman/ports"
)

// lookAgain is for what changes without a new line: a delivery that is given up.
const lookAgain = 500 * time.Millisecond

// Settled waits for a message's end by looking at the stored state, whenever the
// conversation changes. See ports.Terminal.
func (c *Channel) Settled(ctx context.Context, chat string, s ports.Said) (ports.Settlement, error) {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		changed := c.hub.next(chat)
		got, err := c.settlement(ctx, chat, s)
		if err != nil || got.State != "" {
			return got, err
		}
		select {
		case <-ctx.Done():
			return got, wrap("settled", ctx.Err())
		case <-changed:
		case <-again.C:
		}
	}
}

// settlement is what the message came to by now; without a State it is not at an end.
func (c *Channel) settlement(ctx context.Context, chat string, s ports.Said) (ports.Settlement, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	fate, err := c.fates.Fate(ctx, s.Event)
	if ports.IsKind(err, ports.KindNotFound) {
		return ports.Settlement{State: ports.SettledDropped}, nil
	}
	if err != nil {
		return ports.Settlement{}, wrap("settled", err)
	}
	state := stateOf(fate)
	if state == "" {
		return ports.Settlement{}, nil
	}
	lines, unsent, err := c.said(ctx, chat, s.Seq, fate)
	if err != nil || len(unsent) > 0 {
		return ports.Settlement{}, wrap("settled", err)
	}
	got := ports.Settlement{State: state, Lines: lines}
	if state == ports.SettledAsked {
		got.Asked = fate.Open
	}
	return got, nil
}

// stateOf is how a message stands, "" while the gateway works on it by itself.
func stateOf(f ports.Fate) ports.SettledState {
	switch {
	case f.Turn.ID == "" || f.Turn.State == ports.TurnParked:
		if f.Open != nil {
			return ports.SettledAsked
		}
		return ""
	case f.Turn.State != ports.TurnDone:
		return ""
	}
	switch f.Turn.Outcome {
	case ports.OutcomeAnswered:
		return ports.SettledAnswered
	case ports.OutcomeStopped:
		return ports.SettledStopped
	case ports.OutcomeSuperseded:
		return ports.SettledSuperseded
	}
	return ports.SettledFailed
}

// said reads what the turn said after seq. A delivery that is in the feed is
// said, also while the outbox has yet to mark it.
func (c *Channel) said(ctx context.Context, chat string, seq int64, f ports.Fate) (lines []ports.Line, unsent []string, err error) {
	unsent = slices.Clone(f.Unsent)
	for {
		items, err := c.feed.Tail(ctx, chat, seq, pageItems)
		if err != nil {
			return nil, nil, err
		}
		for _, item := range items {
			seq = item.Seq
			id := delivery(item)
			if id == "" || ports.TurnOf(id) != f.Turn.ID {
				continue
			}
			unsent = slices.DeleteFunc(unsent, func(u string) bool { return u == id })
			l, err := line(item)
			if err != nil {
				return nil, nil, err
			}
			lines = append(lines, l)
		}
		if len(items) < pageItems {
			return lines, unsent, nil
		}
	}
}
