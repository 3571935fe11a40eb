package toolsourcetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/ports"
)

func lifeRules() []Rule {
	return []Rule{
		{"new_does_nothing", "New is called to check a config; it must not start what nobody ends.", newDoesNothing},
		{"ready_within_patience", "A source whose peer is there becomes ready.", readyWithinPatience},
		{"registers_before_ready", "Who sees ready looks the tools up at once.", registersBeforeReady},
		{"phases_in_order", "People and the CLI follow the phases; ready before connecting, or anything after stopped, misleads them.", phasesInOrder},
		{"run_ends_with_context", "The drain waits for Run; a Run that stays holds up the exit.", runEndsWithContext},
		{"run_leaves_nothing", "Whoever starts a goroutine or a child waits for it: orphans have eaten whole machines.", runLeavesNothing},
		{"run_quiet_after_return", "The registrar belongs to a source that may be gone when Run has returned.", runQuietAfterReturn},
		{"run_with_ended_context", "A drain during start must not start servers.", runWithEndedContext},
		{"run_twice", "A config reload or an admin starts a source anew.", runTwice},
	}
}

func newDoesNothing(_ context.Context, h Harness) error {
	before := takeFootprint()
	for range 3 {
		if _, err := h.New(); err != nil {
			return fmt.Errorf("New: %w", err)
		}
	}
	return before.same(settles)
}

func readyWithinPatience(ctx context.Context, h Harness) error {
	return h.with(ctx, func(*running) error { return nil })
}

func registersBeforeReady(ctx context.Context, h Harness) error {
	return h.with(ctx, func(r *running) error {
		for _, e := range r.rec.all() {
			if e.catalog != nil {
				return nil
			}
			if e.state.Phase == ports.PhaseReady {
				return errors.New("ready before any tool was registered")
			}
		}
		return errors.New("nothing was registered")
	})
}

func phasesInOrder(ctx context.Context, h Harness) error {
	r, err := h.ready(ctx)
	if err != nil {
		return err
	}
	if h.Kill != nil {
		if err := h.Kill(r.src); err != nil {
			return errors.Join(fmt.Errorf("Kill: %w", err), r.end())
		}
		_, err = r.rec.await(ctx, ports.PhaseDegraded, 0, h.patience())
	}
	if ended := r.end(); err != nil || ended != nil {
		return errors.Join(err, ended)
	}
	may := map[ports.Phase][]ports.Phase{
		"":                    {ports.PhaseConnecting, ports.PhaseReady, ports.PhaseStopped},
		ports.PhaseConnecting: {ports.PhaseConnecting, ports.PhaseReady, ports.PhaseIdle, ports.PhaseDegraded, ports.PhaseParked, ports.PhaseStopped},
		ports.PhaseReady:      {ports.PhaseReady, ports.PhaseConnecting, ports.PhaseIdle, ports.PhaseDegraded, ports.PhaseParked, ports.PhaseStopped},
		ports.PhaseIdle:       {ports.PhaseIdle, ports.PhaseConnecting, ports.PhaseStopped},
		ports.PhaseDegraded:   {ports.PhaseDegraded, ports.PhaseConnecting, ports.PhaseIdle, ports.PhaseReady, ports.PhaseParked, ports.PhaseStopped},
		ports.PhaseParked:     {ports.PhaseParked, ports.PhaseConnecting, ports.PhaseStopped},
	}
	last := ports.Phase("")
	for _, e := range r.rec.all() {
		if e.state == nil {
			continue
		}
		if !slices.Contains(may[last], e.state.Phase) {
			return fmt.Errorf("phase %q follows %q", e.state.Phase, last)
		}
		if bad := e.state.Phase == ports.PhaseDegraded || e.state.Phase == ports.PhaseParked; bad && e.state.Err == "" {
			return fmt.Errorf("a state is %s and does not say why", e.state.Phase)
		}
		last = e.state.Phase
	}
	if last != ports.PhaseStopped {
		return fmt.Errorf("the last phase is %q, want %q", last, ports.PhaseStopped)
	}
	return nil
}

func runEndsWithContext(ctx context.Context, h Harness) error {
	r, err := h.ready(ctx)
	if err != nil {
		return err
	}
	return r.end()
}

func runLeavesNothing(ctx context.Context, h Harness) error {
	before := takeFootprint()
	err := h.with(ctx, func(r *running) error { return r.echo(ctx, h, 1) })
	if err != nil {
		return err
	}
	return before.same(settles)
}

func runQuietAfterReturn(ctx context.Context, h Harness) error {
	r, err := h.ready(ctx)
	if err != nil {
		return err
	}
	if err := r.end(); err != nil {
		return err
	}
	<-time.After(400 * time.Millisecond)
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	if r.rec.late > 0 {
		return fmt.Errorf("the registrar was used %d times after Run had returned", r.rec.late)
	}
	return nil
}

func runWithEndedContext(ctx context.Context, h Harness) error {
	src, err := h.New()
	if err != nil {
		return fmt.Errorf("New: %w", err)
	}
	before := takeFootprint()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	r := begin(ended, src)
	if err := r.end(); err != nil {
		return err
	}
	for _, e := range r.rec.all() {
		if e.catalog != nil {
			return errors.New("it connected although its context had ended before")
		}
	}
	return before.same(settles)
}

func runTwice(ctx context.Context, h Harness) error {
	src, err := h.New()
	if err != nil {
		return fmt.Errorf("New: %w", err)
	}
	for n := range 2 {
		r := begin(ctx, src)
		_, err := r.rec.await(ctx, ports.PhaseReady, 0, h.patience())
		if err == nil {
			err = r.echo(ctx, h, n)
		}
		if ended := r.end(); err != nil || ended != nil {
			return fmt.Errorf("run %d: %w", n+1, errors.Join(err, ended))
		}
	}
	return nil
}
