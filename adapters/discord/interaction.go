package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
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
// shows. done is false where there is none, or another message stands there by now,
// whatever it says.
func (c *Channel) respond(ctx context.Context, t ticket, delivery string, p payload) (_ ports.MessageID, done bool, err error) {
	const op = "discord interaction"
	c.defers.wait(ctx, t.ID)
	path := t.original()
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
	if by := c.tickets.takenBy(t); by != "" && by != delivery {
		return "", false, nil
	}
	if now.Content != nil && *now.Content == p.Content {
		return messageID(now.Channel, now.ID), true, nil // a try before this one was carried out
	}
	return "", false, nil
}

// tickets are the commands that show a "thinking…", by conversation: several may be
// answered by one message, which takes the place of one. The zero value is ready.
// Safe for many goroutines.
type tickets struct {
	mu    sync.Mutex
	open  map[ports.Conversation][]ticket
	taken map[string]string // the delivery in the place of one, by the interaction's id
}

func (s *tickets) add(in ports.Conversation, t ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, list := range s.open {
		list = slices.DeleteFunc(list, func(t ticket) bool { return time.Since(timeOf(t.ID)) > ticketLife })
		if s.open[old] = list; len(list) == 0 {
			delete(s.open, old)
		}
	}
	for id := range s.taken {
		if time.Since(timeOf(id)) > ticketLife {
			delete(s.taken, id)
		}
	}
	if s.open == nil {
		s.open = map[ports.Conversation][]ticket{}
	}
	s.open[in] = append(s.open[in], t)
}

// take takes out one that shows a delivery now.
func (s *tickets) take(in ports.Conversation, t ticket, delivery string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Channel = ""
	if s.taken == nil {
		s.taken = map[string]string{}
	}
	s.taken[t.ID] = delivery
	s.open[in] = slices.DeleteFunc(s.open[in], func(o ticket) bool { return o.ID == t.ID })
}

// takenBy is the delivery that this process put in the place of one; "" if there is
// none.
func (s *tickets) takenBy(t ticket) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[t.ID]
}

// upTo takes out one and all before it: a conversation is answered in order.
func (s *tickets) upTo(in ports.Conversation, t ticket) (done []ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Channel = ""
	later := []ticket{}
	for _, o := range s.open[in] {
		if ordinal(o.ID) <= ordinal(t.ID) {
			done = append(done, o)
			continue
		}
		later = append(later, o)
	}
	if len(done) > 0 {
		s.open[in] = later
	}
	return done
}

// settle takes away what still shows that it thinks about what is answered now.
// Best effort: Discord does it too after a quarter of an hour.
func (c *Channel) settle(ctx context.Context, m ports.Outgoing) {
	t, ok := ticketOf(m.Reply)
	if !ok {
		return
	}
	c.defers.wait(ctx, t.ID)
	for _, o := range c.tickets.upTo(m.In, t) {
		r := request{method: http.MethodDelete, path: o.original(), timeout: quickTimeout, bare: true}
		if err := c.api.do(ctx, r, nil); err != nil {
			err = wrap("discord delete response", false, err)
			c.log.Debug("discord_response_left", "kind", ports.KindOf(err), "err", err)
		}
	}
}

// original is the path of what a command shows.
func (t ticket) original() string {
	return "/webhooks/" + t.App + "/" + t.Token + "/messages/@original"
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

// Types of an acknowledgement: words, a "thinking…" to be replaced, or nothing to see.
const (
	sayMessage   = 4
	deferMessage = 5
	deferUpdate  = 6
)

// acknowledgement is the first answer to an interaction.
type acknowledgement struct {
	Type int      `json:"type"`
	Data *notices `json:"data,omitempty"`
}

// notices are words for the one alone who did it.
type notices struct {
	Content string `json:"content"`
	Flags   int    `json:"flags"`
}

const flagOnlyYou = 1 << 6

// acknowledges is the first answer that an interaction needs. What is stopped says
// so itself: the command that did it has no answer of its own to wait for.
func acknowledges(i interaction) acknowledgement {
	switch {
	case i.Type == typePress:
		return acknowledgement{Type: deferUpdate}
	case i.Data.Name == stopCommand:
		return acknowledgement{Type: sayMessage, Data: &notices{"Stopping.", flagOnlyYou}}
	}
	return acknowledgement{Type: deferMessage}
}

// acknowledge tells Discord that an interaction arrived.
func (c *Channel) acknowledge(ctx context.Context, i interaction, in ports.Conversation) {
	answer := acknowledges(i)
	r := request{
		method: http.MethodPost, path: "/interactions/" + i.ID + "/" + i.Token + "/callback",
		body: answer, timeout: deferTimeout, bare: true,
	}
	if err := c.api.do(ctx, r, nil); err != nil {
		// The person reads that it failed, and is answered all the same.
		err = wrap("discord acknowledge", false, err)
		c.log.Info("discord_interaction_unacknowledged", "kind", ports.KindOf(err), "err", err)
		return
	}
	if answer.Type == deferMessage {
		c.tickets.add(in, ticket{ID: i.ID, App: i.App, Token: i.Token})
	}
}
