package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	kindTask = "mcp_task"
	// maxTasks is how many tasks of one server are remembered.
	maxTasks = 1000
	// storeWithin is how long a store may take to note a task, and to forget it.
	storeWithin = 10 * time.Second
)

// taskBook remembers which calls run as tasks, over restarts where there are
// records. Safe for many goroutines.
type taskBook struct {
	records ports.Records
	scope   string
	log     *slog.Logger

	mu    sync.Mutex
	read  bool                    // known has what the records had
	known map[string]ports.Record // by the call's public key
}

func newTaskBook(d Deps) *taskBook {
	return &taskBook{records: d.Records, scope: d.Scope, log: d.Log, known: map[string]ports.Record{}}
}

// of is the task of a call. What earlier processes left is read when it is first
// asked for; a store that cannot be read costs what it knew of tasks, and no more.
func (b *taskBook) of(ctx context.Context, key string) (task, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.read && b.records != nil {
		list, err := b.records.List(ctx, b.scope, kindTask)
		if err != nil {
			b.log.Warn("mcp_tasks_unread", "kind", ports.KindOf(err), "err", err)
		}
		b.read = err == nil
		for _, r := range list {
			b.known[r.Key] = r
		}
	}
	r, ok := b.known[key]
	return taskOf(r, ok)
}

// find is of for a call that an earlier process made for certain: that may have
// been another one, after the records were read.
func (b *taskBook) find(ctx context.Context, key string) (task, bool) {
	if t, ok := b.of(ctx, key); ok || b.records == nil {
		return t, ok
	}
	r, err := b.records.Get(ctx, b.scope, kindTask, key)
	if err == nil {
		b.note(key, r)
	}
	return taskOf(r, err == nil)
}

func taskOf(r ports.Record, ok bool) (t task, _ bool) {
	ok = ok && json.Unmarshal(r.Body, &t) == nil && t.ID != ""
	return t, ok
}

// note remembers a record in this process.
func (b *taskBook) note(key string, r ports.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) < maxTasks {
		b.known[key] = r
	}
}

// keep remembers the task of a call.
func (b *taskBook) keep(ctx context.Context, key string, t task) {
	value, err := json.Marshal(t)
	if err != nil || key == "" {
		return
	}
	r := ports.Record{Scope: b.scope, Kind: kindTask, Key: key, Body: value, Expires: time.Now().Add(taskTTL)}
	if b.records != nil {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
		stored, err := b.records.Put(bounded, r)
		cancel()
		if err != nil {
			b.log.Warn("mcp_task_not_kept", "kind", ports.KindOf(err), "err", err)
		} else {
			r = stored
		}
	}
	b.note(key, r)
}

// drop forgets it.
func (b *taskBook) drop(ctx context.Context, key string) {
	b.mu.Lock()
	r, ok := b.known[key]
	delete(b.known, key)
	b.mu.Unlock()
	if !ok || b.records == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	if err := b.records.Delete(ctx, r); err != nil {
		b.log.Debug("mcp_task_not_forgotten", "kind", ports.KindOf(err), "err", err)
	}
}
