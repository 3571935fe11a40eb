package mcp

import (
	"context"
	"errors"
	"time"
)

const (
	// pulseEvery is how often a server that holds no stream open is asked whether
	// it is there: else nobody would see that it is gone before the next call.
	pulseEvery = 30 * time.Second
	// pulsePause is the least time between two such questions.
	pulsePause = time.Second
)

// watch asks the server whether it is there, when there is doubt.
func (h *httpLink) watch(life context.Context) {
	every := time.NewTicker(pulseEvery)
	defer every.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-h.lost:
			return
		case <-h.doubts:
		case <-every.C:
			if h.listening.Load() > 0 {
				continue
			}
		}
		h.feel(life)
		if !sleep(life, pulsePause) {
			return
		}
	}
}

// feel ends the connection if the server is not there, has forgotten the session
// or wants another login. One that is too busy to answer in time is left alone:
// it may be working on a call.
func (h *httpLink) feel(life context.Context) {
	if h.pulse == nil {
		return
	}
	ctx, cancel := context.WithTimeout(life, h.cfg.Timeout)
	defer cancel()
	var (
		gone  *lostError
		login *unauthorizedError
	)
	switch err := h.pulse(ctx); {
	case errors.As(err, &gone) && gone.after == 0:
		h.fail(&lostError{reason: gone.reason, cause: gone.cause, session: gone.session})
	case errors.As(err, &login):
		h.fail(login)
	}
}

// forgotAll tells a server that forgot the session from a tool that misses a
// session of its own: the first refuses a ping too.
func (h *httpLink) forgotAll(ctx context.Context) bool {
	if h.pulse == nil {
		return false
	}
	var lost *lostError
	return errors.As(h.pulse(ctx), &lost) && lost.session
}

// sleep reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
