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
		var told []string
		leaks := Leaks{Report: func(ctx context.Context, op string) { told = append(told, op+" of turn "+TurnOf(ctx)) }}
		release := make(chan struct{})
		began := time.Now()
		_, err := Do(WithTurn(ctx, "7"), Grace, &leaks, "stuck", func(context.Context) (int, error) { <-release; return 1, nil })
		if !ports.IsKind(err, ports.KindTimeout) {
			t.Errorf("error is %v, want a timeout", err)
		}
		if d := time.Since(began); d != time.Second+Grace {
			t.Errorf("given up after %s, want %s", d, time.Second+Grace)
		}
		if got := leaks.Counts()["stuck"]; got != (Count{Open: 1, Total: 1}) {
			t.Errorf("while it runs: %+v; want 1 and 1", got)
		}
		if len(told) != 1 || told[0] != "stuck of turn 7" {
			t.Errorf("reported %q", told)
		}
		close(release)
		synctest.Wait()
		if got := leaks.Counts()["stuck"]; got != (Count{Total: 1}) || len(leaks.Counts()) != 1 {
			t.Errorf("after it ended: %+v; want 0 and 1", leaks.Counts())
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
		if !ports.IsKind(err, ports.KindCancelled) || len(leaks.Counts()) != 0 {
			t.Errorf("error %v, leaks %v; want cancelled and none", err, leaks.Counts())
		}
	})
}
