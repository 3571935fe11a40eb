package toolsourcetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	parallelCalls = 64
	// soon is how long a call may take to return once its context ended.
	soon = 10 * time.Second
)

func callRules() []Rule {
	return []Rule{
		{"call_works", "The reason for all this.", callWorks},
		{"calls_get_their_own_results", "A result given to another call is shown to another person.", callsGetTheirOwnResults},
		{"tool_failure_is_a_result", "What the tool says of its failure is for the model; an error hides it.", toolFailureIsAResult},
		{"bad_arguments_are_contained", "A model writes nonsense at times. It fails its own call and no other.", badArgumentsAreContained},
		{"refusal_is_invalid", "Refused arguments must not count as a fault of the server.", refusalIsInvalid},
	}
}

func endingRules() []Rule {
	return []Rule{
		{"call_with_ended_context", "A stopped turn must not start an effect.", callWithEndedContext},
		{"cancelled_call_returns", "A person's /stop takes effect at once.", cancelledCallReturns},
		{"deadline_is_timeout", "Timeout and cancellation are told apart by kind.", deadlineIsTimeout},
		{"given_up_calls_leave_nothing", "A gateway runs for months, and people change their minds daily.", givenUpCallsLeaveNothing},
		{"giving_up_harms_nobody_else", "Calls of several conversations share a connection.", givingUpHarmsNobodyElse},
	}
}

func callWorks(ctx context.Context, h Harness) error {
	return h.with(ctx, func(r *running) error { return r.echo(ctx, h, 7) })
}

func callsGetTheirOwnResults(ctx context.Context, h Harness) error {
	return h.with(ctx, func(r *running) error {
		ctx, cancel := context.WithTimeout(ctx, h.patience())
		defer cancel()
		slow := make(chan error, 1)
		go func() { slow <- r.stillSlow(ctx, h) }()
		<-time.After(100 * time.Millisecond) // the slow call is on its way
		faults := make([]error, parallelCalls)
		var wg sync.WaitGroup
		for n := range parallelCalls {
			wg.Go(func() { faults[n] = r.echo(ctx, h, n) })
		}
		wg.Wait()
		cancel()
		return errors.Join(append(faults, <-slow)...)
	})
}

// stillSlow makes the slow call, which has nothing to give before ctx ends: what
// it gives belongs to a call that was made later and was done first.
func (r *running) stillSlow(ctx context.Context, h Harness) error {
	if h.Slow == nil {
		return nil
	}
	result, err := r.call(ctx, h.Slow.Tool, h.Slow.Args)
	if err == nil {
		return fmt.Errorf("a slow call gave what is another's: %v", result.Content)
	}
	return nil
}

func toolFailureIsAResult(ctx context.Context, h Harness) error {
	if h.Failing == nil {
		return ErrSkip
	}
	return h.with(ctx, func(r *running) error {
		result, err := r.call(ctx, h.Failing.Tool, h.Failing.Args)
		switch {
		case err != nil:
			return fmt.Errorf("it is an error: %w", err)
		case !result.IsError:
			return errors.New("the result does not say that it failed")
		case len(result.Content) == 0:
			return errors.New("the result does not say what went wrong")
		}
		return wellFormed(result)
	})
}

func badArgumentsAreContained(ctx context.Context, h Harness) error {
	return h.with(ctx, func(r *running) error {
		for _, args := range []string{`[1,2]`, `"text"`, `null`, `{"a":`, "{}\n{}", `{"no_such_argument":{"deep":[[[]]]}}`} {
			result, err := r.call(ctx, h.Echo.Tool, args)
			switch {
			case err == nil: // its own defaults may do; a failure it tells is fine too
				if bad := wellFormed(result); bad != nil {
					return fmt.Errorf("arguments %s: %w", args, bad)
				}
			case !ports.IsKind(err, ports.KindInvalid):
				return fmt.Errorf("arguments %s give kind %s (%w), want a result or %s", args, ports.KindOf(err), err, ports.KindInvalid)
			}
			if err := r.echo(ctx, h, 1); err != nil {
				return fmt.Errorf("after the arguments %s: %w", args, err)
			}
		}
		return nil
	})
}

func refusalIsInvalid(ctx context.Context, h Harness) error {
	if h.Refused == nil {
		return ErrSkip
	}
	return h.with(ctx, func(r *running) error {
		_, err := r.call(ctx, h.Refused.Tool, h.Refused.Args)
		return wantKind(err, ports.KindInvalid)
	})
}

func callWithEndedContext(ctx context.Context, h Harness) error {
	return h.with(ctx, func(r *running) error {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := r.call(ended, h.Echo.Tool, h.Echo.Args(1))
		return wantEnd(err, ports.KindCancelled, context.Canceled)
	})
}

func cancelledCallReturns(ctx context.Context, h Harness) error {
	if h.Slow == nil {
		return ErrSkip
	}
	return h.with(ctx, func(r *running) error {
		dying, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(300*time.Millisecond, cancel)
		defer timer.Stop()
		defer cancel()
		return timed(300*time.Millisecond+soon, func() error {
			_, err := r.call(dying, h.Slow.Tool, h.Slow.Args)
			return wantEnd(err, ports.KindCancelled, context.Canceled)
		})
	})
}

func deadlineIsTimeout(ctx context.Context, h Harness) error {
	if h.Slow == nil {
		return ErrSkip
	}
	return h.with(ctx, func(r *running) error {
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		return timed(300*time.Millisecond+soon, func() error {
			_, err := r.call(short, h.Slow.Tool, h.Slow.Args)
			return wantEnd(err, ports.KindTimeout, context.DeadlineExceeded)
		})
	})
}

func givenUpCallsLeaveNothing(ctx context.Context, h Harness) error {
	if h.Slow == nil {
		return ErrSkip
	}
	before := takeFootprint()
	err := h.with(ctx, func(r *running) error {
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { _, _ = r.call(short, h.Slow.Tool, h.Slow.Args) })
		}
		wg.Wait()
		return nil
	})
	if err != nil {
		return err
	}
	return before.same(settles)
}

func givingUpHarmsNobodyElse(ctx context.Context, h Harness) error {
	if h.Slow == nil {
		return ErrSkip
	}
	return h.with(ctx, func(r *running) error {
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { _, _ = r.call(short, h.Slow.Tool, h.Slow.Args) })
		}
		defer wg.Wait()
		for n := range 8 {
			if err := r.echo(ctx, h, n); err != nil {
				return fmt.Errorf("beside slow calls: %w", err)
			}
		}
		wg.Wait()
		if err := r.echo(ctx, h, 1); err != nil {
			return fmt.Errorf("after slow calls were given up: %w", err)
		}
		return nil
	})
}

func timed(limit time.Duration, do func() error) error {
	begun := time.Now()
	err := do()
	if took := time.Since(begun); err == nil && took > limit {
		return fmt.Errorf("it took %s, want at most %s", took, limit)
	}
	return err
}

// wantKind checks that err is an error of the seam of this kind, with its cause.
func wantKind(err error, kind ports.Kind) error {
	if err == nil {
		return fmt.Errorf("no error, want kind %s", kind)
	}
	if got := ports.KindOf(err); got != kind {
		return fmt.Errorf("kind %s (%w), want %s", got, err, kind)
	}
	var e *ports.Error
	if errors.As(err, &e) && (e.Op == "" || e.Err == nil) {
		return fmt.Errorf("the error %#v does not say what was done, or has no cause", e)
	}
	return nil
}

// wantEnd checks the error of a call whose context ended.
func wantEnd(err error, kind ports.Kind, cause error) error {
	if bad := wantKind(err, kind); bad != nil {
		return bad
	}
	if !errors.Is(err, cause) {
		return fmt.Errorf("the error %w has lost its cause, %w", err, cause)
	}
	return nil
}
