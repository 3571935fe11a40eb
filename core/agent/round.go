package agent

import (
	"context"
	"fmt"
	"time"

	"dragoman/ports"
)

// stopGrace is how long the open calls of a stopped turn may still come home.
const stopGrace = 500 * time.Millisecond

// landed is a call that came home.
type landed struct {
	call   int
	result ports.CallResult
	dur    time.Duration
	lost   bool // nobody has the call any more that was to be taken up
}

// flights are the calls of a round that run now.
type flights struct {
	home chan landed
	open map[int]ports.Class
}

// round brings the calls of a reply to their results: readers side by side,
// those that change things one at a time and in order. It records a start before
// a call begins, and the result of a call that changes things at once. It parks
// the turn (errParked) when a call needs its person and nothing else runs.
func (t *turn) round(ctx context.Context, r *round) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := flights{home: make(chan landed, len(r.calls)), open: map[int]ports.Class{}}
	urgent := false
	for {
		p := t.plan(ctx, r, f)
		if t.stopped {
			return errStopped
		}
		for _, i := range p.start {
			t.note(r, i)
			t.add(ports.StepStart, i, startBody{V: bodyVersion, Class: p.class[i], Key: t.key(r, i)})
			r.calls[i].started, r.calls[i].class = true, p.class[i]
		}
		home := len(f.open)+len(p.launch)+len(p.rejoin) == 0
		if home && p.ask != nil {
			return t.ask(ctx, r, *p.ask)
		}
		if home {
			t.join()
		}
		if len(p.start) > 0 || urgent || home {
			if err := t.record(ctx); err != nil {
				return err
			}
			urgent = false
		}
		if home {
			t.question = nil // used up, also where nothing had to be recorded
			return nil
		}
		for _, i := range p.launch {
			t.launch(ctx, r, i, f)
		}
		for _, i := range p.rejoin {
			t.rejoin(ctx, r, i, f)
		}
		l, err := wait(ctx, t, f.home)
		if err != nil {
			return t.leave(r, f, cancel, err)
		}
		urgent = f.open[l.call] != ports.ClassRead && !l.lost
		t.land(r, f, l)
	}
}

// note audits, with the start of a call, that its person wanted it.
func (t *turn) note(r *round, i int) {
	switch {
	case r.calls[i].started:
		t.audit(r, i, "tool_run_again")
	case t.wasAsked(r, i):
		t.audit(r, i, "tool_approved")
	}
}

// audit adds an entry about a call to the next commit.
func (t *turn) audit(r *round, i int, what string) {
	t.pending.Audit = append(t.pending.Audit, ports.AuditEntry{Actor: string(t.person), What: what, Ref: t.id,
		Detail: write(map[string]string{"tool": r.reply.Calls[i].Name, "call": t.key(r, i), "reference": ports.Ref(t.id)})})
}

// launch runs one call in a goroutine that holds nothing and writes nothing.
func (t *turn) launch(ctx context.Context, r *round, i int, f flights) {
	call := t.toolCall(r, i)
	f.open[i] = r.calls[i].class
	t.log.Debug("tool_call_started", "tool", call.Name, "step", r.step, "call", i, "arguments", string(call.Arguments))
	tools, run, home := t.tools, t.work.begin(call.Name), f.home
	host := NewHost(t.log, call.Name, run.tells)
	go func() {
		result := tools.Call(ctx, call, host)
		run.end()
		home <- landed{call: i, result: result, dur: time.Since(run.began)}
	}()
}

// rejoin is launch for a call that an earlier process began.
func (t *turn) rejoin(ctx context.Context, r *round, i int, f flights) {
	call := t.toolCall(r, i)
	f.open[i] = r.calls[i].class
	r.calls[i].sought = true
	tools, run, home := t.tools, t.work.begin(call.Name), f.home
	host := NewHost(t.log, call.Name, run.tells)
	go func() {
		result, ok := tools.Rejoin(ctx, call, host)
		run.end()
		home <- landed{call: i, result: result, dur: time.Since(run.began), lost: !ok}
	}()
}

func (t *turn) toolCall(r *round, i int) ports.ToolCall {
	return ports.ToolCall{Call: r.reply.Calls[i], Turn: t.id, Person: t.person, In: t.lease.In, Key: t.key(r, i)}
}

// land keeps a result for the next commit.
func (t *turn) land(r *round, f flights, l landed) {
	delete(f.open, l.call)
	if l.lost {
		return // the next plan asks about it
	}
	call := r.reply.Calls[l.call]
	t.log.Info("tool_call_finished", "tool", call.Name, "step", r.step, "call", l.call, "outcome", l.result.Outcome, "dur", l.dur)
	t.meter.Ran(l.dur)
	t.settle(r, l.call, l.result)
}

// leave ends a round whose calls still run: a turn that its person ends grants them a moment,
// then they are cancelled; with the lane's end nobody waits for them.
func (t *turn) leave(r *round, f flights, cancel context.CancelCauseFunc, why error) error {
	if !t.stopped && !t.interrupted {
		cancel(ports.ErrLeaving)
		return why
	}
	cancel(why)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	for len(f.open) > 0 {
		select {
		case l := <-f.home:
			t.land(r, f, l)
		case <-timer.C:
			return why
		}
	}
	return why
}

// ask asks the person about a call and leaves the turn waiting.
func (t *turn) ask(ctx context.Context, r *round, ask asking) error {
	about := t.about(r.step, ask.call)
	about.Tool = r.reply.Calls[ask.call]
	q, content := t.asker.Approval(about)
	if ask.unknown {
		q, content = t.asker.Unknown(about)
	}
	return t.park(ctx, q, content, "q")
}

// about is what a question would be about that is asked now.
func (t *turn) about(step, call int) ports.About {
	return ports.About{Turn: t.id, In: t.lease.In, Person: t.person, Steps: len(t.steps), Taken: len(t.taken), Step: step, Call: call,
		Reply: t.taken[len(t.taken)-1].Reply}
}

// park puts a question and leaves the turn waiting. A question may be put again
// when only answers came since; kind tells two of one moment apart.
func (t *turn) park(ctx context.Context, q ports.Question, content ports.Content, kind string) error {
	q.Prompt = t.deliver(fmt.Sprintf("%s%d-%d", kind, len(t.steps), len(t.taken)), content, q.ID)
	t.pending.Ask = &q
	if err := t.commit(ctx, func(ctx context.Context, c ports.Change) error { return t.store.Park(ctx, t.lease, c) }); err != nil {
		return err
	}
	return errParked
}

// join adds the messages that came instead of an answer, behind the round's results.
func (t *turn) join() {
	if len(t.joining) == 0 {
		return
	}
	body := inputBody{V: bodyVersion}
	for _, m := range t.joining {
		body.Seq = append(body.Seq, m.Seq)
	}
	t.take(t.joining)
	t.add(ports.StepInput, -1, body)
	t.joining = nil
}

// settle gives a call its result, with the next commit.
func (t *turn) settle(r *round, call int, result ports.CallResult) {
	if n := result.NeedsInput; n != nil {
		n.State = validJSON(n.State)
	}
	r.calls[call].result = &result
	t.meter.Result(r.reply.Calls[call].Name, result.Outcome)
	t.add(ports.StepResult, call, resultBody{V: bodyVersion, CallResult: result})
}

// cancelOpen gives the calls that are open when a turn ends their results, in
// words for the model: one for those that ran, one for those that did not.
func (t *turn) cancelOpen(r *round, ran, idle string) {
	if r == nil {
		return
	}
	for i, c := range r.calls {
		switch {
		case c.result != nil:
		case c.started:
			t.settle(r, i, ports.CallResult{Outcome: ports.CallCancelled, Text: ran})
		default:
			t.settle(r, i, ports.CallResult{Outcome: ports.CallCancelled, Text: idle})
		}
	}
}

// key is the idempotency key of a call: the same when it is run again.
func (t *turn) key(r *round, call int) string { return fmt.Sprintf("%s/%d/%d", t.id, r.step, call) }
