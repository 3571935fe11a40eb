package telegram

import (
	"context"
	"errors"
	"sync"
)

// moves are groups that became supergroups, which have other chat ids. They are
// kept in memory only: the first write after a restart learns them anew. The zero
// value is ready. Safe for many goroutines.
type moves struct {
	mu sync.Mutex
	to map[int64]int64
}

const movesMax = 4096 // far more than one bot sees in a life

// learn notes a move.
func (m *moves) learn(from, to int64) {
	if to == 0 || to == from {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.to == nil || len(m.to) >= movesMax {
		m.to = map[int64]int64{}
	}
	m.to[from] = to
}

// of is where a chat is now. A group that moved had no topics.
func (m *moves) of(t target) target {
	m.mu.Lock()
	defer m.mu.Unlock()
	if to, ok := m.to[t.Chat]; ok {
		return target{Chat: to}
	}
	return t
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
		t = target{Chat: api.MigrateTo}
		err = call(ctx, t)
	}
	return t, err
}
