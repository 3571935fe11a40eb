package storetest

import (
	"context"
	"errors"
	"time"

	"dragoman/ports"
)

func errorRules() []Rule {
	return []Rule{
		rule("error/an ended context stops every verb", "whoever left was told that nothing is stored, and why: a shutdown is no fault", func(t *trial) {
			l := t.say(room("a"), 2)
			turn := t.begin(l, 1)
			cancelled, cancel := context.WithCancel(t.ctx)
			cancel()
			late, cancel := context.WithDeadline(t.ctx, time.Now().Add(-time.Second))
			defer cancel()
			for verb, do := range verbs(t, l, turn) {
				t.caused(do(cancelled), ports.KindCancelled, context.Canceled, verb)
				t.caused(do(late), ports.KindTimeout, context.DeadlineExceeded, verb)
			}
			w := t.load(l)
			t.want(w.Turn != nil && w.Turn.State == ports.TurnRunning && len(w.Steps) == 1 && len(w.Waiting) == 1, "it left a trace: %+v", w)
			a, err := t.Entries(t.ctx, 1)
			t.want(err == nil && len(a) == 0, "the audit has %v %v", a, err)
			r, err := t.List(t.ctx, "s", "k")
			t.want(err == nil && len(r) == 0, "the records are %v %v", r, err)
			f, err := t.Feed("web").Tail(t.ctx, "c", 0, 1)
			t.want(err == nil && len(f) == 0, "the feed has %v %v", f, err)
		}),
		rule("error/says what was being done", "a log line with the bare cause does not say whose it is", func(t *trial) {
			_, get := t.Get(t.ctx, "s", "k", "none")
			_, question := t.Question(t.ctx, "none")
			_, load := t.Load(t.ctx, ports.Lease{In: room("a"), Epoch: 1})
			_, fate := t.Fates(channel).Fate(t.ctx, "none")
			for verb, err := range map[string]error{"get": get, "question": question, "load": load, "fate": fate} {
				var e *ports.Error
				t.want(errors.As(err, &e) && e.Op != "" && e.Err != nil, "%s gave the error %#v, which lacks its Op or its cause", verb, err)
			}
		}),
	}
}

// caused ends the rule unless err is of the kind and has the cause in its chain.
func (t *trial) caused(err error, kind ports.Kind, cause error, verb string) {
	t.kind(err, kind, verb+" with an ended context")
	t.want(errors.Is(err, cause), "%s with an ended context hides its cause: %#v", verb, err)
}

// verbs are calls that would work under the lease of a running turn of one step.
func verbs(t *trial, l ports.Lease, turn string) map[string]func(context.Context) error {
	r := ports.Record{Scope: "s", Kind: "k", Key: "a", Body: body("x")}
	q := question(l, turn, "q", time.Time{})
	more := func() ports.Change { return final(l, turn, 1, "d") }
	return map[string]func(context.Context) error{
		"record":    func(ctx context.Context) error { return t.Record(ctx, l, more()) },
		"park":      func(ctx context.Context) error { return t.Park(ctx, l, ports.Change{Turn: turn, Person: ann, Ask: q}) },
		"finish":    func(ctx context.Context) error { return t.Finish(ctx, l, more(), ports.OutcomeAnswered) },
		"delivered": func(ctx context.Context) error { return t.Delivered(ctx, l, turn+"/0/preview", ports.Receipt{ID: "1"}) },
		"release":   func(ctx context.Context) error { return t.Release(ctx, "bot", 1) },
		"delete":    func(ctx context.Context) error { return t.Delete(ctx, r) },
		"save":      func(ctx context.Context) error { return t.Save(ctx, ports.Artifact{In: l.In, ID: "x"}) },
		"append":    func(ctx context.Context) error { return t.Append(ctx, ports.AuditEntry{What: "x"}) },
		"renew":     func(ctx context.Context) error { return t.Renew(ctx, "bot", 1) },
		"claim":     only(func(ctx context.Context) (any, error) { return t.Claim(ctx, 1) }),
		"load":      only(func(ctx context.Context) (any, error) { return t.Load(ctx, l) }),
		"history":   only(func(ctx context.Context) (any, error) { return t.History(ctx, l, 1) }),
		"pending":   only(func(ctx context.Context) (any, error) { return t.Pending(ctx, l) }),
		"backlog":   only(func(ctx context.Context) (any, error) { return t.Backlog(ctx) }),
		"cursor":    only(func(ctx context.Context) (any, error) { return t.Cursor(ctx, channel) }),
		"question":  only(func(ctx context.Context) (any, error) { return t.Question(ctx, "q") }),
		"expire":    only(func(ctx context.Context) (any, error) { return t.Expire(ctx, 1) }),
		"acquire":   only(func(ctx context.Context) (any, error) { return t.Acquire(ctx, "bot") }),
		"get":       only(func(ctx context.Context) (any, error) { return t.Get(ctx, "s", "k", "a") }),
		"list":      only(func(ctx context.Context) (any, error) { return t.List(ctx, "s", "k") }),
		"put":       only(func(ctx context.Context) (any, error) { return t.Put(ctx, r) }),
		"read":      only(func(ctx context.Context) (any, error) { return t.Read(ctx, l.In, "x", 0, 1) }),
		"used":      only(func(ctx context.Context) (any, error) { return t.Used(ctx, ports.UsageQuery{}) }),
		"entries":   only(func(ctx context.Context) (any, error) { return t.Entries(ctx, 1) }),
		"feed":      only(func(ctx context.Context) (any, error) { return t.Feed("web").Append(ctx, "c", "n", body("x")) }),
		"tail":      only(func(ctx context.Context) (any, error) { return t.Feed("web").Tail(ctx, "c", 0, 1) }),
		"fate":      only(func(ctx context.Context) (any, error) { return t.Fates(channel).Fate(ctx, "e1") }),
	}
}

// only leaves the error of a call.
func only(do func(context.Context) (any, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := do(ctx)
		return err
	}
}
