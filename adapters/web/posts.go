package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	postsAtOnce = 60
	postEvery   = time.Second
	postsSweep  = time.Minute // a person who was silent for so long has all posts again
)

// posts limits how fast each person posts, so that nobody fills the store. Safe
// for many goroutines. It remembers only those who posted lately.
type posts struct {
	mu    sync.Mutex
	of    map[string]*rate.Limiter
	swept time.Time
}

func newPosts() *posts { return &posts{of: make(map[string]*rate.Limiter)} }

// allow takes one post of the person's.
func (p *posts) allow(user string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.sweep(now)
	l := p.of[user]
	if l == nil {
		l = rate.NewLimiter(rate.Every(postEvery), postsAtOnce)
		p.of[user] = l
	}
	return l.AllowN(now, 1)
}

// sweep forgets who would begin anew just so.
func (p *posts) sweep(now time.Time) {
	if now.Sub(p.swept) < postsSweep {
		return
	}
	p.swept = now
	for user, l := range p.of {
		if l.TokensAt(now) >= postsAtOnce {
			delete(p.of, user)
		}
	}
}
