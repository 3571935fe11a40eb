package outbox

import (
	"slices"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	paceMinute = time.Minute
	// paceChats bounds the chats that are remembered beyond their minute.
	paceChats = 1024
)

// pace is our own estimate of what a platform takes, by what was written in each
// chat. It holds up what may be left out, and nothing else: a quarter of a group's
// minute is kept for answers. The zero value is ready. Safe for many goroutines.
type pace struct {
	mu    sync.Mutex
	chats map[string][]time.Time // writes of the last minute, the oldest first
}

// wrote notes a write.
func (p *pace) wrote(in ports.Conversation, t ports.Traits) {
	if t.ShowEvery == 0 && t.GroupMinute == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.chats == nil {
		p.chats = map[string][]time.Time{}
	}
	if len(p.chats) >= paceChats {
		for chat, writes := range p.chats {
			if now.Sub(writes[len(writes)-1]) >= paceMinute {
				delete(p.chats, chat)
			}
		}
	}
	keep := slices.DeleteFunc(p.chats[in.Chat], func(at time.Time) bool { return now.Sub(at) >= paceMinute })
	p.chats[in.Chat] = append(keep, now)
}

// wait is how long nothing that may be left out is written in the chat.
func (p *pace) wait(in ports.Conversation, group bool, t ports.Traits) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	writes := p.chats[in.Chat]
	if len(writes) == 0 {
		return 0
	}
	next := writes[len(writes)-1].Add(t.ShowEvery)
	if most := t.GroupMinute * 3 / 4; group && most > 0 && len(writes) >= most {
		if free := writes[len(writes)-most].Add(paceMinute); free.After(next) {
			next = free
		}
	}
	return max(0, time.Until(next))
}
