package discord

import (
	"context"
	"encoding/json"
	"sync"
)

// maxQueue bounds what waits to be stored. Beyond it the connection is given up
// until there is room: what comes meanwhile Discord keeps.
const maxQueue = 8192

// event is something that Discord told, not read any further.
type event struct {
	kind string
	data json.RawMessage
}

// queue is what was received and is not stored yet. Safe for many goroutines.
type queue struct {
	mu     sync.Mutex
	events []event
	wake   chan struct{} // holds one if something was put
	room   chan struct{} // holds one if something was taken
}

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put is false if the queue is full.
func (q *queue) put(e event) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) >= maxQueue {
		return false
	}
	q.events = append(q.events, e)
	signal(q.wake)
	return true
}

// take waits for events and takes all; nil when ctx ends.
func (q *queue) take(ctx context.Context) []event {
	for {
		q.mu.Lock()
		events := q.events
		q.events = nil
		q.mu.Unlock()
		if len(events) > 0 {
			signal(q.room)
			return events
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// drained waits until the queue has room.
func (q *queue) drained(ctx context.Context) {
	for {
		q.mu.Lock()
		n := len(q.events)
		q.mu.Unlock()
		if n < maxQueue/2 {
			return
		}
		select {
		case <-q.room:
		case <-ctx.Done():
			return
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
