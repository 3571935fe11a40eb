package guard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

func TestAStuckCallIsLeftBehindAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var leaks Leaks
		release := make(chan struct{})
		began := time.Now()
		_, err := Do(ctx, Grace, &leaks, "stuck", func(context.Context) (int, error) { <-release; return 1, nil })
		if !ports.IsKind(err, ports.KindTimeout) {
			t.Errorf("error is %v, want a timeout", err)
		}
		if d := time.Since(began); d != time.Second+Grace {
			t.Errorf("given up after %s, want %s", d, time.Second+Grace)
		}
		if leaks.Open() != 1 || leaks.Total() != 1 {
			t.Errorf("open %d, total %d; want 1 and 1", leaks.Open(), leaks.Total())
		}
		close(release)
		synctest.Wait()
		if leaks.Open() != 0 || leaks.Total() != 1 {
			t.Errorf("after it ended: open %d, total %d; want 0 and 1", leaks.Open(), leaks.Total())
		}
	})
}

func TestAPanicIsAnError(t *testing.T) {
	_, err := Do(t.Context(), Grace, new(Leaks), "boom", func(context.Context) (int, error) { panic("boom") })
	if !ports.IsKind(err, ports.KindInternal) {
		t.Fatalf("error is %v, want an internal one", err)
	}
}

func TestACallThatHeedsItsContextIsNoLeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var leaks Leaks
		time.AfterFunc(time.Second, cancel)
		_, err := Do(ctx, Grace, &leaks, "polite", func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		if !ports.IsKind(err, ports.KindCancelled) || leaks.Total() != 0 {
			t.Errorf("error %v, leaks %d; want cancelled and none", err, leaks.Total())
		}
	})
}
