package toolsourcetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/ports"
)

func lossRules() []Rule {
	return []Rule{
		{"loss_fails_calls_in_flight", "A call whose server died must not wait for its deadline, and may have had its effect: who tries it again must know.", lossFailsCallsInFlight},
		{"call_without_peer_is_unavailable", "A call that was never sent had no effect, and says so: it may be tried again.", callWithoutPeerIsUnavailable},
		{"loss_keeps_tools", "Tools that come and go with a server's health spoil prompts; their calls fail instead.", lossKeepsTools},
		{"loss_is_told_and_mended", "A crash of a server heals without an admin, and shows.", lossIsToldAndMended},
		{"old_tools_work_again", "A turn holds on to a ToolPort across a reconnection.", oldToolsWorkAgain},
		{"stopped_source_is_unavailable", "A call that outlives Run must fail, and soon.", stoppedSourceIsUnavailable},
		{"reconnect_works", "An admin's reconnect is a new connection, ready when it returns.", reconnectWorks},
		{"reconnect_without_run", "A source that is not running cannot reconnect, and says so at once.", reconnectWithoutRun},
	}
}

func lossFailsCallsInFlight(ctx context.Context, h Harness) error {
	if h.Kill == nil || h.Slow == nil {
		return ErrSkip
	}
	err := lossOfSlow(ctx, h, 200*time.Millisecond)
	if ports.IsKind(err, ports.KindUnavailable) { // the call may have been held up, and was not sent
		err = lossOfSlow(ctx, h, 3*time.Second)
	}
	return err
}

// lossOfSlow kills the peer when the slow call has had this long to get on its way.
func lossOfSlow(ctx context.Context, h Harness, within time.Duration) error {
	return h.with(ctx, func(r *running) error {
		gave := make(chan error, 1)
		go func() {
			_, err := r.call(ctx, h.Slow.Tool, h.Slow.Args)
			gave <- err
		}()
		<-time.After(within)
		if err := r.echo(ctx, h, 1); err != nil {
			return errors.Join(err, h.Kill(r.src), <-gave)
		}
		if err := h.Kill(r.src); err != nil {
			return fmt.Errorf("Kill: %w", err)
		}
		select {
		case err := <-gave:
			return wantKind(err, ports.KindUnsure)
		case <-time.After(soon):
			err := <-gave
			return fmt.Errorf("it failed only after more than %s: %w", soon, err)
		}
	})
}

func callWithoutPeerIsUnavailable(ctx context.Context, h Harness) error {
	if h.Kill == nil {
		return ErrSkip
	}
	return h.with(ctx, func(r *running) error {
		if _, _, err := lose(ctx, h, r); err != nil {
			return err
		}
		_, err := r.call(ctx, h.Echo.Tool, h.Echo.Args(1))
		if err == nil {
			return nil // the source was quicker: the call had a peer again
		}
		return wantKind(err, ports.KindUnavailable)
	})
}

// lose kills the peer and waits until the source says so.
func lose(ctx context.Context, h Harness, r *running) (from int, s ports.State, err error) {
	from = len(r.rec.all())
	if err := h.Kill(r.src); err != nil {
		return from, s, fmt.Errorf("Kill: %w", err)
	}
	s, err = r.rec.await(ctx, ports.PhaseDegraded, from, h.patience())
	return from, s, err
}

func lossKeepsTools(ctx context.Context, h Harness) error {
	if h.Kill == nil {
		return ErrSkip
	}
	return h.with(ctx, func(r *running) error {
		had := len(r.tools())
		from, _, err := lose(ctx, h, r)
		if err != nil {
			return err
		}
		if _, err := r.rec.await(ctx, ports.PhaseReady, from, h.patience()); err != nil {
			return err
		}
		for _, e := range r.rec.all()[from:] {
			if e.catalog != nil && len(e.catalog.Tools) < had {
				return fmt.Errorf("%d tools were registered after the loss, %d before", len(e.catalog.Tools), had)
			}
		}
		return nil
	})
}

func lossIsToldAndMended(ctx context.Context, h Harness) error {
	if h.Kill == nil {
		return ErrSkip
	}
	return h.with(ctx, func(r *running) error {
		from, lost, err := lose(ctx, h, r)
		if err != nil {
			return err
		}
		if lost.Err == "" || lost.RetryIn <= 0 {
			return fmt.Errorf("the state after the loss says neither why (%q) or not when the next try is (%s)", lost.Err, lost.RetryIn)
		}
		again, err := r.rec.await(ctx, ports.PhaseReady, from, h.patience())
		if err != nil {
			return err
		}
		if again.Restarts < 1 || again.RetryIn != 0 {
			return fmt.Errorf("ready again with %d restarts and a next try in %s", again.Restarts, again.RetryIn)
		}
		return r.echo(ctx, h, 2)
	})
}

func oldToolsWorkAgain(ctx context.Context, h Harness) error {
	if h.Kill == nil {
		return ErrSkip
	}
	return h.with(ctx, func(r *running) error {
		old, err := r.tool(h.Echo.Tool)
		if err != nil {
			return err
		}
		from, _, err := lose(ctx, h, r)
		if err != nil {
			return err
		}
		if _, err := r.rec.await(ctx, ports.PhaseReady, from, h.patience()); err != nil {
			return err
		}
		result, err := old.Call(ctx, toolCall(h.Echo.Tool, h.Echo.Args(3)), host{})
		if err != nil {
			return fmt.Errorf("a tool that was registered before the loss: %w", err)
		}
		return h.Echo.Want(3, result)
	})
}

func stoppedSourceIsUnavailable(ctx context.Context, h Harness) error {
	if h.Kill == nil { // what has no peer has nothing to lose
		return ErrSkip
	}
	r, err := h.ready(ctx)
	if err != nil {
		return err
	}
	if err := r.end(); err != nil {
		return err
	}
	return timed(soon, func() error {
		_, err := r.call(ctx, h.Echo.Tool, h.Echo.Args(1))
		return wantKind(err, ports.KindUnavailable)
	})
}

func reconnectWorks(ctx context.Context, h Harness) error {
	return h.with(ctx, func(r *running) error {
		again, ok := r.src.(ports.Reconnector)
		if !ok {
			return ErrSkip
		}
		ctx, cancel := context.WithTimeout(ctx, h.patience()+runEnds)
		defer cancel()
		for n := range 2 {
			if err := again.Reconnect(ctx); err != nil {
				return fmt.Errorf("Reconnect: %w", err)
			}
			if err := r.echo(ctx, h, n); err != nil {
				return fmt.Errorf("right after Reconnect: %w", err)
			}
		}
		return nil
	})
}

func reconnectWithoutRun(ctx context.Context, h Harness) error {
	src, err := h.New()
	if err != nil {
		return fmt.Errorf("New: %w", err)
	}
	again, ok := src.(ports.Reconnector)
	if !ok {
		return ErrSkip
	}
	return timed(soon, func() error { return wantKind(again.Reconnect(ctx), ports.KindUnavailable) })
}
