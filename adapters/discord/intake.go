package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"dragoman/ports"
)

// maxBatch is how many messages are stored at once.
const maxBatch = 100

// guildsTimeout is how long no guild may have come after READY when the cursor moves
// without those that are missing.
const guildsTimeout = time.Minute

// enqueue hands an event to who stores it; false if there is no room. What is of
// no use is let go.
func (r *runner) enqueue(e event) bool {
	switch e.kind {
	case "INTERACTION_CREATE":
		return r.presses.put(e)
	case "READY", "GUILD_CREATE", "CHANNEL_CREATE", "CHANNEL_UPDATE", "CHANNEL_DELETE",
		"THREAD_CREATE", "THREAD_UPDATE", "THREAD_DELETE", "THREAD_LIST_SYNC",
		"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		return r.posts.put(e)
	}
	return true
}

// intake is who stores messages, in the order in which they came.
type intake struct {
	*runner
	in      incoming
	batch   []ports.Message
	read    []place        // of all that the batch has, and of what was skipped
	missing map[string]gap // guilds that have not come since READY
	heard   time.Time      // when the last of them came
	late    bool           // the cursor waits for them no more
	debts   debts
}

// place is a message's.
type place struct{ room, message string }

// storePosts stores what the gateway tells of messages until ctx ends.
func (r *runner) storePosts(ctx context.Context) {
	t := &intake{runner: r, in: r.incoming()}
	for {
		events := t.next(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, e := range events {
			if len(t.batch) >= maxBatch {
				t.flush(ctx)
			}
			t.event(ctx, e)
			if ctx.Err() != nil {
				return
			}
		}
		t.flush(ctx)
		t.settle(ctx)
	}
}

// next are the next events; none where it is time to read what is owed.
func (t *intake) next(ctx context.Context) []event {
	if t.debts.any() {
		bounded, cancel := context.WithTimeout(ctx, settleEvery)
		defer cancel()
		ctx = bounded
	}
	return t.posts.take(ctx)
}

func (r *runner) incoming() incoming {
	return incoming{me: r.me, rooms: r.rooms, threads: r.channel.threads}
}

func (t *intake) event(ctx context.Context, e event) {
	var err error
	switch e.kind {
	case "READY":
		t.flush(ctx)
		err = t.ready(ctx, e.data)
	case "GUILD_CREATE":
		t.flush(ctx)
		err = t.guild(ctx, e.data)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		var x room
		if err = json.Unmarshal(e.data, &x); err == nil {
			t.rooms.learn(x)
		}
	case "CHANNEL_DELETE", "THREAD_DELETE":
		var x room
		if err = json.Unmarshal(e.data, &x); err == nil {
			t.rooms.forget(x.ID)
		}
	case "THREAD_LIST_SYNC":
		var x guild
		if err = json.Unmarshal(e.data, &x); err == nil {
			t.rooms.learn(x.all()...)
		}
	default:
		err = t.message(ctx, e)
	}
	if err != nil {
		t.log.Warn("discord_event_unreadable", "event", e.kind, "err", err)
		t.log.Debug("discord_event_raw", "body", string(e.data))
	}
}

func (t *intake) message(ctx context.Context, e event) error {
	var m struct {
		message
		IDs []string `json:"ids"` // of those deleted at once
	}
	if err := json.Unmarshal(e.data, &m); err != nil {
		return err
	}
	if !isID(m.Channel) {
		t.skip(e.kind, m.ID, "no channel")
		return nil
	}
	r := t.room(ctx, m.Channel, m.Guild)
	switch e.kind {
	case "MESSAGE_CREATE":
		t.take(m.message, r)
	case "MESSAGE_UPDATE":
		out, why, ok := t.in.changed(m.message, r)
		if now, _, readable := t.in.message(m.message, r); ok && readable && t.debts.replace(m.Channel, out.ID, now) {
			return nil
		}
		t.keep(e.kind, m.ID, out, why, ok)
	default:
		for _, id := range append(m.IDs, m.ID) {
			if isID(id) {
				t.debts.replace(m.Channel, messageID(m.Channel, id))
				t.keep(e.kind, id, t.in.gone(id, m.Channel, r), "", true)
			}
		}
	}
	return nil
}

// take adds a new message to the batch. While older ones of its room are missing it
// waits for the history, to come behind them.
func (t *intake) take(m message, r room) {
	out, why, ok := t.in.message(m, r)
	if ok && t.debts.hold(m.Channel, out) {
		return
	}
	t.batch = append(t.batch, t.debts.release(m.Channel)...)
	t.keep("MESSAGE_CREATE", m.ID, out, why, ok)
	t.read = append(t.read, place{m.Channel, m.ID})
}

func (t *intake) keep(kind, id string, m ports.Message, why string, ok bool) {
	if !ok {
		t.skip(kind, id, why)
		return
	}
	t.batch = append(t.batch, m)
}

func (t *intake) skip(kind, id, why string) {
	t.log.Debug("discord_event_skipped", "event", kind, "message", id, "why", why)
}

// room is what is known of a room, or what Discord tells when asked: whether it is
// a thread, and of which channel.
func (t *intake) room(ctx context.Context, id, guild string) room {
	if guild == "" {
		if _, known := t.rooms.get(id); !known {
			t.rooms.learn(room{ID: id, Type: typeDM})
		}
	}
	if r, known := t.rooms.get(id); known {
		return r
	}
	var found room
	err := t.channel.api.do(ctx, request{method: http.MethodGet, path: "/channels/" + id, timeout: quickTimeout}, &found)
	if err != nil || found.ID != id {
		t.log.Debug("discord_room_unknown", "room", id, "err", err)
		return room{ID: id, Guild: guild}
	}
	found.Guild = guild
	t.rooms.learn(found)
	return found
}

// flush stores the batch; that messages were skipped is not worth a commit of its
// own, unless they are many. While guilds are missing the cursor stays: what was
// written in them may not be stored yet.
func (t *intake) flush(ctx context.Context) {
	if len(t.batch) == 0 && len(t.read) < maxBatch {
		return
	}
	for _, p := range t.read {
		t.rooms.stored(p.room, p.message)
	}
	b := ports.Batch{Messages: t.batch}
	if !t.awaits() {
		b.Cursor = t.rooms.caughtUp()
	}
	t.batch, t.read = nil, nil
	t.deliver(ctx, b)
}

// deliver stores a batch, however often it takes.
func (r *runner) deliver(ctx context.Context, b ports.Batch) {
	failed := false
	if r.persist(ctx, func(ctx context.Context) error {
		err := r.in.Receive(ctx, b)
		failed = failed || err != nil
		return err
	}) == nil && failed {
		r.recovered()
	}
}

// awaits reports whether the cursor has to stay: guilds or histories are missing. A
// guild that does not come holds it for a while only, and is read when it does.
func (t *intake) awaits() bool {
	if len(t.missing) > 0 && !t.late && time.Since(t.heard) > guildsTimeout {
		t.log.Warn("discord_guilds_missing", "count", len(t.missing))
		t.late = true
	}
	return len(t.missing) > 0 && !t.late || t.debts.any()
}
