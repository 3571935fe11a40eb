package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	pageLimit   = 100 // messages that Discord gives at once
	maxPages    = 100 // of one room
	backfillers = 4   // rooms that are read at once
)

// ready begins a new session: what was written before it is read from the
// histories, of the direct rooms at once, of the guilds' as they come.
func (t *intake) ready(ctx context.Context, raw json.RawMessage) error {
	var x struct {
		Guilds []guild `json:"guilds"`
		App    struct {
			ID string `json:"id"`
		} `json:"application"`
	}
	if err := json.Unmarshal(raw, &x); err != nil {
		return err
	}
	if isID(x.App.ID) {
		select {
		case t.app <- x.App.ID:
		default:
		}
	}
	after, before := t.rooms.gap(), t.missing
	t.rooms.begin(time.Now())
	t.missing = map[string]gap{}
	for _, g := range x.Guilds {
		t.missing[g.ID] = after
		if earlier := before[g.ID]; earlier != nil && earlier("") > 0 {
			t.missing[g.ID] = earlier // it has not come since, and that was not the first start
		}
	}
	var list []room
	for _, id := range t.rooms.listed() {
		if t.shard.index > 0 {
			break // shard 0 has them
		}
		list = append(list, room{ID: id, Type: typeDM})
	}
	t.backfill(ctx, list, after)
	t.heard, t.late = time.Now(), false
	if len(x.Guilds) == 0 {
		t.advance(ctx)
	}
	return nil
}

// guild comes after READY, for each that the bot is in, and before anything else
// that happens in it.
func (t *intake) guild(ctx context.Context, raw json.RawMessage) error {
	var g guild
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	all := g.all()
	t.rooms.learn(all...)
	after := t.missing[g.ID]
	if after == nil || g.Away {
		return nil // it is new, or was away: nothing in it was for us; or it is still to come
	}
	t.backfill(ctx, slices.DeleteFunc(all, func(r room) bool { return !t.debts.has(r.ID) && ordinal(r.Last) <= after(r.ID) }), after)
	delete(t.missing, g.ID)
	t.heard = time.Now()
	t.advance(ctx)
	return nil
}

// advance moves the cursor, if nothing is missing.
func (t *intake) advance(ctx context.Context) {
	if !t.awaits() && ctx.Err() == nil {
		t.deliver(ctx, ports.Batch{Cursor: t.rooms.caughtUp()})
	}
}

// settle reads the histories that are owed, when it is time for that.
func (t *intake) settle(ctx context.Context) {
	owed := t.debts.due()
	for _, d := range owed {
		if !d.orders() && len(d.held) > 0 {
			t.deliver(ctx, ports.Batch{Messages: d.held})
			d.held = nil
		}
		t.fill(ctx, d)
	}
	if len(owed) > 0 {
		t.advance(ctx)
	}
}

// all are the rooms of a guild.
func (g guild) all() []room {
	all := slices.Concat(g.Channels, g.Threads)
	for i := range all {
		all[i].Guild = g.ID
	}
	return all
}

// backfill stores what was written in rooms since the gap began, some rooms side
// by side, each in order.
func (t *intake) backfill(ctx context.Context, list []room, after gap) {
	places := make(chan struct{}, backfillers)
	var work sync.WaitGroup
	defer work.Wait()
	for _, r := range list {
		d := t.debts.redeem(r, after)
		if d.after == 0 {
			continue // the first start: what was written before is not for us
		}
		places <- struct{}{}
		work.Go(func() {
			defer func() { <-places }()
			t.fill(ctx, d)
		})
	}
}

// fill stores what was written in one room, and behind it what was held. What it
// cannot read, or is too much for once, is owed.
func (t *intake) fill(ctx context.Context, d debt) {
	count := 0
	for range maxPages {
		page, ok := t.patiently(ctx, d)
		if ctx.Err() != nil {
			return
		}
		if !ok {
			t.debts.owe(d)
			return
		}
		stored := t.history(ctx, d.room, page)
		if ctx.Err() != nil {
			return
		}
		count += stored
		if len(page) > 0 {
			d.after = ordinal(page[len(page)-1].ID)
		}
		if len(page) < pageLimit {
			if len(d.held) > 0 { // a history that may not be read has none of it
				t.deliver(ctx, ports.Batch{Messages: d.held})
			}
			if count > 0 {
				t.log.Info("discord_backfilled", "chat", d.room.ID, "count", count)
			}
			return
		}
	}
	t.debts.owe(d)
}

// patiently reads a page, however often it takes, but not for long; ok is false if
// that was not enough.
func (t *intake) patiently(ctx context.Context, d debt) (page []message, ok bool) {
	patience := t.debts.patience()
	if patience == 0 {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	failed := false
	err := t.persist(ctx, func(ctx context.Context) (err error) {
		page, err = t.page(ctx, d.room, d.after)
		failed = failed || err != nil
		return err
	})
	t.debts.note(err == nil)
	switch {
	case err != nil:
		t.log.Warn("discord_history_owed", "chat", d.room.ID)
	case failed:
		t.recovered()
	}
	return page, err == nil
}

// history stores a page of a room's history, and says how many messages of it were
// for us.
func (t *intake) history(ctx context.Context, of room, page []message) int {
	var b ports.Batch
	for _, m := range page {
		m.Guild = of.Guild
		out, why, ok := t.in.message(m, of)
		if !ok {
			t.skip("history", m.ID, why)
			continue
		}
		b.Messages = append(b.Messages, out)
	}
	if len(b.Messages) > 0 {
		t.deliver(ctx, b)
	}
	if len(page) > 0 && ctx.Err() == nil {
		t.rooms.stored(of.ID, page[len(page)-1].ID)
	}
	return len(b.Messages)
}

// page is the next page of a room's history, oldest first; empty at its end, and
// where the bot may not read.
func (r *runner) page(ctx context.Context, of room, after uint64) ([]message, error) {
	return r.channel.history(ctx, of.ID, after)
}

func (c *Channel) history(ctx context.Context, room string, after uint64) ([]message, error) {
	var raw []json.RawMessage
	path := fmt.Sprintf("/channels/%s/messages?after=%d&limit=%d", room, after, pageLimit)
	err := wrap("discord history", false, c.api.do(ctx, request{method: http.MethodGet, path: path, timeout: askTimeout}, &raw))
	switch ports.KindOf(err) {
	case ports.KindForbidden, ports.KindNotFound, ports.KindInvalid:
		c.log.Debug("discord_history_closed", "chat", room, "err", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	page := c.readable(room, raw)
	page = slices.DeleteFunc(page, func(m message) bool { return ordinal(m.ID) <= after })
	slices.SortFunc(page, func(a, b message) int {
		if ordinal(a.ID) < ordinal(b.ID) {
			return -1
		}
		return 1
	})
	return page, nil
}

// readable decodes messages each alone: of one that is in another form the id alone
// counts, for the others, and what comes after them, are to be read all the same.
func (c *Channel) readable(room string, raw []json.RawMessage) []message {
	page := make([]message, len(raw))
	for i, one := range raw {
		if err := json.Unmarshal(one, &page[i]); err != nil {
			c.log.Warn("discord_message_unreadable", "chat", room, "err", err)
			page[i] = message{ID: page[i].ID}
		}
	}
	return page
}
