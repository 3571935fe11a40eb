package telegram

import (
	"net/http"
	"strconv"
	"time"
)

// Flood makes every post, edit, draft and typing in a chat be refused with 429 until d
// is over, each with the time that is left; 0 means all chats.
func (s *Server) Flood(chatID int64, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := time.Now().Add(d)
	for id, c := range s.chats {
		if chatID == 0 || chatID == id {
			c.flood = until
		}
	}
}

// Refused is how many posts, edits, drafts and typing were refused in a chat's floods and
// storms: a bot that waits as it is told has one in each.
func (s *Server) Refused(chatID int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[chatID]; c != nil {
		return c.refused
	}
	return 0
}

// limit is the 429 that n posts or edits in a chat, by a method, get now, or nil. s.mu is held.
func (s *Server) limit(c *chat, method string, n int) *reply {
	if no := s.inFlood(c, method); no != nil {
		return no
	}
	now := time.Now()
	s.posts = since(s.posts, now.Add(-time.Second))
	c.recent = since(c.recent, now.Add(-time.Minute))
	group := s.opts.PerGroup > 0 && c.info.Type != "private"
	var wait time.Duration
	switch {
	case s.opts.PerChat > 0 && now.Sub(c.lastPost) < s.opts.PerChat:
		wait = s.opts.PerChat.Round(time.Second)
	case s.opts.Overall > 0 && len(s.posts)+n > s.opts.Overall:
		wait = time.Second
	case group && len(c.recent)+n > s.opts.PerGroup:
		wait = time.Minute
		if len(c.recent) > 0 {
			wait = c.recent[0].Add(time.Minute).Sub(now)
		}
	default:
		c.lastPost = now
		for range n {
			s.posts = append(s.posts, now)
			if group {
				c.recent = append(c.recent, now)
			}
		}
		return nil
	}
	return s.tooMany(c, method, wait)
}

// inFlood is the 429 of a flood or a storm, or nil. s.mu is held.
func (s *Server) inFlood(c *chat, method string) *reply {
	now := time.Now()
	c.struck(now)
	left := c.flood.Sub(now)
	if left <= 0 {
		return nil
	}
	c.refused++
	return s.tooMany(c, method, left)
}

// tooMany is a 429. s.mu is held.
func (s *Server) tooMany(c *chat, method string, wait time.Duration) *reply {
	s.refused(c)
	seconds := max(1, int((wait+time.Second-1)/time.Second))
	now := time.Now()
	until := now.Add(time.Duration(seconds) * time.Second)
	s.refusals = append(s.refusals, Refusal{c.info.ID, method, now, until, now.Before(c.told)})
	c.told = until
	return &reply{
		Code: http.StatusTooManyRequests, Description: "Too Many Requests: retry after " + strconv.Itoa(seconds),
		Parameters: &parameters{RetryAfter: seconds},
	}
}

// since keeps the times that are not before from.
func since(times []time.Time, from time.Time) []time.Time {
	for len(times) > 0 && !times[0].After(from) {
		times = times[1:]
	}
	return times
}
