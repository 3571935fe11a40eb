package discord

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// holds remembers which routes have no calls left, so that none is made that Discord
// will refuse: ten thousand refusals in ten minutes shut out the whole address
// (https://discord.com/developers/docs/topics/rate-limits). Such a call fails at
// once with the time that is left, as if Discord had said so; to wait for a limit
// that was run into is the caller's. The zero value is ready. Safe for many
// goroutines.
type holds struct {
	mu    sync.Mutex
	until map[string]time.Time // by route
}

// maxHolds is how many routes are remembered until those that are over are forgotten.
const maxHolds = 1024

// check is a refusal if the call would run into a limit.
func (h *holds) check(r request) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if wait := time.Until(h.until[r.route()]); wait > 0 {
		return &apiError{Status: http.StatusTooManyRequests, Message: "no calls are left for now", RetryAfter: wait}
	}
	return nil
}

// note reads what an answer says of the calls that are left.
func (h *holds) note(r request, res *http.Response) {
	if res.Header.Get("X-RateLimit-Remaining") != "0" {
		return
	}
	after, err := strconv.ParseFloat(res.Header.Get("X-RateLimit-Reset-After"), 64)
	if err != nil || after <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.until == nil {
		h.until = map[string]time.Time{}
	}
	if len(h.until) >= maxHolds {
		for r, at := range h.until {
			if at.Before(now) {
				delete(h.until, r)
			}
		}
	}
	h.until[r.route()] = now.Add(seconds(after))
}

// route is what a limit is counted by: the method and the path, with the ids of
// channel, guild and webhook, and without those of messages.
func (r request) route() string {
	path, _, _ := strings.Cut(r.path, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i := 2; i < len(parts); i++ {
		if _, err := strconv.ParseUint(parts[i], 10, 64); err == nil {
			parts[i] = ":id"
		}
		if parts[i] == "reactions" { // the emoji is not part of it
			parts = parts[:i+1]
		}
	}
	return r.method + " " + strings.Join(parts, "/")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
