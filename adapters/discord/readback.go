package discord

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	// nonceLife is how long Discord surely knows a nonce: it promises "the past few
	// minutes" (https://discord.com/developers/docs/resources/message#create-message).
	nonceLife = 2 * time.Minute
	// clocksApart is how far our clock may be ahead of Discord's.
	clocksApart = 2 * time.Second
	// backPages bounds what is read of a history for one send.
	backPages = 10
)

// readBack finds the message that an earlier try of m posted, where that may be so
// long ago that Discord has forgotten the nonce; "" if there is none. A history has
// no nonces: a message is known by what it says, and stands behind what this process
// posted last in the room, for a room's deliveries are posted in their order.
func (c *Channel) readBack(ctx context.Context, room string, m ports.Outgoing, p payload) (ports.MessageID, error) {
	if m.Since.IsZero() || time.Since(m.Since) < nonceLife {
		return "", nil
	}
	me, err := c.account(ctx)
	if err != nil {
		return "", err
	}
	after := max(idAt(m.Since.Add(-clocksApart)), c.posts.last(room))
	found := ""
	for range backPages {
		page, err := c.history(ctx, room, after)
		if err != nil {
			return "", err
		}
		for _, old := range page {
			if old.Author != nil && old.Author.ID == me.ID && p.isPosted(old, m.Content.File) {
				found = old.ID // of several the last one: those before it are others'
			}
			after = ordinal(old.ID)
		}
		if len(page) < pageLimit {
			break
		}
	}
	if found == "" {
		return "", nil
	}
	c.log.Info("discord_send_found", "chat", room, "delivery", m.Nonce)
	c.posts.note(room, found)
	return messageID(room, found), nil
}

// isPosted reports whether a message says what p does, with the file if there is one.
func (p payload) isPosted(m message, f *ports.File) bool {
	if m.Content == nil || strings.TrimSpace(*m.Content) != strings.TrimSpace(p.Content) {
		return false
	}
	if f != nil {
		return len(m.Attachments) == 1 && (f.Size == 0 || m.Attachments[0].Size == f.Size)
	}
	var rows []row
	if len(m.Components) > 0 && json.Unmarshal(m.Components, &rows) != nil {
		return false
	}
	return len(m.Attachments) == 0 && slices.Equal(pressesOf(rows), pressesOf(p.Components))
}

// pressesOf are the data of all buttons: that of a question is in no other.
func pressesOf(rows []row) []string {
	var list []string
	for _, r := range rows {
		for _, b := range r.Buttons {
			list = append(list, b.Data)
		}
	}
	return list
}

// posts is what this process posted last in each room. The zero value is ready. Safe
// for many goroutines.
type posts struct {
	mu   sync.Mutex
	room map[string]uint64
}

// maxPosts is how many rooms are remembered until all are forgotten: one that is not
// known is read from when the delivery was stored.
const maxPosts = 8192

func (p *posts) note(room, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.room == nil || len(p.room) >= maxPosts {
		p.room = map[string]uint64{}
	}
	p.room[room] = max(p.room[room], ordinal(message))
}

func (p *posts) last(room string) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.room[room]
}

// idAt is lower than the id of anything that came to be at t or later.
func idAt(t time.Time) uint64 {
	ms := t.UnixMilli() - epoch
	if ms <= 0 {
		return 0
	}
	return uint64(ms)<<22 - 1
}
