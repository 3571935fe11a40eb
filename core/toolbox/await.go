package toolbox

import (
	"context"
	"slices"
	"time"

	"dragoman/ports"
)

// startPatience is how long after a source was added a turn waits for its tools: most
// servers are there by then, and one that is not delays no later turn.
const startPatience = 5 * time.Second

// Settled waits until none of these sources (none named: no source) is connecting
// for the first time any more, or ctx ends.
func (b *Toolbox) Settled(ctx context.Context, names ...string) {
	for {
		b.mu.RLock()
		changed, busy := b.changed, false
		for _, s := range b.sources {
			busy = busy || s.state.Phase == ports.PhaseConnecting && (len(names) == 0 || slices.Contains(names, s.Name))
		}
		b.mu.RUnlock()
		if !busy {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Reached waits until each source is ready or idle, will not try again by itself, or had
// its Timeout for it since the call began; or ctx ends.
func (b *Toolbox) Reached(ctx context.Context) {
	began := time.Now()
	b.await(ctx, func(s *source) time.Duration {
		switch s.state.Phase {
		case ports.PhaseReady, ports.PhaseIdle, ports.PhaseParked, ports.PhaseStopped, ports.PhaseDisabled:
			return 0
		}
		return s.Timeout - time.Since(began)
	})
}

// Starting returns nil, or while servers of the view were added a moment ago and are
// still connecting, what is closed as soon as none is, or each had its moment, or ctx
// ends: a turn that begins with the gateway shall have its tools, and one dead server
// shall not hold up every turn.
func (v *View) Starting(ctx context.Context) <-chan struct{} {
	left := func(s *source) time.Duration {
		if !v.connecting(s) {
			return 0
		}
		return min(startPatience, s.Timeout) - time.Since(s.added)
	}
	if _, d := v.box.longest(left); d <= 0 {
		return nil
	}
	there := make(chan struct{})
	go func() {
		defer close(there)
		v.box.await(ctx, left)
	}()
	return there
}

// connecting reports whether the view uses a source that is on its way for the first
// time. Callers hold the box's mu.
func (v *View) connecting(s *source) bool {
	return v.uses(s.Name) && s.state.Phase == ports.PhaseConnecting
}

// await waits until there is no source that may still be waited for, or ctx ends. left
// says for how long that may be, with mu held.
func (b *Toolbox) await(ctx context.Context, left func(*source) time.Duration) {
	for {
		changed, d := b.longest(left)
		if d <= 0 {
			return
		}
		over := time.NewTimer(d)
		select {
		case <-changed:
		case <-over.C:
		case <-ctx.Done():
		}
		over.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// longest is the longest that is left for any source, until something changes.
func (b *Toolbox) longest(left func(*source) time.Duration) (changed <-chan struct{}, d time.Duration) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, s := range b.sources {
		d = max(d, left(s))
	}
	return b.changed, d
}
