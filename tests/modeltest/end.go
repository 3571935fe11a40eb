package modeltest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"dragoman/ports"
)

// soon is how fast a call must end once its context did.
const soon = 10 * time.Second

func endRules() []Rule {
	return []Rule{
		{"a caller that left is cancelled", "a person who says stop does not wait for a provider", cancelledBefore},
		{"cancelling ends the wait for an answer", "stop works while the provider thinks", cancelWhile(Hang)},
		{"cancelling ends a stalled stream", "stop works while the provider talks", cancelWhile(HangMid)},
		{"a deadline is a timeout", "a turn is bounded in time", deadlineIsTimeout},
		{"nothing stays behind", "a gateway runs for months", nothingStays},
	}
}

func cancelledBefore(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	reply, err := h.Model.Generate(ctx, prompt(), nil)
	return endedAs(reply, err, ports.KindCancelled)
}

func cancelWhile(do Do) func(context.Context, Harness) error {
	return func(ctx context.Context, h Harness) error {
		if err := h.script(ctx, Act{Do: do, Text: "Half an ans"}); err != nil {
			return err
		}
		_, err := cancelled(ctx, h, do)
		return err
	}
}

// cancelled runs a request against a peer that hangs and leaves it.
func cancelled(ctx context.Context, h Harness, do Do) (took time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var left time.Time
	leave := func() { left = time.Now(); cancel() }
	var onText func(string)
	if do == HangMid {
		onText = func(string) {
			if left.IsZero() {
				leave()
			}
		}
	} else {
		timer := time.AfterFunc(50*time.Millisecond, cancel)
		defer timer.Stop()
		left = time.Now().Add(50 * time.Millisecond)
	}
	reply, err := h.Model.Generate(ctx, prompt(), onText)
	if err := endedAs(reply, err, ports.KindCancelled); err != nil {
		return 0, err
	}
	if took = time.Since(left); took > soon {
		return took, fmt.Errorf("it took %s to end", took)
	}
	return took, nil
}

func deadlineIsTimeout(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: Hang}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	reply, err := h.Model.Generate(ctx, prompt(), nil)
	if took := time.Since(start); took > soon {
		return fmt.Errorf("it took %s to notice a deadline of 100ms", took)
	}
	return endedAs(reply, err, ports.KindTimeout)
}

// nothingStays counts goroutines around requests that were cut off. Connections
// may be kept for the next request, so they are made first.
func nothingStays(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: HangMid, Text: "Half an ans"}); err != nil {
		return err
	}
	if _, err := cancelled(ctx, h, HangMid); err != nil {
		return err
	}
	before := runtime.NumGoroutine()
	for range 8 {
		if _, err := cancelled(ctx, h, HangMid); err != nil {
			return err
		}
	}
	for until := time.Now().Add(soon); runtime.NumGoroutine() > before+2; {
		if time.Now().After(until) {
			buf := make([]byte, 64<<10)
			return fmt.Errorf("%d goroutines before 8 cancelled requests, %d after:\n%s",
				before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
		<-time.After(10 * time.Millisecond)
	}
	return nil
}

// causes are what a context gives when it ends.
var causes = map[ports.Kind]error{ports.KindCancelled: context.Canceled, ports.KindTimeout: context.DeadlineExceeded}

func endedAs(reply ports.ModelReply, err error, kind ports.Kind) error {
	switch {
	case err == nil:
		return fmt.Errorf("no error, but the reply %s", show(reply))
	case ports.KindOf(err) != kind:
		return fmt.Errorf("the kind is %s, not %s: %w", ports.KindOf(err), kind, unmarked(err))
	case !isZero(reply):
		return errors.New("beside the error stands a reply: " + show(reply))
	case !errors.Is(err, causes[kind]):
		return fmt.Errorf("the error lost its cause, %q: %w", causes[kind], unmarked(err))
	}
	return nil
}
