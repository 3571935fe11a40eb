// Package guard runs calls of the outside world so that one that ignores its
// context cannot hold up the core: the caller goes on after a grace, and the
// goroutine that is left behind holds nothing and writes nothing.
package guard

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"dragoman/ports"
)

// Grace is how long past its context's end a call is waited for before it is
// given up as stuck.
const Grace = 30 * time.Second

// Leaks counts calls that were given up while they still ran. The zero value is
// ready; safe for many goroutines.
type Leaks struct{ open, total atomic.Int64 }

// Open is how many of them still run.
func (l *Leaks) Open() int64 { return l.open.Load() }

// Total is how many there ever were.
func (l *Leaks) Total() int64 { return l.total.Load() }

// Landing is what a call came back with.
type Landing[T any] struct {
	Value T
	Err   error
}

// Start runs fn in a goroutine of its own and returns the channel on which its
// landing comes, exactly once: its result, a panic as an error of KindInternal
// with the stack as its cause, or, grace after ctx ended without a result, an
// error of KindTimeout or KindCancelled while fn goes on unseen.
func Start[T any](ctx context.Context, grace time.Duration, leaks *Leaks, op string, fn func(context.Context) (T, error)) <-chan Landing[T] {
	out := make(chan Landing[T], 1)
	inner := make(chan Landing[T], 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				inner <- Landing[T]{Err: ports.Errorf(ports.KindInternal, op, "panic: %v\n%s", r, debug.Stack())}
			}
		}()
		v, err := fn(ctx)
		inner <- Landing[T]{v, err}
	}()
	go func() {
		select {
		case l := <-inner:
			out <- l
			return
		case <-ctx.Done():
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case l := <-inner:
			out <- l
		case <-timer.C:
			leaks.open.Add(1)
			leaks.total.Add(1)
			out <- Landing[T]{Err: &ports.Error{Kind: ports.KindOf(ctx.Err()), Op: op,
				Err: fmt.Errorf("did not stop within %s of its deadline and was left behind: %w", grace, ctx.Err())}}
			<-inner
			leaks.open.Add(-1)
		}
	}()
	return out
}

// Do is Start, waited for.
func Do[T any](ctx context.Context, grace time.Duration, leaks *Leaks, op string, fn func(context.Context) (T, error)) (T, error) {
	l := <-Start(ctx, grace, leaks, op, fn)
	return l.Value, l.Err
}
