package telegram

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Storm is a while in which Telegram wants silence again and again: of the posts,
// edits, drafts and typing that it would take, a share is refused with 429, at
// random, and then all in that chat until the retry_after is over.
type Storm struct {
	Chat        int64 // 0: every chat that is there
	For         time.Duration
	Percent     int // of the calls, that begin a silence
	Least, Most int // seconds of one
}

// Refusal is a post, edit, draft or typing that got a 429.
type Refusal struct {
	Chat      int64
	Method    string    // a file that is posted counts as sendMessage
	At, Until time.Time // Until is when its retry_after is over
	Early     bool      // it came before that of one before it was over: the bot did not wait
}

// Begin lets a storm loose.
func (s *Server) Begin(o Storm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.chats {
		if o.Chat == 0 || o.Chat == id {
			c.storm, c.stormEnd = o, time.Now().Add(o.For)
		}
	}
}

// Refusals are all in a chat so far, by whatever limit; of chat 0: in all chats.
func (s *Server) Refusals(chatID int64) []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.refusals), func(r Refusal) bool { return chatID != 0 && r.Chat != chatID })
}

// struck says whether a storm begins a silence now, and does. s.mu is held.
func (c *chat) struck(now time.Time) {
	if now.Before(c.stormEnd) && !now.Before(c.flood) && rand.IntN(100) < c.storm.Percent {
		seconds := c.storm.Least + rand.IntN(c.storm.Most-c.storm.Least+1)
		c.flood = now.Add(time.Duration(seconds) * time.Second)
	}
}
