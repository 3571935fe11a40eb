package outbox

import (
	"errors"
	"sync"
	"time"

	"dragoman/ports"
)

// gate is shut while the platform wants no write of the whole account: one
// refusal is enough for all, and asking on while it lasts makes it longer.
// The zero value is open. Safe for many goroutines.
type gate struct {
	mu    sync.Mutex
	until time.Time
}

// heed shuts the gate if err asks for it, and reports whether it does.
func (g *gate) heed(err error) bool {
	var e *ports.Error
	if !errors.As(err, &e) || !e.Wide || e.RetryAfter <= 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(e.RetryAfter); until.After(g.until) {
		g.until = until
	}
	return true
}

// wait is how long the gate stays shut.
func (g *gate) wait() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.until)
}
