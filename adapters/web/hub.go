package web

import (
	"context"
	"sync"
	"time"
)

const (
	maxStreams = 8               // per chat
	orderWait  = 2 * time.Second // longest wait of an answer for its question's line
)

// hub tells the streams of this process what is new in their chats. It holds
// the newest of everything only, so a slow stream costs nothing.
type hub struct {
	mu    sync.Mutex
	chats map[string]*chat
}

type chat struct {
	streams map[*listener]struct{}
	posting int
	posted  chan struct{} // closed when posting is 0 again
}

// listener is one stream's ear. wake has room for one.
type listener struct {
	wake   chan struct{}
	draft  *string
	typing bool
}

func newHub() *hub { return &hub{chats: make(map[string]*chat)} }

// listen adds a stream to a chat, unless it has too many. leave must be called.
func (h *hub) listen(name string) (l *listener, leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chat(name)
	if len(c.streams) >= maxStreams {
		return nil, nil, false
	}
	l = &listener{wake: make(chan struct{}, 1)}
	c.streams[l] = struct{}{}
	return l, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(c.streams, l)
		h.sweep(name, c)
	}, true
}

// take gives what l has not seen of drafts and typing.
func (h *hub) take(l *listener) (draft *string, typing bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	draft, typing = l.draft, l.typing
	l.draft, l.typing = nil, false
	return draft, typing
}

// appended tells a chat's streams to read the feed. What the bot says ends a draft.
func (h *hub) appended(name string, byBot bool) {
	h.tell(name, func(l *listener) {
		if byBot {
			l.draft, l.typing = nil, false
		}
	})
}

func (h *hub) typing(name string) {
	h.tell(name, func(l *listener) { l.typing = true })
}

// draft shows html in a chat; it asks for it only where somebody looks.
func (h *hub) draft(name string, html func() string) {
	h.mu.Lock()
	watched := h.chats[name] != nil && len(h.chats[name].streams) > 0
	h.mu.Unlock()
	if !watched {
		return
	}
	text := html()
	h.tell(name, func(l *listener) { l.draft = &text })
}

func (h *hub) tell(name string, change func(*listener)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chats[name]
	if c == nil {
		return
	}
	for l := range c.streams {
		change(l)
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// post marks a message as being stored, until done is called: what the bot says
// meanwhile waits, lest an answer stand above its question.
func (h *hub) post(name string) (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chat(name)
	if c.posting == 0 {
		c.posted = make(chan struct{})
	}
	c.posting++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if c.posting--; c.posting == 0 {
			close(c.posted)
			h.sweep(name, c)
		}
	}
}

// settle waits until no message of the chat is being stored, but not for long.
func (h *hub) settle(ctx context.Context, name string) {
	h.mu.Lock()
	c := h.chats[name]
	if c == nil || c.posting == 0 {
		h.mu.Unlock()
		return
	}
	posted := c.posted
	h.mu.Unlock()
	timer := time.NewTimer(orderWait)
	defer timer.Stop()
	select {
	case <-posted:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (h *hub) chat(name string) *chat {
	c := h.chats[name]
	if c == nil {
		c = &chat{streams: make(map[*listener]struct{})}
		h.chats[name] = c
	}
	return c
}

// sweep forgets a chat that nobody uses.
func (h *hub) sweep(name string, c *chat) {
	if len(c.streams) == 0 && c.posting == 0 && h.chats[name] == c {
		delete(h.chats, name)
	}
}
