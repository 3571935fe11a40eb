package terminal

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

// memory is a store in memory: the Feed and the Fates of ports, whole.
type memory struct {
	mu    sync.Mutex
	feeds map[string][]ports.FeedItem
	fates map[string]ports.Fate
	fault func(ctx context.Context, op string, act func()) error // nil: none
}

func newMemory() *memory {
	return &memory{feeds: map[string][]ports.FeedItem{}, fates: map[string]ports.Fate{}}
}

// do runs act under the lock, or lets the fault decide about it.
func (m *memory) do(ctx context.Context, op string, act func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	fault := m.fault
	m.mu.Unlock()
	locked := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		act()
	}
	if fault != nil {
		return fault(ctx, op, locked)
	}
	locked()
	return nil
}

func (m *memory) fail(fault func(ctx context.Context, op string, act func()) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = fault
}

func (m *memory) Append(ctx context.Context, chat, nonce string, body json.RawMessage) (item ports.FeedItem, err error) {
	op := "append"
	if strings.HasPrefix(nonce, sendNonce) {
		op = "append sent"
	}
	err = m.do(ctx, op, func() {
		for _, f := range m.feeds[chat] {
			if f.Nonce == nonce {
				item = f
				return
			}
		}
		item = ports.FeedItem{Seq: int64(len(m.feeds[chat]) + 1), Nonce: nonce, Body: slices.Clone(body), At: time.Now()}
		m.feeds[chat] = append(m.feeds[chat], item)
	})
	return item, err
}

func (m *memory) Tail(ctx context.Context, chat string, seq int64, limit int) (items []ports.FeedItem, err error) {
	err = m.do(ctx, "tail", func() {
		feed := m.feeds[chat]
		if seq < 0 {
			seq = max(0, int64(len(feed))+seq)
		}
		seq = min(seq, int64(len(feed)))
		items = slices.Clone(feed[seq:min(int(seq)+limit, len(feed))])
	})
	return items, err
}

func (m *memory) Fate(ctx context.Context, event string) (fate ports.Fate, err error) {
	found := false
	if err = m.do(ctx, "fate", func() { fate, found = m.fates[event] }); err == nil && !found {
		err = ports.Errorf(ports.KindNotFound, "memory fate", "no such message")
	}
	return fate, err
}

func (m *memory) set(event string, f ports.Fate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fates[event] = f
}
