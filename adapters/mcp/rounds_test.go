//go:build linux

package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dragoman/ports"
)

// TestAThousandRoundsLeaveNothing: servers that are connected, called and ended in
// every way leave no process, goroutine, descriptor or memory behind.
func TestAThousandRoundsLeaveNothing(t *testing.T) {
	rounds := 1000
	if testing.Short() || raced() {
		rounds = 100
	}
	x := &rounder{t: t, mark: NewMark(t.TempDir())}
	x.run(2 * len(endings()) * crew) // whatever is made once is made
	settled := x.hold()
	begun := time.Now()
	x.run(rounds)
	t.Logf("%d rounds in %s", rounds, time.Since(begun))
	eventually(t, "there are as many descriptors and goroutines as before", func() bool {
		now := x.hold()
		return now.descriptors <= settled.descriptors && now.goroutines <= settled.goroutines
	})
	if now := x.hold(); now.heap > settled.heap+(4<<20) {
		t.Errorf("the heap grew from %d to %d bytes", settled.heap, now.heap)
	}
	for pid := range processes() {
		if m := markOf(pid); len(m) > len(x.mark.kin) && m[:len(x.mark.kin)] == x.mark.kin {
			t.Errorf("process %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// crew is how many rounds are under way at a time.
const crew = 4

type rounder struct {
	t    *testing.T
	mark *Mark
}

// endings are the ways that a round ends in, each given a connection that works.
func endings() []func(context.Context, *stdio) error {
	return []func(context.Context, *stdio) error{
		func(context.Context, *stdio) error { return nil }, // a polite stop
		func(ctx context.Context, l *stdio) error { // a crash
			return syscall.Kill(l.proc.cmd.Process.Pid, syscall.SIGKILL)
		},
		func(ctx context.Context, l *stdio) error { // it leaves by itself
			return wantedKind(asked(ctx, l, 2, "leave"), ports.KindUnsure)
		},
		func(ctx context.Context, l *stdio) error { // a stop amid a call
			short, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			_, err := called(short, l, 2, "slow", "")
			return wantedKind(err, ports.KindTimeout)
		},
		func(ctx context.Context, l *stdio) error { // what it forked ignores SIGTERM
			return asked(ctx, l, 2, "fork beside")
		},
		func(ctx context.Context, l *stdio) error { // and is in a session of its own
			if err := asked(ctx, l, 2, "fork away"); err != nil {
				return err
			}
			return syscall.Kill(l.proc.cmd.Process.Pid, syscall.SIGKILL)
		},
	}
}

func wantedKind(err error, kind ports.Kind) error {
	if !ports.IsKind(err, kind) {
		return fmt.Errorf("%v, want kind %s", err, kind)
	}
	return nil
}

func (x *rounder) run(rounds int) {
	var done atomic.Int64
	var wg sync.WaitGroup
	for range crew {
		wg.Go(func() {
			for n := int(done.Add(1)); n <= rounds && !x.t.Failed(); n = int(done.Add(1)) {
				if err := x.round(n); err != nil {
					x.t.Errorf("round %d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}

func (x *rounder) round(n int) (err error) {
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	src, err := New(peerConfig("good"), Deps{Mark: x.mark})
	if err != nil {
		return err
	}
	l := src.dial(src.cfg, slog.New(slog.DiscardHandler)).(*stdio)
	defer func() {
		if closed := l.Close(); err == nil {
			err = closed
		}
	}()
	if _, err := src.open(ctx, l); err != nil {
		return err
	}
	if err := asked(ctx, l, 1, "pid"); err != nil {
		return err
	}
	return endings()[n%len(endings())](ctx, l)
}

// raced reports whether the race detector is on.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// holding is what a process holds.
type holding struct {
	descriptors, goroutines int
	heap                    uint64
}

func (x *rounder) hold() holding {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		x.t.Fatal(err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return holding{descriptors: len(fds), goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
}
