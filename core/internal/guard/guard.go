// Package guard runs calls of the outside world so that one that ignores its
// context cannot hold up the core: the caller goes on after a grace, and the
// goroutine that is left behind holds nothing and writes nothing.
package guard

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"dragoman/ports"
)

// Grace is how long past its context's end a call is waited for before it is
// given up as stuck.
const Grace = 30 * time.Second

// Leaks counts calls that were given up while they still ran, by what they were
// doing. The zero value is ready; safe for many goroutines.
type Leaks struct {
	// Report, if set, hears of each call when it is given up; ctx is the call's.
	// It returns at once. Set it before the first call.
	Report func(ctx context.Context, op string)

	mu   sync.Mutex
	byOp map[string]Count
}

// Count is how many calls were given up.
type Count struct {
	Open  int64 // of them still run
	Total int64 // there ever were
}

// Counts are the calls that were given up, by the op they were started with.
func (l *Leaks) Counts() map[string]Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make(map[string]Count, len(l.byOp))
	maps.Copy(counts, l.byOp)
	return counts
}

func (l *Leaks) leave(ctx context.Context, op string) {
	l.add(op, Count{Open: 1, Total: 1})
	if l.Report != nil {
		l.Report(ctx, op)
	}
}

func (l *Leaks) add(op string, c Count) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byOp == nil {
		l.byOp = map[string]Count{}
	}
	sum := l.byOp[op]
	l.byOp[op] = Count{Open: sum.Open + c.Open, Total: sum.Total + c.Total}
}

type turnKey struct{}

// WithTurn says which turn the calls under a context belong to, for Leaks.Report.
func WithTurn(ctx context.Context, turn string) context.Context {
	return context.WithValue(ctx, turnKey{}, turn)
}

// TurnOf is the turn that a call belongs to, "" if it is of none.
func TurnOf(ctx context.Context) string {
	turn, _ := ctx.Value(turnKey{}).(string)
	return turn
}

// Landing is what a call came back with.
type Landing[T any] struct {
	Value T
	Err   error
}

// Do runs fn in a goroutine of its own and waits for what it comes back with: its
// result, a panic as an error of KindInternal with the stack as its cause, or,
// grace after ctx ended without a result, an error of KindTimeout or
// KindCancelled while fn goes on unseen. op is one of a few constant words: it
// names the call in errors and is what Leaks counts by.
func Do[T any](ctx context.Context, grace time.Duration, leaks *Leaks, op string, fn func(context.Context) (T, error)) (T, error) {
	return do(ctx, func() time.Duration { return grace }, leaks, op, fn)
}

func do[T any](ctx context.Context, grace func() time.Duration, leaks *Leaks, op string, fn func(context.Context) (T, error)) (T, error) {
	landing := make(chan Landing[T], 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				landing <- Landing[T]{Err: ports.Errorf(ports.KindInternal, op, "panic: %v\n%s", r, debug.Stack())}
			}
		}()
		v, err := fn(ctx)
		landing <- Landing[T]{v, err}
	}()
	select {
	case l := <-landing:
		return l.Value, l.Err
	case <-ctx.Done():
	}
	patience := grace()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case l := <-landing:
		return l.Value, l.Err
	case <-timer.C:
	}
	leaks.leave(ctx, op)
	go func() {
		<-landing
		leaks.add(op, Count{Open: -1})
	}()
	var none T
	return none, &ports.Error{Kind: ports.KindOf(ctx.Err()), Op: op,
		Err: fmt.Errorf("did not stop within %s of its deadline and was left behind: %w", patience, ctx.Err())}
}

// Start is Do in the background: the landing comes on the channel, exactly once.
func Start[T any](ctx context.Context, grace time.Duration, leaks *Leaks, op string, fn func(context.Context) (T, error)) <-chan Landing[T] {
	out := make(chan Landing[T], 1)
	go func() {
		v, err := Do(ctx, grace, leaks, op, fn)
		out <- Landing[T]{v, err}
	}()
	return out
}

// StoreTimeout is how long a call of the store may take.
const StoreTimeout = 30 * time.Second

// leaveGrace is how long a call of the store is waited for whose caller leaves: a
// drain does not hang on a store that is stuck.
const leaveGrace = 3 * time.Second

// Read is Do for a call of the store that ends with ctx.
func Read[T any](ctx context.Context, leaks *Leaks, op string, fn func(context.Context) (T, error)) (T, error) {
	inner, cancel := context.WithTimeout(ctx, StoreTimeout)
	defer cancel()
	return do(inner, func() time.Duration { return graceOf(ctx) }, leaks, op, fn)
}

// Write is Do for a write of the store that must come to be also where ctx has
// ended, unless its caller leaves. One that was left behind may still come to be:
// it is made again, and the store's rows know it.
func Write(ctx, leaves context.Context, leaks *Leaks, op string, fn func(context.Context) error) error {
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), StoreTimeout)
	defer cancel()
	stop := context.AfterFunc(leaves, func() { time.AfterFunc(leaveGrace, cancel) })
	defer stop()
	_, err := do(inner, func() time.Duration { return graceOf(leaves) }, leaks, op, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// graceOf is how long a call is waited for past its end, by whether its caller leaves.
func graceOf(leaves context.Context) time.Duration {
	if leaves.Err() != nil {
		return leaveGrace
	}
	return Grace
}
