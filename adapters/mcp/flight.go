package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"dragoman/ports"
)

const (
	// maxExtension is how often over progress can prolong a call: one that reports
	// for ever does not run for ever (MCP basic/patterns/progress, "Timeouts").
	maxExtension = 10
	// progressPause is the least time between two reports that are passed on.
	progressPause = 500 * time.Millisecond
)

// flight is a call under way.
type flight struct {
	ask    func(ctx context.Context, q ports.Question) (ports.Answer, error)
	report func(ports.Progress)
	clock  *callClock

	mu   sync.Mutex
	told time.Time // when its progress was last passed on
}

// fly notes a call under way, until land.
func (s *session) fly(id int64, f *flight) (land func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flights[id] = f
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.flights, id)
	}
}

// progressed takes notifications/progress; the token of a call is the id of its request.
func (s *session) progressed(n mcp.JSONRPCNotification) {
	fields := n.Params.AdditionalFields
	token, ok := fields["progressToken"].(float64)
	s.mu.Lock()
	f := s.flights[int64(token)]
	s.mu.Unlock()
	if !ok || f == nil {
		return
	}
	f.clock.wind()
	if !f.due() {
		return
	}
	done, _ := fields["progress"].(float64)
	total, _ := fields["total"].(float64)
	words, _ := fields["message"].(string)
	f.report(ports.Progress{Done: done, Total: total, Text: clip(s.redact.Replace(words), maxErrorText)})
}

// tell passes progress on, as often as somebody may want to read it.
func (f *flight) tell(p ports.Progress) {
	if f.due() {
		f.report(p)
	}
}

// due reports whether it is time for another report, and takes it for given.
func (f *flight) due() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.told) < progressPause {
		return false
	}
	f.told = time.Now()
	return true
}

// errCallTime is the cause of a context whose call had no answer in time.
var errCallTime = errors.New("no answer in time")

// callClock ends a call that shows no progress for so long.
type callClock struct {
	within time.Duration
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	timer    *time.Timer
	last     time.Time // when it ends, whatever the server reports
	released int       // how many want the call to take as long as it takes
}

// withClock is context.WithTimeoutCause whose time can be wound up anew.
func withClock(ctx context.Context, within time.Duration) (context.Context, *callClock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &callClock{within: within, cancel: cancel, last: time.Now().Add(maxExtension * within)}
	c.timer = time.AfterFunc(within, func() { cancel(errCallTime) })
	return ctx, c
}

// wind gives the call its whole time again, up to the last moment.
func (c *callClock) wind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer.Stop() {
		c.timer.Reset(min(c.within, time.Until(c.last)))
	}
}

// release lets a call take as long as its caller gives it, until as many again.
func (c *callClock) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released++
	c.timer.Stop()
}

// again takes back one release.
func (c *callClock) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released--; c.released > 0 {
		return
	}
	c.last = time.Now().Add(maxExtension * c.within)
	c.timer.Reset(c.within)
}

func (c *callClock) stop() {
	c.release()
	c.cancel(nil)
}
