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
	t.after, t.since = t.rooms.gap(), time.Now()
	t.missing = map[string]bool{}
	for _, g := range x.Guilds {
		t.missing[g.ID] = true
	}
	var list []room
	for _, id := range t.rooms.listed() {
		list = append(list, room{ID: id, Type: typeDM})
	}
	t.backfill(ctx, list)
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
	if len(t.missing) == 0 && ctx.Err() == nil {
		t.deliver(ctx, ports.Batch{Cursor: t.rooms.caughtUp()})
	}
	return nil
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
		after := t.after(r.ID)
		if after == 0 {
			continue // the first start: what was written before is not for us
		}
		places <- struct{}{}
		work.Go(func() {
			defer func() { <-places }()
			t.fill(ctx, r, after)
		})
	}
}

// fill stores what was written in one room.
func (t *intake) fill(ctx context.Context, r room, after uint64) {
	count := 0
	for range maxPages {
		var page []message
		err := t.persist(ctx, func(ctx context.Context) (err error) {
			page, err = t.page(ctx, r, after)
			return err
		})
		if err != nil || len(page) == 0 {
			break
		}
		var b ports.Batch
		for _, m := range page {
			m.Guild = r.Guild
			out, why, ok := t.in.message(m, r)
			if !ok {
				t.skip("history", m.ID, why)
				continue
			}
			b.Messages = append(b.Messages, out)
		}
		if len(b.Messages) > 0 {
			t.deliver(ctx, b)
		}
		if ctx.Err() != nil {
			return
		}
		last := page[len(page)-1].ID
		t.rooms.stored(r.ID, last)
		after, count = ordinal(last), count+len(b.Messages)
		if len(page) < pageLimit {
			break
		}
	}
	if count > 0 {
		t.log.Info("discord_backfilled", "chat", r.ID, "count", count)
	}
}

// page is the next page of a room's history, oldest first; empty at its end, and
// where the bot may not read.
func (r *runner) page(ctx context.Context, of room, after uint64) ([]message, error) {
	var page []message
	path := fmt.Sprintf("/channels/%s/messages?after=%d&limit=%d", of.ID, after, pageLimit)
	err := wrap("discord history", false, r.channel.api.do(ctx, request{method: http.MethodGet, path: path, timeout: askTimeout}, &page))
	switch ports.KindOf(err) {
	case ports.KindForbidden, ports.KindNotFound, ports.KindInvalid:
		r.log.Debug("discord_history_closed", "chat", of.ID, "err", err)
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
