package linechat

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"dragoman/ports"
	"dragoman/tests/channeltest"
)

// memory is a ports.Feed in memory. The zero value is ready.
type memory struct {
	mu    sync.Mutex
	chats map[string][]ports.FeedItem
	fault channeltest.Fault
	times int // of Append that meet the fault; < 0: all
}

func (m *memory) breakAppends(f channeltest.Fault, times int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault, m.times = f, times
}

func (m *memory) Append(ctx context.Context, chat, nonce string, body json.RawMessage) (ports.FeedItem, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.times != 0 {
		m.times = max(m.times-1, -1)
		if m.fault == channeltest.FaultHang {
			m.mu.Unlock()
			<-ctx.Done()
			m.mu.Lock()
			return ports.FeedItem{}, ctx.Err()
		}
		return ports.FeedItem{}, ports.Errorf(ports.KindUnavailable, "memory append", "the disk is full")
	}
	for _, item := range m.chats[chat] {
		if item.Nonce == nonce {
			return item, nil
		}
	}
	if m.chats == nil {
		m.chats = map[string][]ports.FeedItem{}
	}
	item := ports.FeedItem{Seq: int64(len(m.chats[chat]) + 1), Nonce: nonce, Body: slices.Clone(body), At: time.Now()}
	m.chats[chat] = append(m.chats[chat], item)
	return item, nil
}

func (m *memory) Tail(_ context.Context, chat string, seq int64, limit int) ([]ports.FeedItem, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	feed := m.chats[chat]
	if seq < 0 {
		seq = max(0, int64(len(feed))+seq)
	}
	seq = min(seq, int64(len(feed)))
	return slices.Clone(feed[seq:min(int(seq)+limit, len(feed))]), nil
}
