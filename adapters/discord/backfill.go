package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

	// historyPatience is how long a history may hold up what comes in; one that cannot
	// be read by then is owed, and tried again.
	historyPatience = 10 * time.Second
	settleEvery     = 15 * time.Second
	// orderPatience is how long what is said in a room waits for a history that is owed,
	// so that all is answered in order. Then it is better to answer at all.
	orderPatience = 3 * time.Minute
)

// debt is a history that could not be read.
type debt struct {
	room  room
	after uint64    // the last message that is stored
	since time.Time // when it could not be read first
}

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
	t.after, t.since = t.gap(), time.Now()
	t.rooms.begin(t.since)
	t.missing = map[string]bool{}
	for _, g := range x.Guilds {
		t.missing[g.ID] = true
	}
	var list []room
	for _, id := range t.rooms.listed() {
		if t.shard.index > 0 {
			break // shard 0 has them
		}
		list = append(list, room{ID: id, Type: typeDM})
	}
	t.backfill(ctx, list)
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
	if !t.missing[g.ID] {
		return nil // it is new, or was away: nothing in it was for us
	}
	t.backfill(ctx, slices.DeleteFunc(all, func(r room) bool { return ordinal(r.Last) <= t.after(r.ID) }))
	delete(t.missing, g.ID)
	t.advance(ctx)
	return nil
}

// advance moves the cursor, if nothing is missing.
func (t *intake) advance(ctx context.Context) {
	if !t.awaits() && ctx.Err() == nil {
		t.deliver(ctx, ports.Batch{Cursor: t.rooms.caughtUp()})
	}
}

func (t *intake) owe(r room, after uint64, since time.Time) {
	t.log.Warn("discord_history_owed", "chat", r.ID)
	t.owing.Lock()
	defer t.owing.Unlock()
	t.owed[r.ID] = debt{room: r, after: after, since: since}
	t.tried = time.Now()
}

// waitsFor reports whether what is said in a room comes by its history.
func (t *intake) waitsFor(room string) bool {
	t.owing.Lock()
	defer t.owing.Unlock()
	d, is := t.owed[room]
	return is && time.Since(d.since) < orderPatience
}

// patience is how long to wait for a page: once a history is owed, it is not that
// room alone.
func (t *intake) patience() time.Duration {
	if t.owes() {
		return historyPatience / 10
	}
	return historyPatience
}

func (t *intake) owes() bool {
	t.owing.Lock()
	defer t.owing.Unlock()
	return len(t.owed) > 0
}

// gap is where a new session begins to read; what is owed is part of it.
func (t *intake) gap() func(room string) uint64 {
	after := t.rooms.gap()
	return func(room string) uint64 {
		t.owing.Lock()
		defer t.owing.Unlock()
		if d, is := t.owed[room]; is {
			return d.after
		}
		return after(room)
	}
}

// redeem takes a debt out of what is owed, or makes a new one.
func (t *intake) redeem(r room) debt {
	d := debt{room: r, after: t.after(r.ID), since: time.Now()}
	t.owing.Lock()
	defer t.owing.Unlock()
	if old, is := t.owed[r.ID]; is {
		d.since = old.since
		delete(t.owed, r.ID)
	}
	return d
}

// settle reads the histories that are owed, when it is time for that.
func (t *intake) settle(ctx context.Context) {
	if !t.owes() || time.Since(t.tried) < settleEvery {
		return
	}
	t.owing.Lock()
	owed := slices.Collect(maps.Values(t.owed))
	clear(t.owed)
	t.owing.Unlock()
	for _, d := range owed {
		t.fill(ctx, d)
	}
	t.advance(ctx)
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
func (t *intake) backfill(ctx context.Context, list []room) {
	places := make(chan struct{}, backfillers)
	var work sync.WaitGroup
	defer work.Wait()
	for _, r := range list {
		d := t.redeem(r)
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

// fill stores what was written in one room. What it cannot read, or is too much for
// once, is owed.
func (t *intake) fill(ctx context.Context, d debt) {
	count := 0
	for range maxPages {
		page, err := t.patiently(ctx, d)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.owe(d.room, d.after, d.since)
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
			if count > 0 {
				t.log.Info("discord_backfilled", "chat", d.room.ID, "count", count)
			}
			return
		}
	}
	t.owe(d.room, d.after, d.since)
}

// patiently reads a page, however often it takes, but not for long.
func (t *intake) patiently(ctx context.Context, d debt) (page []message, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.patience())
	defer cancel()
	failed := false
	err = t.persist(ctx, func(ctx context.Context) (err error) {
		page, err = t.page(ctx, d.room, d.after)
		failed = failed || err != nil
		return err
	})
	if err == nil && failed {
		t.recovered()
	}
	return page, err
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
	var page []message
	path := fmt.Sprintf("/channels/%s/messages?after=%d&limit=%d", room, after, pageLimit)
	err := wrap("discord history", false, c.api.do(ctx, request{method: http.MethodGet, path: path, timeout: askTimeout}, &page))
	switch ports.KindOf(err) {
	case ports.KindForbidden, ports.KindNotFound, ports.KindInvalid:
		c.log.Debug("discord_history_closed", "chat", room, "err", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	page = slices.DeleteFunc(page, func(m message) bool { return ordinal(m.ID) <= after })
	slices.SortFunc(page, func(a, b message) int {
		if ordinal(a.ID) < ordinal(b.ID) {
			return -1
		}
		return 1
	})
	return page, nil
}
