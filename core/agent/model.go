package agent

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	modelTries = 3
	// retryAfterMax is the longest wait that a provider may ask for before the
	// next model in order is asked instead.
	retryAfterMax = 30 * time.Second
)

// generate asks for the turn's next reply.
func (t *turn) generate(ctx context.Context) (ports.ModelReply, error) {
	if err := t.remember(ctx); err != nil {
		return ports.ModelReply{}, err
	}
	return t.request(ctx, t.prompt, true)
}

// request asks the agent's models in order until one replies, with the prompt that
// is made for it; show: the person sees the text as it comes. A passing fault is
// tried again, but only as long as nothing of the reply was shown.
func (t *turn) request(ctx context.Context, prompt func(Model) ports.ModelRequest, show bool) (ports.ModelReply, error) {
	last := error(ports.Errorf(ports.KindNotFound, "model", "the agent has no model"))
	for _, m := range t.cfg.Models {
		req := prompt(m)
		wait := backoff.NewExponentialBackOff()
		for try := 1; try <= modelTries; try++ {
			began := time.Now()
			reply, shown, err := t.attempt(ctx, m, req, show)
			t.meter.Model(m.Name, asked(err), reply.Usage)
			if err == nil {
				t.log.Info("model_replied", "model", m.Name, "attempt", try, "calls", len(reply.Calls), "dur", time.Since(began),
					"input", reply.Usage.Input, "output", reply.Usage.Output)
				return reply, nil
			}
			var ours *storeFault
			if t.stopped || ctx.Err() != nil || errors.As(err, &ours) {
				return ports.ModelReply{}, err
			}
			last = err
			t.log.Warn("model_failed", "model", m.Name, "attempt", try, "kind", ports.KindOf(err), "err", err, "dur", time.Since(began))
			pause := max(wait.NextBackOff(), ports.RetryAfter(err))
			if shown || !passing(err) || pause > retryAfterMax || try == modelTries {
				break
			}
			if err := t.pause(ctx, pause); err != nil {
				return ports.ModelReply{}, err
			}
		}
		if ports.IsKind(last, ports.KindRefused) {
			break
		}
	}
	return ports.ModelReply{}, last
}

// attempt makes one request and shows its text as it comes.
func (t *turn) attempt(ctx context.Context, m Model, req ports.ModelRequest, show bool) (reply ports.ModelReply, shown bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var began atomic.Bool // text was shown
	live := t.live
	landing := guard.Start(ctx, guard.Grace, t.leaks, "model", func(ctx context.Context) (ports.ModelReply, error) {
		var text strings.Builder
		return m.Port.Generate(ctx, req, func(delta string) {
			if !show || delta == "" || ctx.Err() != nil {
				return
			}
			began.Store(true)
			text.WriteString(delta)
			live.Text(text.String())
		})
	})
	l, err := wait(ctx, t, landing)
	if err == nil {
		err = l.Err
	}
	if err == nil && strings.TrimSpace(l.Value.Text) == "" && len(l.Value.Calls) == 0 {
		err = ports.Errorf(ports.KindProtocol, "model", "the reply is empty")
	}
	return l.Value, began.Load(), err
}

// pause waits between two tries, unless the person stops the turn.
func (t *turn) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	_, err := wait(ctx, t, timer.C)
	return err
}

// passing reports whether the same request may work in a moment.
func passing(err error) bool {
	switch ports.KindOf(err) {
	case ports.KindTemporary, ports.KindRateLimited, ports.KindTimeout, ports.KindProtocol, ports.KindUnavailable:
		return true
	}
	return false
}
