package web

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

// memory is a store in memory: the Feed and the Records of ports, whole.
type memory struct {
	mu      sync.Mutex
	feeds   map[string][]ports.FeedItem
	records map[[3]string]ports.Record
	fault   func(ctx context.Context, op string, act func()) error // nil: none
}

func newMemory() *memory {
	return &memory{feeds: make(map[string][]ports.FeedItem), records: make(map[[3]string]ports.Record)}
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

func (m *memory) Get(ctx context.Context, scope, kind, key string) (rec ports.Record, err error) {
	found := false
	if err = m.do(ctx, "get", func() { rec, found = m.live(scope, kind, key) }); err != nil {
		return ports.Record{}, err
	}
	if !found {
		return ports.Record{}, ports.Errorf(ports.KindNotFound, "memory get", "no such record")
	}
	return rec, nil
}

func (m *memory) List(ctx context.Context, scope, kind string) (all []ports.Record, err error) {
	err = m.do(ctx, "list", func() {
		for k := range m.records {
			if rec, ok := m.live(scope, kind, k[2]); ok && k[0] == scope && k[1] == kind {
				all = append(all, rec)
			}
		}
		slices.SortFunc(all, func(a, b ports.Record) int { return strings.Compare(a.Key, b.Key) })
	})
	return all, err
}

func (m *memory) Put(ctx context.Context, r ports.Record) (ports.Record, error) {
	conflict := false
	err := m.do(ctx, "put", func() {
		old, _ := m.live(r.Scope, r.Kind, r.Key)
		if conflict = old.Version != r.Version; conflict {
			return
		}
		r.Version++
		m.records[[3]string{r.Scope, r.Kind, r.Key}] = r
	})
	if err == nil && conflict {
		err = ports.Errorf(ports.KindConflict, "memory put", "another version")
	}
	return r, err
}

func (m *memory) Delete(ctx context.Context, r ports.Record) error {
	return m.do(ctx, "delete", func() { delete(m.records, [3]string{r.Scope, r.Kind, r.Key}) })
}

func (m *memory) live(scope, kind, key string) (ports.Record, bool) {
	rec, ok := m.records[[3]string{scope, kind, key}]
	if !ok || !rec.Expires.IsZero() && time.Now().After(rec.Expires) {
		return ports.Record{}, false
	}
	return rec, true
}
