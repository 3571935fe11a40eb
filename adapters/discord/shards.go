package discord

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"dragoman/ports"
)

// maxShards is how many sessions a bot may have here: for 2.5 million servers.
const maxShards = 1000

// gate is what Discord says of new sessions
// (https://discord.com/developers/docs/topics/gateway#get-gateway-bot).
type gate struct {
	URL    string `json:"url"`
	Shards int    `json:"shards"` // that it recommends
	Limit  struct {
		Total     int   `json:"total"`
		Remaining int   `json:"remaining"`
		Reset     int64 `json:"reset_after"` // milliseconds
	} `json:"session_start_limit"`
}

func (c *Channel) gate(ctx context.Context) (gate, error) {
	const op = "discord gateway address"
	var g gate
	if err := c.api.do(ctx, request{method: http.MethodGet, path: "/gateway/bot", timeout: askTimeout}, &g); err != nil {
		return g, wrap(op, false, refusedToken(err))
	}
	if g.URL == "" {
		return g, ports.Errorf(ports.KindProtocol, op, "no address: is api_url Discord's?")
	}
	return g, nil
}

// starts is when a session was asked for last, by any shard.
type starts struct {
	mu    sync.Mutex
	asked time.Time
}

// shard is one of the parts that the servers of a large bot are dealt to, each with a
// session of its own. Shard 0 has the direct chats.
type shard struct{ index, count int }

// shards are all parts of a bot, and the receiver that they deliver to: what is read
// of each is part of one cursor. Safe for many goroutines.
type shards struct {
	in ports.Receiver

	mu     sync.Mutex
	read   []string // the stored cursor of each
	faults []error  // that the admin was told of, by shard
}

// wholeCursor is the cursor of a bot with several shards.
type wholeCursor struct {
	Shards []cursor `json:"shards"`
}

// newShards takes the cursors of count shards from what is stored. If there were
// others, each begins where the first of them does: what it has is read once more.
func newShards(ctx context.Context, in ports.Receiver, count int, log *slog.Logger) (*shards, error) {
	text, err := in.Cursor(ctx)
	if err != nil {
		return nil, err
	}
	var whole wholeCursor
	err = json.Unmarshal([]byte(text), &whole)
	if len(whole.Shards) == 0 && err == nil {
		whole.Shards = make([]cursor, 1)
		err = json.Unmarshal([]byte(text), &whole.Shards[0])
	}
	if err != nil && text != "" {
		log.Warn("discord_cursor_invalid", "err", err)
	}
	s := &shards{in: in, read: make([]string, count), faults: make([]error, count)}
	for i := range s.read {
		c := joined(whole.Shards)
		if len(whole.Shards) == count {
			c = whole.Shards[i]
		}
		if i > 0 {
			c.Direct = nil // they are shard 0's
		}
		s.read[i] = c.text()
	}
	return s, nil
}

// joined is a cursor that misses nothing of what any of list does.
func joined(list []cursor) cursor {
	c := cursor{Last: map[string]string{}}
	for _, one := range list {
		if one.Since > 0 && (c.Since == 0 || one.Since < c.Since) {
			c.Since = one.Since
		}
		maps.Copy(c.Last, one.Last)
		c.Direct = append(c.Direct, one.Direct...)
	}
	slices.Sort(c.Direct)
	c.Direct = slices.Compact(c.Direct)
	return c
}

// of is what a shard delivers to.
func (s *shards) of(index int) ports.Receiver { return part{s, index} }

// part is the receiver of one shard.
type part struct {
	all   *shards
	index int
}

// Receive stores a batch, with the cursors of all shards. What another one stores at
// the same time may take this cursor back: then something is read twice.
func (p part) Receive(ctx context.Context, b ports.Batch) error {
	mine := b.Cursor
	if mine != "" {
		b.Cursor = p.all.with(p.index, mine)
	}
	if err := p.all.in.Receive(ctx, b); err != nil || mine == "" {
		return err
	}
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	p.all.read[p.index] = mine
	return nil
}

// Cursor is the shard's own.
func (p part) Cursor(context.Context) (string, error) {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	return p.all.read[p.index], nil
}

// Report tells the admin of a fault until no shard has one.
func (p part) Report(err error) {
	to, ok := p.all.in.(ports.Reporter)
	if !ok {
		return
	}
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	p.all.faults[p.index] = err
	to.Report(errors.Join(p.all.faults...))
}

// with is the cursor of all once one of them is at mine.
func (s *shards) with(index int, mine string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.read)
	list[index] = mine
	if len(list) == 1 {
		return mine
	}
	var whole struct {
		Shards []json.RawMessage `json:"shards"`
	}
	for _, text := range list {
		whole.Shards = append(whole.Shards, json.RawMessage(text))
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return "" // all are JSON
	}
	return string(raw)
}
