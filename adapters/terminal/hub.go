package terminal

import (
	"context"
	"strconv"
	"sync"
)

// hub tells who looks at a conversation in this process that it changed, and
// keeps what is shown and not stored: the newest draft, and typing.
type hub struct {
	mu     sync.Mutex
	chats  map[string]*chat
	held   int
	left   chan struct{} // closed when nobody holds a conversation any more; nil: nobody waits for that
	closed bool
}

type chat struct {
	held    bool
	changed chan struct{} // closed at the next change
	draft   *string
	typing  bool
}

func newHub() *hub { return &hub{chats: make(map[string]*chat)} }

// hold takes the first conversation that no terminal holds; ok is false once the hub is closed.
func (h *hub) hold() (name string, leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return "", nil, false
	}
	h.held++
	for n := 1; ; n++ {
		name = strconv.Itoa(n)
		c := h.chat(name)
		if c.held {
			continue
		}
		c.held, c.draft, c.typing = true, nil, false
		return name, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			c.held = false
			if h.held--; h.held == 0 && h.left != nil {
				close(h.left)
				h.left = nil
			}
		}, true
	}
}

// close waits until nobody holds a conversation, or ctx ends, and lets nobody in
// any more.
func (h *hub) close(ctx context.Context) {
	for {
		h.mu.Lock()
		if h.closed = h.held == 0 || ctx.Err() != nil; h.closed {
			h.mu.Unlock()
			return
		}
		if h.left == nil {
			h.left = make(chan struct{})
		}
		left := h.left
		h.mu.Unlock()
		select {
		case <-left:
		case <-ctx.Done():
		}
	}
}

// next is closed at the conversation's next change.
func (h *hub) next(name string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.chat(name).changed
}

// take gives what the holder has not seen of drafts and typing.
func (h *hub) take(name string) (draft *string, typing bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chat(name)
	draft, typing = c.draft, c.typing
	c.draft, c.typing = nil, false
	return draft, typing
}

// change changes what a conversation shows; one that nobody looks at has no live part.
func (h *hub) change(name string, change func(*chat)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chats[name]
	if c == nil {
		return
	}
	change(c)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (h *hub) chat(name string) *chat {
	c := h.chats[name]
	if c == nil {
		c = &chat{changed: make(chan struct{})}
		h.chats[name] = c
	}
	return c
}
