package telegram

import (
	"errors"
	"sync"
	"time"

	"dragoman/ports"
)

// pace remembers when each chat was last written to: Telegram does not say
// whether a 429 is for the chat (about one message a second, 20 a minute in a
// group) or for the bot (about 30 a second:
// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this).
// The zero value is ready. Safe for many goroutines.
type pace struct {
	mu   sync.Mutex
	last map[int64]time.Time // or when the chat was free again, by Telegram's word
}

const (
	privateWindow = 3 * time.Second // bursts are let through, so the second is not to be taken strictly
	groupWindow   = time.Minute
	paceMax       = 4096 // chats, until old ones are forgotten
)

// wrote notes a write that went through, or one that goes through in a while.
func (p *pace) wrote(chat int64, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if len(p.last) >= paceMax {
		for c, at := range p.last {
			if now.Sub(at) > groupWindow {
				delete(p.last, c)
			}
		}
	}
	if p.last == nil {
		p.last = map[int64]time.Time{}
	}
	p.last[chat] = now.Add(wait)
}

// busy reports whether the chat was written to so lately that a limit is likely
// to be its own.
func (p *pace) busy(chat int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	window := privateWindow
	if chat < 0 {
		window = groupWindow
	}
	return time.Since(p.last[chat]) < window
}

// wrapWrite is wrap for a write in a chat.
func (c *Channel) wrapWrite(op string, chat int64, err error) error {
	if err == nil {
		c.pace.wrote(chat, 0)
		return nil
	}
	err = wrap(op, err)
	var e *ports.Error
	if !errors.As(err, &e) || e.Kind != ports.KindRateLimited {
		return err
	}
	if e.Wide = !c.pace.busy(chat); !e.Wide {
		c.pace.wrote(chat, e.RetryAfter) // what is refused once that is over is the chat's own limit too
	}
	return err
}
