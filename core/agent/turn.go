package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// commitRetryMax is the longest pause between two tries of a write of the journal.
const commitRetryMax = 30 * time.Second

// lookAgain is the pause after a look at the inbox that the store refused.
const lookAgain = time.Second

// turn is one activation of a turn: from a message, an answer or a restart until
// it is over or parked.
type turn struct {
	*Agent
	lane   context.Context // of the lane: the turn's own time may be over before it leaves
	lease  ports.Lease
	id     string
	person ports.PersonID
	log    *slog.Logger
	live   Live
	work   atWork // what runs now
	news   <-chan struct{}
	relook <-chan time.Time // set after a look that failed, or that saw half of a burst

	taken       []ports.Inbox // the turn's messages
	joining     []ports.Inbox // messages that join once the open round is done
	steps       []ports.Step  // the journal: what is stored, then what pending adds
	pending     ports.Change  // what the next commit adds
	question    *ports.Question
	stopped     bool
	interrupted bool                 // its person wrote something that counts more
	fellBack    string               // whose the last reply is, where it is not the model that was to be asked first
	idle        bool                 // began with a stop and has nothing to stop
	givenUp     bool                 // too many processes died of it
	changed     int64                // what it goes by has no later change than this
	gone        int64                // see ports.Work.Gone
	mended      bool                 // an edit of a message of its own may wait
	outdated    bool                 // what is known of the turns before has changed since
	anew        int                  // so often it was begun before, and given up for an edit
	behind      int64                // the last message that waited when it began anew; 0 = it goes on
	old         age                  // how old is what it is about to do
	last        string               // the last finished turn before it
	rulings     map[int]ports.Ruling // of the open round, by call; decided anew in each activation

	shown  []ports.ToolSpec  // the tools of this step; nil = not read yet
	media  map[string][]byte // what was read of what the person sent, by its block's URI
	recall                   // the finished turns before it
	fit    fitting           // what had to be done for the prompt to fit
}

// ending is how an activation ends.
type ending struct {
	parked  bool
	outcome ports.Outcome
	text    string // what the person is told
	kind    string // of a failure, for the journal
	silent  bool   // nobody waits to be told anything
}

// run goes on until the turn is over or parked. Its error is the store's or the
// end of the lane; a failure of the model's or of ours is an ending.
func (t *turn) run(ctx context.Context) (end ending, err error) {
	defer func() {
		if r := recover(); r != nil {
			end, err = t.failed(ports.Errorf(ports.KindInternal, "turn", "panic: %v\n%s", r, debug.Stack())), nil
		}
	}()
	for {
		r, err := lastRound(t.steps)
		switch {
		case err != nil:
			return t.failed(err), nil
		case t.idle && !isStop(t.taken[0]):
			return ending{outcome: ports.OutcomeAnswered, silent: true}, nil // what was deleted was answered meanwhile
		case t.idle:
			return ending{outcome: ports.OutcomeAnswered, text: textIdle}, nil
		case t.givenUp:
			t.cancelOpen(r, textGivenUp, textGivenUp)
			t.pending.Audit = append(t.pending.Audit, ports.AuditEntry{Actor: string(t.person), What: "turn_given_up", Ref: t.id, Detail: write(map[string]string{"reference": ports.Ref(t.id)})})
			return t.failed(errDeadly), nil
		case t.stopped:
			t.cancelOpen(r, textCancelled, textNotStarted)
			return ending{outcome: ports.OutcomeStopped, text: textStopped}, nil
		case t.interrupted:
			t.cancelOpen(r, textOverridden, textNotBegun)
			return ending{outcome: ports.OutcomeSuperseded, text: textInterruptedBy}, nil
		case len(t.steps) == 0 && deletedWhole(t.taken):
			return ending{outcome: ports.OutcomeStopped, silent: true}, nil
		case commandOf(t.taken) != "":
			if end, err = t.obey(ctx, commandOf(t.taken)); err == nil {
				return end, nil
			}
		case t.old != fresh:
			var over bool
			if end, over, err = t.stale(ctx, r); over {
				return end, nil
			}
		case r != nil && r.open():
			err = t.round(ctx, r)
		case t.cfg.OnToolFailure == StopTurn && r != nil && r.failed() != "":
			return t.failed(&toolFailure{r.failed()}), nil
		default:
			if end, err = t.reply(ctx); end.outcome != "" {
				return end, nil
			}
		}
		switch {
		case errors.Is(err, errParked):
			return ending{parked: true}, nil
		case errors.Is(err, errStopped), errors.Is(err, errInterrupted):
			continue
		case errors.Is(err, errReworded):
			return ending{}, err
		case err != nil && errors.Is(context.Cause(ctx), errTurnTimeout):
			r, _ := lastRound(t.steps)
			t.cancelOpen(r, textTimeOver, textTimeOver)
			return t.failed(errTooLong), nil
		case err != nil:
			return ending{}, err
		}
	}
}

// storeFault is an error of our own store in the middle of something that has
// errors of its own: the lane tries again, and nobody is told.
type storeFault struct{ error }

func (f *storeFault) Unwrap() error { return f.error }

var (
	errParked  = errors.New("parked")
	errStopped = errors.New("stopped by the person")
)

// reply asks the model. A reply without calls is the answer and ends the turn.
func (t *turn) reply(ctx context.Context) (ending, error) {
	if t.replies() >= t.cfg.MaxSteps {
		return t.failed(errTooManySteps), nil
	}
	if rest := t.settling(); rest > 0 {
		if err := t.pause(ctx, rest); err != nil {
			return ending{}, err
		}
	}
	if err := t.gather(ctx); err != nil {
		return ending{}, err
	}
	if err := t.steer(ctx); err != nil {
		return ending{}, err
	}
	if err := t.fetch(ctx); err != nil {
		return ending{}, err
	}
	got, err := t.generate(ctx)
	var ours *storeFault
	switch {
	case errors.As(err, &ours), errors.Is(err, errStopped), errors.Is(err, errInterrupted), errors.Is(err, errReworded):
		return ending{}, err
	case ctx.Err() != nil:
		return ending{}, ctx.Err()
	case err != nil:
		return t.failed(err), nil
	}
	clear(t.rulings)
	sanitize(&got)
	t.add(ports.StepReply, 0, t.replied(got))
	if len(got.Calls) > 0 {
		return ending{}, nil
	}
	text := got.Text
	if got.Stop == ports.StopLength {
		text += textCut
	}
	if t.fellBack != "" && (!t.spokeLast(got.Model) || t.settings(ctx).Model != "") {
		text += fmt.Sprintf(textFellBack, t.fellBack)
	}
	return ending{outcome: ports.OutcomeAnswered, text: text}, nil
}

// gather waits a moment for the tools of servers that were just started: whoever
// writes while the gateway starts is not told that there is no such tool.
func (t *turn) gather(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	there := t.tools.Starting(ctx)
	if there == nil {
		return nil
	}
	_, err := wait(ctx, t, there)
	return err
}

// finish ends the turn in one commit, with what the person is told.
func (t *turn) finish(ctx context.Context, end ending) error {
	final := finalBody{V: bodyVersion, Kind: end.kind}
	if end.silent && t.live.Close() != "" {
		end.silent, end.text = false, textStopped // it has been seen at work
	}
	if end.outcome != ports.OutcomeAnswered || t.idle || commandOf(t.taken) != "" {
		final.Text = end.text
	}
	if !end.silent {
		t.deliver(strconv.Itoa(len(t.steps)), ports.Content{Text: end.text}, "")
	}
	if end.outcome == ports.OutcomeAnswered {
		t.deliverFiles(end.text)
	}
	t.add(ports.StepFinal, 0, final)
	return t.commit(ctx, func(ctx context.Context, c ports.Change) error { return t.store.Finish(ctx, t.lease, c, end.outcome) })
}

// deliver adds platform messages to the next commit and returns the id of the
// last. step makes their ids: it is never the same for two things that a turn says.
func (t *turn) deliver(step string, c ports.Content, question string) (last string) {
	replaces := t.live.Close() // nothing that was only in the making may come after it
	answered := t.taken[len(t.taken)-1].Message
	for i, part := range t.render(t.lease.In, c) {
		last = fmt.Sprintf("%s/%s/%d", t.id, step, i)
		d := ports.Delivery{ID: last, Out: ports.Outgoing{In: t.lease.In, Content: part, Nonce: last, Reply: answered.Reply}}
		if len(part.Choices) > 0 {
			d.Question = question
		}
		if i == 0 {
			d.Edits = replaces
			d.Out.ReplyTo = t.repliesTo()
		}
		t.pending.Deliveries = append(t.pending.Deliveries, d)
	}
	return last
}

func (t *turn) render(in ports.Conversation, c ports.Content) []ports.Content {
	return t.outbox.RenderFor(t.id, in, c)
}

// preview is what shows the answer in the making: a message of its own, or the
// one that was posted before a restart.
func (t *turn) preview(posted *ports.Preview) ports.Preview {
	p := ports.Preview{ID: fmt.Sprintf("%s/%d/preview", t.id, len(t.steps))}
	if posted != nil {
		p = *posted
	}
	answered := t.taken[len(t.taken)-1].Message
	p.Group = !answered.Private
	p.Out = ports.Outgoing{In: t.lease.In, ReplyTo: t.repliesTo(), Reply: answered.Reply}
	p.Out.Content.Choices = []ports.Choice{{Question: ports.StopQuestion, Field: "turn", Value: strconv.FormatInt(t.taken[0].Seq, 10), Label: "⏹ Stop"}}
	return p
}

// repliesTo is the message that an answer points at: in a group nobody knows
// otherwise whom it is for.
func (t *turn) repliesTo() ports.MessageID {
	if t.taken[len(t.taken)-1].Private {
		return ""
	}
	return t.taken[0].ID
}

// add appends a row to the journal with the next commit.
func (t *turn) add(kind ports.StepKind, call int, body any) {
	s := ports.Step{Index: len(t.steps), Kind: kind, Call: call, Body: write(body)}
	t.steps = append(t.steps, s)
	t.pending.Steps = append(t.pending.Steps, s)
}

// record commits what is pending, if anything is.
func (t *turn) record(ctx context.Context) error {
	if len(t.pending.Steps)+len(t.pending.Take) == 0 {
		return nil
	}
	return t.commit(ctx, func(ctx context.Context, c ports.Change) error { return t.store.Record(ctx, t.lease, c) })
}

// commit makes one write of the journal. What is pending happened and is not
// known to anybody else: a store that cannot write now is asked again, for as
// long as the lane lives.
func (t *turn) commit(ctx context.Context, write func(context.Context, ports.Change) error) error {
	retry := backoff.NewExponentialBackOff()
	retry.MaxInterval = commitRetryMax
	due, later := t.due()
	for {
		change := t.pending
		change.Usage = due
		// A write does not end with the turn's own time: what happened is recorded.
		err := guard.Write(ctx, t.lane, t.leaks, "store_write", func(ctx context.Context) error { return write(ctx, change) })
		if err == nil {
			break
		}
		if ports.IsKind(err, ports.KindConflict) {
			if err := t.reread(ctx); err != nil {
				return err
			}
			continue
		}
		if !passingWrite(err) || t.lane.Err() != nil {
			return fmt.Errorf("commit of turn %s: %w", t.id, err)
		}
		t.log.Warn("commit_retried", "kind", ports.KindOf(err), "err", err)
		timer := time.NewTimer(retry.NextBackOff())
		select {
		case <-timer.C:
		case <-t.lane.Done():
			timer.Stop()
		}
	}
	t.question = nil // an answer counts until something is recorded after it
	t.pending = ports.Change{Turn: t.id, Person: t.person, Changed: t.changed, Usage: later}
	return nil
}

// passingWrite reports whether the same write may work in a moment.
func passingWrite(err error) bool {
	switch ports.KindOf(err) {
	case ports.KindUnavailable, ports.KindTemporary, ports.KindTimeout, ports.KindUnsure:
		return true
	}
	return false
}

// wait waits for something to come, and meanwhile for the person's stop
// (errStopped), the loss of the lease and the end of ctx.
func wait[T any](ctx context.Context, t *turn, c <-chan T) (v T, err error) {
	for {
		select {
		case v := <-c:
			return v, nil
		case <-t.news:
		case <-t.relook:
		case <-ctx.Done():
			return v, ctx.Err()
		}
		if _, err := t.look(ctx); err != nil {
			return v, err
		}
	}
}

// look reads what came in. Its error is errStopped, errInterrupted, errReworded, or a lease that
// is lost: a store that cannot be read now is asked again, and nothing that runs is
// given up.
func (t *turn) look(ctx context.Context) (waiting []ports.Inbox, err error) {
	t.relook = nil
	w, err := guard.Read(ctx, t.leaks, "store_load", func(ctx context.Context) (ports.Work, error) { return t.store.Load(ctx, t.lease) })
	switch {
	case ports.IsKind(err, ports.KindFenced):
		return nil, &storeFault{err}
	case err != nil:
		t.log.Warn("look_failed", "kind", ports.KindOf(err), "err", err)
		t.relook = time.After(lookAgain)
		return nil, nil
	}
	if t.heed(w.Waiting); t.stopped {
		return nil, errStopped
	}
	if t.yield(ctx, w.Waiting); t.interrupted {
		return nil, errInterrupted
	}
	t.mended = slices.ContainsFunc(w.Waiting, t.mends)
	if t.refresh(w) {
		return nil, errReworded
	}
	return w.Waiting, nil
}

// spokeLast reports whether the conversation's last reply before this turn is of
// this model.
func (t *turn) spokeLast(model string) bool {
	for _, p := range slices.Backward(t.past) {
		for _, e := range slices.Backward(p.entries) {
			if e.Model != "" {
				return e.Model == model
			}
		}
	}
	return false
}

func (t *turn) replies() int {
	n := 0
	for _, s := range t.steps {
		if s.Kind == ports.StepReply {
			n++
		}
	}
	return n
}
