package outbox

import (
	"errors"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	// gateMax is how long the account is held at a time: the platform may mean one
	// chat all the same, and the next write finds out.
	gateMax = time.Minute
	// gateChats bounds the waits of chats that are remembered beyond their end.
	gateChats = 1024
)

// gate is shut while the platform wants no write, of a chat or of the whole
// account: one refusal is enough for all writers, and asking on while it lasts
// makes it longer. The zero value is open. Safe for many goroutines.
type gate struct {
	whole bool // a wait is for a chat with all its threads
	mu    sync.Mutex
	until time.Time
	chats map[ports.Conversation]time.Time
}

// heed shuts the gate if err asks for it, and reports whether it does for the
// whole account.
func (g *gate) heed(in ports.Conversation, err error) (wide bool) {
	var e *ports.Error
	if !errors.As(err, &e) || e.Kind != ports.KindRateLimited || e.RetryAfter <= 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if e.Wide {
		if until := now.Add(min(e.RetryAfter, gateMax)); until.After(g.until) {
			g.until = until
		}
		return true
	}
	if len(g.chats) >= gateChats {
		for chat, until := range g.chats {
			if until.Before(now) {
				delete(g.chats, chat)
			}
		}
	}
	if g.chats == nil {
		g.chats = map[ports.Conversation]time.Time{}
	}
	g.chats[g.of(in)] = now.Add(e.RetryAfter)
	return false
}

// of is what is held with a conversation.
func (g *gate) of(in ports.Conversation) ports.Conversation {
	if g.whole {
		in.Thread = ""
	}
	return in
}

// account is how long no write of the account may be made.
func (g *gate) account() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.until)
}

// chat is how long no write in this chat may be made, whatever the account may.
func (g *gate) chat(in ports.Conversation) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	in = g.of(in)
	until, ok := g.chats[in]
	if !ok {
		return 0
	}
	wait := time.Until(until)
	if wait <= 0 {
		delete(g.chats, in)
	}
	return wait
}

// wait is how long nothing may be shown in this chat.
func (g *gate) wait(in ports.Conversation) time.Duration { return max(g.chat(in), g.account()) }
