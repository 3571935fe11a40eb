package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	modelTries = 3
	// retryPauseMax is the longest pause between two tries of our own choice.
	retryPauseMax = 8 * time.Second
	// retryAfterMax is the longest wait that a provider may ask for before the
	// next model in order is asked instead.
	retryAfterMax = 30 * time.Second
)

// errEmptyReply is a reply that came to its end with nothing in it.
var errEmptyReply = ports.Errorf(ports.KindProtocol, "model", "the reply is empty")

// generate asks for the turn's next reply.
func (t *turn) generate(ctx context.Context) (ports.ModelReply, error) {
	if err := t.remember(ctx); err != nil {
		return ports.ModelReply{}, err
	}
	t.shown = nil
	for {
		if err := t.makeRoom(ctx); err != nil {
			return ports.ModelReply{}, err
		}
		reply, err := t.request(ctx, t.prompt, true)
		if !ports.IsKind(err, ports.KindTooLarge) {
			return reply, err
		}
		if again, ours := t.overflowed(ctx); ours != nil || !again {
			return ports.ModelReply{}, cmp.Or(ours, err)
		}
	}
}

// query is one reply that is wanted, of whichever model gives it.
type query struct {
	prompt func(Model) ports.ModelRequest
	show   bool // the person sees the text as it comes
	shown  bool // and has seen some
}

// request asks the agent's models in order until one replies, with the prompt that
// is made for it; show: the person sees the text as it comes. It is the one owner
// of retries: a passing fault is tried again, and the next model asked where
// that does not help, but not once the person has seen the beginning of a reply:
// then the same model begins it anew.
func (t *turn) request(ctx context.Context, prompt func(Model) ports.ModelRequest, show bool) (ports.ModelReply, error) {
	q := &query{prompt: prompt, show: show}
	last := error(ports.Errorf(ports.KindNotFound, "model", "the agent has no model"))
	for i, m := range t.models(ctx) {
		reply, err := t.requestOf(ctx, m, q)
		if err == nil {
			t.fellBack = ""
			if i > 0 {
				t.fellBack = m.Name
			}
			return reply, nil
		}
		if t.ended(ctx, err) || q.shown || !elsewhere(err) {
			return ports.ModelReply{}, err
		}
		last = err
	}
	return ports.ModelReply{}, last
}

// models are the agent's models in the order in which they are asked: the one
// that the conversation chose is the first.
func (t *turn) models(ctx context.Context) []Model {
	chosen := t.settings(ctx).Model
	first := slices.IndexFunc(t.cfg.Models, func(m Model) bool { return m.Name == chosen })
	if first <= 0 {
		return t.cfg.Models
	}
	list := append([]Model{t.cfg.Models[first]}, t.cfg.Models[:first]...)
	return append(list, t.cfg.Models[first+1:]...)
}

// requestOf asks one model, as often as is worth it.
func (t *turn) requestOf(ctx context.Context, m Model, q *query) (ports.ModelReply, error) {
	req := q.prompt(m)
	req.Tools = m.Health.takes(req.Tools)
	wait := backoff.NewExponentialBackOff()
	wait.MaxInterval = retryPauseMax
	refusals := 0
	for try := 1; ; {
		if err := m.Health.away(m.Name); err != nil {
			t.log.Warn("model_left_alone", "model", m.Name, "err", err)
			return ports.ModelReply{}, err
		}
		if rest := m.Health.rest(); rest > 0 {
			if err := t.pause(ctx, rest); err != nil {
				return ports.ModelReply{}, err
			}
		}
		reply, err := t.try(ctx, m, req, q, try)
		if err == nil {
			return reply, nil
		}
		if t.ended(ctx, err) {
			return ports.ModelReply{}, err
		}
		if t.quarantine(ctx, m, &req, err, &refusals) {
			continue // each takes a tool away, so this ends
		}
		after := ports.RetryAfter(err)
		if passing(err) { // else it is this request's own
			m.Health.restFor(after)
		}
		if !passing(err) || after > retryAfterMax || try == modelTries || m.Health.Failing() {
			return ports.ModelReply{}, err
		}
		if err := t.pause(ctx, max(wait.NextBackOff(), after)); err != nil {
			return ports.ModelReply{}, err
		}
		try++
	}
}

// try makes one request, if the model is well and the money is there, and books
// what it cost.
func (t *turn) try(ctx context.Context, m Model, req ports.ModelRequest, q *query, try int) (ports.ModelReply, error) {
	hold, err := t.afford(ctx, m, &req, q) // before the model: what waits for money must not be what tries it
	if err != nil {
		return ports.ModelReply{}, err
	}
	done, err := m.Health.allow(m.Name)
	if err != nil {
		hold.Settle(0)
		t.log.Warn("model_left_alone", "model", m.Name, "err", err)
		return ports.ModelReply{}, err
	}
	began := time.Now()
	reply, heard, err := t.attempt(ctx, m, req, q.show)
	q.shown = q.shown || q.show && heard > 0
	done(verdict(t.ended(ctx, err), err))
	spent := t.book(m, req, reply, heard, began, err)
	hold.Settle(spent.Cost)
	t.meter.Model(m.Name, asked(err), spent.Tokens, spent.Cost)
	if err != nil {
		if !t.ended(ctx, err) {
			t.log.Warn("model_failed", "model", m.Name, "attempt", try, "kind", ports.KindOf(err), "err", err, "dur", time.Since(began))
			t.tellOf(ctx, m, err)
		}
		return ports.ModelReply{}, err
	}
	log := t.log.With("model", m.Name, "attempt", try, "calls", len(reply.Calls), "dur", time.Since(began),
		"input", reply.Usage.Input, "cached_input", reply.Usage.CachedInput, "output", reply.Usage.Output)
	if spent.Priced {
		log = log.With("cost", spent.Cost.Dollars())
	}
	log.Info("model_replied")
	return reply, nil
}

// attempt makes one request and shows its text as it comes. heard is how many
// bytes of text came.
func (t *turn) attempt(ctx context.Context, m Model, req ports.ModelRequest, show bool) (reply ports.ModelReply, heard int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var came atomic.Int64
	live := t.live
	landing := guard.Start(ctx, guard.Grace, t.leaks, "model", func(ctx context.Context) (ports.ModelReply, error) {
		var text strings.Builder
		return m.Port.Generate(ctx, req, func(delta string) {
			if delta == "" || ctx.Err() != nil {
				return
			}
			came.Add(int64(len(delta)))
			if show {
				text.WriteString(delta)
				live.Text(text.String())
			}
		})
	})
	l, err := wait(ctx, t, landing)
	if err == nil {
		err = l.Err
	}
	reply = l.Value
	reply.Usage = believed(reply.Usage)
	if req.NoCalls && len(reply.Calls) > 0 {
		reply.Calls, reply.Stop = nil, ports.StopEnd // they may not run
	}
	if err == nil && strings.TrimSpace(reply.Text) == "" && len(reply.Calls) == 0 {
		if err = errEmptyReply; reply.Stop == ports.StopLength {
			err = errAllThought
		}
	}
	return reply, came.Load(), err
}

// pause waits between two tries, unless the person stops the turn.
func (t *turn) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	_, err := wait(ctx, t, timer.C)
	return err
}

// ended reports whether a request ended because its turn did, and not for a
// reason of its own.
func (t *turn) ended(ctx context.Context, err error) bool {
	var ours *storeFault
	return t.stopped || t.interrupted || ctx.Err() != nil || errors.As(err, &ours) || errors.Is(err, errReworded)
}

// errAllThought is a reply whose whole length went into what is not shown. The
// same model would do it again, at the same price.
var errAllThought = fmt.Errorf("%w: it reached its length limit before its first word", errEmptyReply)

// passing reports whether the same request may work in a moment.
func passing(err error) bool {
	switch ports.KindOf(err) {
	case ports.KindTemporary, ports.KindRateLimited, ports.KindTimeout, ports.KindProtocol, ports.KindUnavailable:
		return !errors.Is(err, errAllThought)
	}
	return false
}

// elsewhere reports whether another model may do what this one did not. What a
// provider's filter refuses is not tried on until one lets it through; a prompt
// that is too large is made smaller first; and money is nobody's but the admin's.
func elsewhere(err error) bool {
	switch ports.KindOf(err) {
	case ports.KindRefused, ports.KindTooLarge:
		return false
	}
	return !errors.Is(err, errOverspent)
}

// tellOf tells the admins of a failure that only they can mend, once a day.
func (t *turn) tellOf(ctx context.Context, m Model, err error) {
	day := time.Now().Format(time.DateOnly)
	switch kind := ports.KindOf(err); {
	case kind == ports.KindUnauthorized, kind == ports.KindForbidden:
		t.tell(ctx, "model_refuses/"+m.Name+"/"+day, fmt.Sprintf("The model %q refuses this gateway's key, or the account behind it is used up. The log has the provider's words under model_failed.", m.Name))
	case kind == ports.KindNotFound:
		t.tell(ctx, "model_missing/"+m.Name+"/"+day, fmt.Sprintf("The model %q does not exist at its provider. The log has the provider's words under model_failed.", m.Name))
	case m.Health.Failing():
		t.tell(ctx, "model_failing/"+m.Name+"/"+day, fmt.Sprintf("The model %q failed %d times in a row. It is asked again every %s; the log has the reasons under model_failed.", m.Name, modelFailures, modelRest))
	}
}
