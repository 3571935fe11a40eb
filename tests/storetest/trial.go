package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/ports"
)

const (
	channel = "chat"
	ann     = ports.PersonID("ann")
)

// trial is one run of one rule over a place of its own. Its methods end the rule
// at the first thing that goes wrong, by a panic that rule catches: they belong
// to the goroutine of the rule.
type trial struct {
	Store
	ctx   context.Context
	h     Harness
	place string
	event int
}

// broken carries the error of a rule out of a trial.
type broken struct{ error }

func rule(name, why string, check func(t *trial)) Rule {
	return Rule{Name: name, Why: why, Check: func(ctx context.Context, h Harness) (err error) {
		t := &trial{ctx: ctx, h: h, place: strings.ReplaceAll(name, "/", "-")}
		defer func() {
			p := recover()
			if b, ok := p.(broken); ok {
				err = b.error
			} else if p != nil {
				panic(p)
			}
			if t.Store != nil {
				err = errors.Join(err, t.Store.Close())
			}
		}()
		t.open()
		check(t)
		return nil
	}}
}

func (t *trial) fail(format string, args ...any) { panic(broken{fmt.Errorf(format, args...)}) }

// ok ends the rule if err is set.
func (t *trial) ok(err error, what string) {
	if err != nil {
		t.fail("%s: %w", what, err)
	}
}

// kind ends the rule unless err is of the kind.
func (t *trial) kind(err error, kind ports.Kind, what string) {
	if !ports.IsKind(err, kind) {
		t.fail("%s: got error %v, want kind %s", what, err, kind)
	}
}

// want ends the rule unless it holds.
func (t *trial) want(holds bool, format string, args ...any) {
	if !holds {
		t.fail(format, args...)
	}
}

func (t *trial) open() {
	s, err := t.h.Open(t.ctx, t.place)
	t.ok(err, "open")
	t.Store = s
}

// restart stops the store in order and opens it again.
func (t *trial) restart() {
	err := t.Close()
	t.Store = nil
	t.ok(err, "close")
	t.open()
}

// crash kills the store and opens it again.
func (t *trial) crash() {
	err := t.h.Crash(t.Store)
	t.Store = nil
	t.ok(err, "crash")
	t.open()
}

func room(chat string) ports.Conversation { return ports.Conversation{Channel: channel, Chat: chat} }

func source() ports.Source { return ports.Source{Channel: channel} }

// message is a new one, with an event of its own.
func (t *trial) message(in ports.Conversation, text string) ports.Message {
	t.event++
	return ports.Message{
		Event: fmt.Sprintf("e%d", t.event), ID: ports.MessageID(fmt.Sprintf("m%d", t.event)),
		In: in, From: "7", Name: "Ann", Text: text, At: time.Now().Truncate(time.Second),
	}
}

func always(kind ports.RouteKind) func(ports.Sight) ports.Route {
	return func(ports.Sight) ports.Route { return ports.Route{Kind: kind, Person: ann} }
}

func (t *trial) accept(route func(ports.Sight) ports.Route, messages ...ports.Message) ports.Accepted {
	got, err := t.Accept(t.ctx, source(), ports.Batch{Messages: messages}, route)
	t.ok(err, "accept")
	return got
}

// say accepts n messages for the lane and returns the conversation's lease.
func (t *trial) say(in ports.Conversation, n int) ports.Lease {
	var b []ports.Message
	for range n {
		b = append(b, t.message(in, "hello"))
	}
	got := t.accept(always(ports.RouteLane), b...)
	t.want(len(got.Leases) == 1 && got.Leases[0].In == in, "a message that may run gave the leases %v, want one of %v", got.Leases, in)
	return got.Leases[0]
}

func (t *trial) load(l ports.Lease) ports.Work {
	w, err := t.Load(t.ctx, l)
	t.ok(err, "load")
	return w
}

func body(s string) json.RawMessage { return json.RawMessage(`{"v":1,"s":"` + s + `"}`) }

// begin takes the messages into a turn with one step, a reply.
func (t *trial) begin(l ports.Lease, seqs ...int64) string {
	turn := ports.TurnID(l.In, seqs[0])
	t.ok(t.Record(t.ctx, l, ports.Change{
		Turn: turn, Person: ann, Take: seqs, Steps: []ports.Step{{Index: 0, Kind: ports.StepReply, Body: body("reply")}},
	}), "begin a turn")
	return turn
}

func delivery(l ports.Lease, id string) ports.Delivery {
	return ports.Delivery{ID: id, Out: ports.Outgoing{In: l.In, Nonce: id, Content: ports.Content{Text: "text of " + id}}}
}

// final is the change that ends a turn with its step number index.
func final(l ports.Lease, turn string, index int, ids ...string) ports.Change {
	c := ports.Change{Turn: turn, Person: ann, Steps: []ports.Step{{Index: index, Kind: ports.StepFinal, Body: body("final")}}}
	for _, id := range ids {
		c.Deliveries = append(c.Deliveries, delivery(l, id))
	}
	return c
}

func (t *trial) finish(l ports.Lease, turn string, index int, ids ...string) {
	t.ok(t.Finish(t.ctx, l, final(l, turn, index, ids...), ports.OutcomeAnswered), "finish")
}

func (t *trial) delivered(l ports.Lease, id string, r ports.Receipt) {
	t.ok(t.Delivered(t.ctx, l, id, r), "delivered "+id)
}

func question(l ports.Lease, turn, id string, expires time.Time) *ports.Question {
	return &ports.Question{
		ID: id, Turn: turn, In: l.In, Person: ann, Kind: ports.QuestionApproval, Text: "may I?",
		State: ports.QuestionOpen, Expires: expires, Prompt: turn + "/1/0",
	}
}

// park leaves the turn (of one step) waiting for the question, its prompt undelivered.
func (t *trial) park(l ports.Lease, turn, id string, expires time.Time) string {
	q := question(l, turn, id, expires)
	d := delivery(l, q.Prompt)
	d.Question = id
	t.ok(t.Park(t.ctx, l, ports.Change{Turn: turn, Person: ann, Ask: q, Deliveries: []ports.Delivery{d}}), "park")
	return q.Prompt
}

// parked is a conversation with a parked turn that nobody owns.
func (t *trial) parked(in ports.Conversation, id string, expires time.Time) string {
	l := t.say(in, 1)
	turn := t.begin(l, t.load(l).Waiting[0].Seq)
	t.delivered(l, t.park(l, turn, id, expires), ports.Receipt{ID: "posted-" + ports.MessageID(id)})
	t.unowned(l, "a parked turn whose prompt is delivered")
	return turn
}

// settle routes a message by what it does to the open or pressed question.
func settle(kind ports.RouteKind, state ports.QuestionState) func(ports.Sight) ports.Route {
	return func(s ports.Sight) ports.Route {
		q := s.Pressed
		if q == nil {
			q = s.Open
		}
		if q == nil || q.State != ports.QuestionOpen {
			return ports.Route{Drop: true}
		}
		next := *q
		next.State = state
		next.Answers = map[string]string{"ok": "yes"}
		return ports.Route{Kind: kind, Person: ann, Question: &next}
	}
}

// claim takes all there is.
func (t *trial) claim() []ports.Lease {
	got, err := t.Claim(t.ctx, 1000)
	t.ok(err, "claim")
	return got
}

// takeOver claims and wants the conversation among what it got.
func (t *trial) takeOver(in ports.Conversation) ports.Lease {
	got := t.claim()
	for _, l := range got {
		if l.In == in {
			return l
		}
	}
	t.fail("claim gave %v, without %v, which has work and no owner", got, in)
	return ports.Lease{}
}

// unowned wants the conversation given up: the lease is dead and there is nothing to claim.
func (t *trial) unowned(l ports.Lease, when string) {
	_, err := t.Load(t.ctx, l)
	t.kind(err, ports.KindFenced, "load after "+when)
	for _, c := range t.claim() {
		t.want(c.In != l.In, "claim gives %v for %s: it has no work", c, when)
	}
}

func seqs(in []ports.Inbox) []int64 {
	var out []int64
	for _, m := range in {
		out = append(out, m.Seq)
	}
	return out
}
