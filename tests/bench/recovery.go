package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// Recovery is the time from a SIGKILL, with turns in flight and a restart at once,
// to what their people see. Medians over the kills, and the worst.
type Recovery struct {
	InFlight     int     `json:"in_flight"` // turns whose model was thinking
	Kills        int     `json:"kills"`
	PollMS       float64 `json:"poll_ms"` // to the first poll of the next life
	FirstMS      float64 `json:"first_ms"`
	FirstWorstMS float64 `json:"first_worst_ms"`
	AllMS        float64 `json:"all_ms"` // to the last of their answers
	AllWorstMS   float64 `json:"all_worst_ms"`
	Others       float64 `json:"others"` // share of the machine that nobody of ours used meanwhile, at the worst kill
}

// recovered is one kill.
type recovered struct {
	poll, first, all time.Duration
	others           float64
}

// recovery kills the gateway again and again, each time in a folder of its own.
func (m *meter) recovery(ctx context.Context, result *Result) error {
	if m.opt.kills == 0 {
		return nil
	}
	var all []recovered
	for n := range m.opt.kills {
		fmt.Fprintf(m.progress, "SIGKILL with %d turns in flight, %d of %d: ", m.opt.inFlight, n+1, m.opt.kills)
		one, err := m.recover(ctx, m.systems[0])
		if err != nil {
			return fmt.Errorf("SIGKILL with %d turns in flight: %w", m.opt.inFlight, err)
		}
		fmt.Fprintf(m.progress, "%.0f ms to the first answer, %.0f ms to the last\n", milliseconds(one.first), milliseconds(one.all))
		all = append(all, one)
	}
	result.Recovery = recoveryOf(m.opt.inFlight, all)
	return nil
}

func recoveryOf(inFlight int, all []recovered) *Recovery {
	r := &Recovery{InFlight: inFlight, Kills: len(all),
		PollMS:  median(all, func(r recovered) float64 { return milliseconds(r.poll) }),
		FirstMS: median(all, func(r recovered) float64 { return milliseconds(r.first) }),
		AllMS:   median(all, func(r recovered) float64 { return milliseconds(r.all) })}
	for _, one := range all {
		r.Others = max(r.Others, one.others)
		r.FirstWorstMS, r.AllWorstMS = max(r.FirstWorstMS, milliseconds(one.first)), max(r.AllWorstMS, milliseconds(one.all))
	}
	return r
}

// recover has everybody ask, kills the gateway while the model thinks about all of
// them, and starts it again. From the kill on the model answers at once.
func (m *meter) recover(ctx context.Context, s system) (one recovered, err error) {
	dir, err := m.folder()
	if err != nil {
		return one, err
	}
	r := newRig(Load{Chats: m.opt.inFlight}, m.opt.depth)
	defer r.close()
	p, _, err := s.boot(ctx, r, dir)
	if err != nil {
		return one, err
	}
	release := r.hold()
	defer release()
	for _, c := range r.chatters {
		c.ask(0)
	}
	if err := r.thinking(ctx, m.opt.inFlight); err != nil {
		return one, s.halt(p, err)
	}
	// A turn is in flight for more than a moment when a crash comes.
	if err := pause(ctx, 200*time.Millisecond); err != nil {
		return one, s.halt(p, err)
	}
	from, err := measureUsage(os.Getpid())
	if err != nil {
		return one, s.halt(p, err)
	}
	killed := time.Now()
	p.kill()
	_ = p.log.Close()
	release()
	select {
	case <-r.polled: // the dead one's
	default:
	}
	if p, _, err = s.boot(ctx, r, dir); err != nil {
		return one, err
	}
	one.poll = time.Since(killed)
	shown, err := r.answers(ctx)
	to, err1 := measureUsage(p.pid())
	if err = s.halt(p, errors.Join(err, err1)); err != nil {
		return one, err
	}
	if err := r.check(); err != nil {
		return one, err
	}
	from.process, from.children, to.children = 0, 0, 0 // what is measured began anew; the other is the same as own
	one.others = to.minus(from).others(runtime.NumCPU())
	one.first, one.all = slices.MinFunc(shown, time.Time.Compare).Sub(killed), slices.MaxFunc(shown, time.Time.Compare).Sub(killed)
	return one, os.RemoveAll(dir)
}

// thinking waits until the model was asked so many times.
func (r *rig) thinking(ctx context.Context, n int) error {
	for late := time.Now().Add(patience); r.model.Calls() < int64(n); {
		if time.Now().After(late) {
			return fmt.Errorf("the model was asked %d times within %s, want %d", r.model.Calls(), patience, n)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// answers waits until all that was asked is answered, and says when each was.
func (r *rig) answers(ctx context.Context) ([]time.Time, error) {
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	var shown []time.Time
	for _, c := range r.chatters {
		select {
		case <-c.turn.done:
			c.end()
			shown = append(shown, c.samples[0].shown)
		case <-late.C:
			return nil, fmt.Errorf("no answer within %s to %q", answerWithin, c.turn.ref)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if len(shown) == 0 {
		return nil, errors.New("nobody asked")
	}
	return shown, nil
}
