package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"dragoman/ports"
)

// commitTimeout bounds one write of the journal. Writes do not end with the
// turn's own time: what happened is recorded.
const commitTimeout = 30 * time.Second

// turn is one activation of a turn: from a message, an answer or a restart until
// it is over or parked.
type turn struct {
	*Agent
	lease  ports.Lease
	id     string
	person ports.PersonID
	log    *slog.Logger
	live   Live
	news   <-chan struct{}

	taken    []ports.Inbox // the turn's messages
	joining  []ports.Inbox // messages that join once the open round is done
	steps    []ports.Step  // the journal: what is stored, then what pending adds
	pending  ports.Change  // what the next commit adds
	question *ports.Question
	stopped  bool
	idle     bool // began with a stop and has nothing to stop
	past     []ports.Entry
	rulings  map[int]ports.Ruling // of the open round, by call; decided anew in each activation
}

// ending is how an activation ends.
type ending struct {
	parked  bool
	outcome ports.Outcome
	text    string // what the person is told
	kind    string // of a failure, for the journal
}

// open makes the activation of the conversation's unfinished turn, or of a new
// one that takes the leading messages of one person.
func (a *Agent) open(l ports.Lease, w ports.Work, news <-chan struct{}) *turn {
	t := &turn{Agent: a, lease: l, news: news, rulings: map[int]ports.Ruling{}}
	if w.Turn != nil {
		t.id, t.person, t.taken, t.steps = w.Turn.ID, w.Turn.Person, w.Taken, w.Steps
		if q := w.Question; q != nil && a.asker.Current(*q, len(t.steps)) {
			t.question = q
			t.stopped = q.State == ports.QuestionStopped
		}
		if t.question != nil && t.question.State == ports.QuestionSuperseded {
			t.joining = leading(w.Waiting, t.person)
		}
	} else {
		first := w.Waiting[0]
		t.id, t.person = ports.TurnID(l.In, first.Seq), first.Person
		t.take(leading(w.Waiting, t.person))
		if first.Route == ports.RouteControl {
			t.idle = true
			t.take(w.Waiting[:1])
		}
	}
	t.pending.Turn, t.pending.Person = t.id, t.person
	t.log = a.log.With("channel", l.In.Channel, "chat", l.In.Chat, "user", t.person, "turn", t.id, "ref", Ref(t.id))
	t.heed(w.Waiting)
	return t
}

// leading are the first messages that wait, as long as they are this person's
// and none of them is a stop.
func leading(waiting []ports.Inbox, person ports.PersonID) []ports.Inbox {
	for i, m := range waiting {
		if m.Person != person || m.Route != ports.RouteLane {
			return waiting[:i]
		}
	}
	return waiting
}

// heed looks for the person's stop among the messages that wait. What they wrote
// before it ends with the turn too.
func (t *turn) heed(waiting []ports.Inbox) {
	last := slices.IndexFunc(waiting, func(m ports.Inbox) bool { return m.Route == ports.RouteControl && m.Person == t.person })
	if last < 0 || t.idle {
		return
	}
	t.stopped = true
	for _, m := range waiting[:last+1] {
		if m.Person == t.person {
			t.take([]ports.Inbox{m})
		}
	}
}

// take makes waiting messages the turn's with the next commit.
func (t *turn) take(list []ports.Inbox) {
	for _, m := range list {
		if !slices.ContainsFunc(t.taken, func(have ports.Inbox) bool { return have.Seq == m.Seq }) {
			t.taken = append(t.taken, m)
			t.pending.Take = append(t.pending.Take, m.Seq)
		}
	}
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
		case t.idle:
			return ending{outcome: ports.OutcomeAnswered, text: textIdle}, nil
		case t.stopped:
			t.cancelOpen(r)
			return ending{outcome: ports.OutcomeStopped, text: textStopped}, nil
		case r != nil && r.open():
			err = t.round(ctx, r)
		default:
			if end, err = t.reply(ctx); end.outcome != "" {
				return end, nil
			}
		}
		switch {
		case errors.Is(err, errParked):
			return ending{parked: true}, nil
		case errors.Is(err, errStopped):
			continue
		case err != nil && errors.Is(context.Cause(ctx), errTurnTimeout):
			r, _ := lastRound(t.steps)
			t.cancelOpen(r)
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
	got, err := t.generate(ctx)
	var ours *storeFault
	switch {
	case errors.As(err, &ours), errors.Is(err, errStopped):
		return ending{}, err
	case ctx.Err() != nil:
		return ending{}, ctx.Err()
	case err != nil:
		return t.failed(err), nil
	}
	clear(t.rulings)
	t.pending.Usage = append(t.pending.Usage, ports.Spent{Step: len(t.steps), Model: got.Model, Tokens: got.Usage})
	t.add(ports.StepReply, 0, replyBody{V: bodyVersion, Text: got.Text, Calls: got.Calls, State: got.State, Model: got.Model, Stop: got.Stop})
	if len(got.Calls) > 0 {
		return ending{}, nil
	}
	text := got.Text
	if got.Stop == ports.StopLength {
		text += textCut
	}
	return ending{outcome: ports.OutcomeAnswered, text: text}, nil
}

// finish ends the turn in one commit, with what the person is told.
func (t *turn) finish(ctx context.Context, end ending) error {
	final := finalBody{V: bodyVersion, Kind: end.kind}
	if end.outcome != ports.OutcomeAnswered || t.idle {
		final.Text = end.text
	}
	t.deliver(len(t.steps), ports.Content{Text: end.text}, "")
	t.add(ports.StepFinal, 0, final)
	return t.commit(ctx, func(ctx context.Context, c ports.Change) error { return t.store.Finish(ctx, t.lease, c, end.outcome) })
}

// deliver adds platform messages to the next commit and returns the id of the last.
func (t *turn) deliver(step int, c ports.Content, question string) (last string) {
	answered := t.taken[len(t.taken)-1].Message
	for i, part := range t.outbox.Render(t.lease.In, c) {
		last = ports.DeliveryID(t.id, step, i)
		d := ports.Delivery{ID: last, Out: ports.Outgoing{In: t.lease.In, Content: part, Nonce: last, Reply: answered.Reply}}
		if len(part.Choices) > 0 {
			d.Question = question
		}
		if !answered.Private && i == 0 {
			d.Out.ReplyTo = t.taken[0].ID
		}
		t.pending.Deliveries = append(t.pending.Deliveries, d)
	}
	return last
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

func (t *turn) commit(ctx context.Context, write func(context.Context, ports.Change) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if err := write(ctx, t.pending); err != nil {
		return fmt.Errorf("commit of turn %s: %w", t.id, err)
	}
	t.question = nil // an answer counts until something is recorded after it
	t.pending = ports.Change{Turn: t.id, Person: t.person}
	return nil
}

// look reads what came in and reports whether the person wants to stop.
func (t *turn) look(ctx context.Context) (bool, error) {
	w, err := t.store.Load(ctx, t.lease)
	if err != nil {
		return false, &storeFault{err}
	}
	t.heed(w.Waiting)
	return t.stopped, nil
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
