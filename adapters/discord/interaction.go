package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"dragoman/ports"
)

// Discord gives three seconds for the first answer to an interaction, and a
// quarter of an hour for the rest
// (https://discord.com/developers/docs/interactions/receiving-and-responding).
const (
	deferTimeout = 3 * time.Second
	ticketLife   = 14 * time.Minute
)

// ticket is what an answer to a slash command needs: Message.Reply.
type ticket struct {
	ID    string `json:"id"`
	App   string `json:"app"`
	Token string `json:"token"`
}

func (t ticket) raw() json.RawMessage {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil // strings alone
	}
	return raw
}

// ticketOf reads Outgoing.Reply; ok is false where there is none, or it is too old.
func ticketOf(raw json.RawMessage) (t ticket, ok bool) {
	if json.Unmarshal(raw, &t) != nil || !isID(t.ID) || !isID(t.App) || t.Token == "" {
		return ticket{}, false
	}
	return t, time.Since(timeOf(t.ID)) < ticketLife
}

// respond puts a message in the place of the "thinking…" that a slash command
// shows. done is false where there is none, or another message stands there by now.
func (c *Channel) respond(ctx context.Context, t ticket, p payload) (_ ports.MessageID, done bool, err error) {
	const op = "discord interaction"
	c.defers.wait(ctx, t.ID)
	path := "/webhooks/" + t.App + "/" + t.Token + "/messages/@original"
	var now message
	err = c.api.do(ctx, request{method: http.MethodGet, path: path, timeout: askTimeout, bare: true}, &now)
	if err == nil && now.Flags&flagLoading != 0 {
		err = c.api.do(ctx, request{method: http.MethodPatch, path: path, body: p.edited(), timeout: sendTimeout, bare: true}, &now)
		if err == nil {
			return messageID(now.Channel, now.ID), true, nil
		}
	}
	switch err := wrap(op, false, err); ports.KindOf(err) {
	case ports.KindNotFound, ports.KindForbidden, ports.KindUnauthorized:
		return "", false, nil // the ticket is good for nothing any more
	default:
		if err != nil {
			return "", false, err
		}
	}
	if now.Content != nil && *now.Content == p.Content {
		return messageID(now.Channel, now.ID), true, nil // a try before this one was carried out
	}
	return "", false, nil
}

// maxDefers is how many interactions are acknowledged at once.
const maxDefers = 16

// defers acknowledges interactions, beside what else goes on: Discord waits three
// seconds. An answer waits until it is done. The zero value is ready.
type defers struct {
	mu   sync.Mutex
	open map[string]chan struct{} // by the interaction's id
}

func (d *defers) begin(id string) (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[string]chan struct{}{}
	}
	done := make(chan struct{})
	d.open[id] = done
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.open, id)
		close(done)
	}
}

// wait waits until an interaction is acknowledged, or that has failed.
func (d *defers) wait(ctx context.Context, id string) {
	d.mu.Lock()
	done := d.open[id]
	d.mu.Unlock()
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Types of an acknowledgement: a "thinking…" to be replaced, or nothing to see.
const (
	deferMessage = 5
	deferUpdate  = 6
)

// acknowledge tells Discord that an interaction arrived.
func (c *Channel) acknowledge(ctx context.Context, i interaction) {
	answer := struct {
		Type int `json:"type"`
	}{deferMessage}
	if i.Type == typePress {
		answer.Type = deferUpdate
	}
	r := request{
		method: http.MethodPost, path: "/interactions/" + i.ID + "/" + i.Token + "/callback",
		body: answer, timeout: deferTimeout, bare: true,
	}
	if err := c.api.do(ctx, r, nil); err != nil {
		// The person reads that it failed, and is answered all the same.
		err = wrap("discord acknowledge", false, err)
		c.log.Info("discord_interaction_unacknowledged", "kind", ports.KindOf(err), "err", err)
	}
}
