package telegram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dragoman/ports"
)

// moves are groups that became supergroups, which have other chat ids. To the core
// such a group keeps the id that it had, so that its conversation goes on: what
// comes from the new chat is given the old id, what goes to the old one is sent to
// the new. They are stored as a part of the cursor. The zero value is ready. Safe
// for many goroutines.
type moves struct {
	mu   sync.Mutex
	list []move // the earliest known first
	news int    // counts what was learned
}

type move struct{ from, to int64 }

// movesMax bounds the list, which each cursor carries. A group that is forgotten
// goes on as a new conversation.
const movesMax = 256

// learn notes a move.
func (m *moves) learn(from, to int64) {
	if from == 0 || to == 0 || to == from {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// The end of one move is never the beginning of another: supergroups stay.
	if slices.ContainsFunc(m.list, func(o move) bool { return o.from == from || o.to == from || o.from == to || o.to == to }) {
		return
	}
	if len(m.list) >= movesMax {
		m.list = slices.Delete(m.list, 0, 1)
	}
	m.list = append(m.list, move{from, to})
	m.news++
}

// of is where a chat is now. A group that moved had no topics: one that is named
// is of the chat that it is now.
func (m *moves) of(t target) target {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.list {
		if o.from == t.Chat {
			t.Chat = o.to
			break
		}
	}
	return t
}

// known is a conversation as the core knows it.
func (m *moves) known(in ports.Conversation) ports.Conversation {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.list {
		if in.Chat == strconv.FormatInt(o.to, 10) {
			in.Chat = strconv.FormatInt(o.from, 10)
			break
		}
	}
	return in
}

// learned counts what was learned so far.
func (m *moves) learned() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.news
}

// cursor is where updates are read on behind an id, and what is known of moves:
// "700000001 -5>-100500".
func (m *moves) cursor(id int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	b.WriteString(strconv.FormatInt(id, 10))
	for _, o := range m.list {
		fmt.Fprintf(&b, " %d>%d", o.from, o.to)
	}
	return b.String()
}

// load reads a cursor. ok is false for one that is none.
func (m *moves) load(cursor string) (id int64, ok bool) {
	fields := strings.Fields(cursor)
	if len(fields) == 0 {
		return 0, false
	}
	id, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0, false
	}
	for _, f := range fields[1:] {
		from, to, _ := strings.Cut(f, ">")
		old, err1 := strconv.ParseInt(from, 10, 64)
		now, err2 := strconv.ParseInt(to, 10, 64)
		if err1 != nil || err2 != nil {
			return 0, false
		}
		m.learn(old, now)
	}
	return id, true
}

// in makes a call about a chat where that is now, and where the chat turns out to
// have moved, once more. It returns where the call was made at last.
func (c *Channel) in(ctx context.Context, t target, call func(context.Context, target) error) (target, error) {
	t = c.moves.of(t)
	err := call(ctx, t)
	var api *apiError
	if errors.As(err, &api) && api.MigrateTo != 0 && api.MigrateTo != t.Chat {
		c.log.Info("telegram_chat_moved", "chat", t.Chat, "now", api.MigrateTo)
		c.moves.learn(t.Chat, api.MigrateTo)
		t.Chat = api.MigrateTo
		err = call(ctx, t)
	}
	return t, err
}
