package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"dragoman/ports"
)

// Cursor reads the channel's last stored cursor. See ports.Turns.
func (s *Store) Cursor(ctx context.Context, channel string) (cursor string, err error) {
	err = s.view(ctx, "store cursor", func(ctx context.Context, t *session) error {
		_, err := t.get(ctx, `SELECT cursor FROM cursor WHERE channel = $1`, []any{channel}, &cursor)
		return err
	})
	return cursor, err
}

// Accept stores a batch and its cursor in one commit. See ports.Turns. The epoch
// of src, if any, is that of the lease whose name is the channel's. KindInvalid:
// a message is of another channel, has no event, or its route makes no sense.
func (s *Store) Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error) {
	const op = "store accept"
	bodies, err := encodeMessages(src, b.Messages)
	if err != nil {
		return ports.Accepted{}, wrap(op, err)
	}
	var out ports.Accepted
	err = s.update(ctx, op, func(ctx context.Context, t *session) error {
		a := accepting{Store: s, t: t, route: route, changed: map[string]bool{}}
		if err := a.run(ctx, src, b, bodies); err != nil {
			return err
		}
		out = a.out
		return nil
	})
	if err != nil {
		return ports.Accepted{}, err
	}
	return out, nil
}

func encodeMessages(src ports.Source, messages []ports.Message) ([]string, error) {
	bodies := make([]string, len(messages))
	for i, m := range messages {
		switch {
		case m.In.Channel != src.Channel:
			return nil, fail(ports.KindInvalid, "a message of channel %q came in on %q", m.In.Channel, src.Channel)
		case m.Event == "":
			return nil, fail(ports.KindInvalid, "a message of %s has no event", m.In)
		}
		body, err := encodeMessage(m)
		if err != nil {
			return nil, err
		}
		bodies[i] = body
	}
	return bodies, nil
}

func encodeMessage(m ports.Message) (string, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return "", fail(ports.KindInvalid, "encode the message of event %s: %w", m.Event, err)
	}
	return string(body), nil
}

// accepting is one run of Accept.
type accepting struct {
	*Store
	t       *session
	route   func(ports.Sight) ports.Route
	changed map[string]bool // conversations that got something new
	order   []string        // the same, in order
	out     ports.Accepted
	failed  error // of a read that the route function asked for
}

func (a *accepting) run(ctx context.Context, src ports.Source, b ports.Batch, bodies []string) error {
	if err := a.fenceSource(ctx, src); err != nil {
		return err
	}
	for i, m := range b.Messages {
		if err := a.message(ctx, m, bodies[i]); err != nil {
			return err
		}
	}
	if b.Cursor != "" {
		if _, err := a.t.exec(ctx, `INSERT INTO cursor (channel, cursor) VALUES ($1, $2)
			ON CONFLICT (channel) DO UPDATE SET cursor = excluded.cursor`, src.Channel, b.Cursor); err != nil {
			return err
		}
	}
	for _, conv := range a.order {
		if err := a.wake(ctx, a.t, conv, &a.out); err != nil {
			return err
		}
	}
	return nil
}

func (a *accepting) fenceSource(ctx context.Context, src ports.Source) error {
	if src.Epoch == 0 {
		return nil
	}
	held, err := holds(ctx, a.t, src.Channel, src.Epoch, a.node)
	if err == nil && !held {
		return fail(ports.KindFenced, "channel %s is no longer held with epoch %d", src.Channel, src.Epoch)
	}
	return err
}

func (a *accepting) message(ctx context.Context, m ports.Message, body string) error {
	var conv string
	seen, err := a.t.get(ctx, `SELECT conv FROM inbox WHERE channel = $1 AND event = $2`, []any{m.In.Channel, m.Event}, &conv)
	if err != nil {
		return err
	}
	if seen { // whoever stored it may not have heard that it did
		a.out.Seen++
		a.mark(conv)
		return nil
	}
	if gone, err := a.quotesDeleted(ctx, m); err != nil {
		return err
	} else if gone {
		m.Quote = nil
		if body, err = encodeMessage(m); err != nil {
			return err
		}
	}
	sight, err := a.sight(ctx, m)
	if err != nil {
		return err
	}
	m.In = sight.Message.In // a change is where its message is
	r := a.route(sight)
	if a.failed != nil {
		return a.failed
	}
	if r.Drop {
		a.out.Dropped++
	} else {
		store := func() error { return a.store(ctx, sight, r, body) }
		if r.Redo {
			store = func() error { return a.redo(ctx, sight, r) }
		}
		if err := store(); err != nil {
			return err
		}
		if err := a.rewrite(ctx, sight, r); err != nil {
			return err
		}
		a.out.Stored++
		a.mark(m.In.String())
	}
	if r.Offer != nil {
		if err := offer(ctx, a.t, *r.Offer); err != nil {
			return err
		}
	}
	for _, q := range []*ports.Question{r.Question, r.Also} {
		if q == nil {
			continue
		}
		conv, err := writeBack(ctx, a.t, *q)
		if err != nil {
			return err
		}
		if conv != "" {
			a.mark(conv)
		}
	}
	return a.deliver(ctx, m.In, r.Deliveries)
}

// sight reads what the route function may look at, with what earlier messages
// of the batch did.
func (a *accepting) sight(ctx context.Context, m ports.Message) (ports.Sight, error) {
	var pressed *ports.Question
	if m.Choice != nil {
		var err error
		if pressed, err = questionByID(ctx, a.t, m.Choice.Question); err != nil {
			return ports.Sight{}, err
		}
	}
	earlier, err := a.earlier(ctx, &m, pressed)
	if err != nil {
		return ports.Sight{}, err
	}
	out := ports.Sight{Message: m, Seq: 1, Pressed: pressed, Earlier: earlier,
		Waiting:  func() int { return a.waiting(ctx, m.In.String()) },
		Question: func(id string) *ports.Question { return a.question(ctx, id) }}
	var (
		row  turnRow
		open *string
		seq  int64
	)
	found, err := a.t.get(ctx, `SELECT `+turnColumns+`, c.seq, q.body
		FROM conv c
		LEFT JOIN turn t ON t.conv = c.id AND t.state <> 'done'
		LEFT JOIN question q ON q.conv = c.id AND q.state = 'open'
		WHERE c.id = $1`, []any{m.In.String()}, append(row.dest(), &seq, &open)...)
	if err != nil {
		return out, err
	}
	if found {
		row.turn.In = m.In
		out.Seq, out.Turn = seq+1, row.unfinished()
	}
	out.Open, err = decodeQuestion(open)
	return out, err
}

// waiting counts the conversation's messages of no turn yet.
func (a *accepting) waiting(ctx context.Context, conv string) (n int) {
	_, err := a.t.get(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE conv = $1 AND turn IS NULL LIMIT $2) AS waiting`, []any{conv, ports.MaxCounted}, &n)
	if err != nil {
		a.failed = err
	}
	return n
}

// question reads a question for the route function.
func (a *accepting) question(ctx context.Context, id string) *ports.Question {
	q, err := questionByID(ctx, a.t, id)
	if err != nil {
		a.failed = err
	}
	return q
}

// store puts the message into the inbox, with the turn that its route gives it to.
func (a *accepting) store(ctx context.Context, sight ports.Sight, r ports.Route, body string) error {
	in, conv, now := sight.Message.In, sight.Message.In.String(), a.now()
	if sight.Seq == 1 {
		if err := ensureConv(ctx, a.t, in); err != nil {
			return err
		}
	}
	var turn any // NULL: it waits
	switch r.Kind {
	case ports.RouteLane, ports.RouteControl:
	case ports.RouteAnswer:
		if r.Question == nil || r.Question.Turn == "" {
			return fail(ports.KindInvalid, "an answer was routed without its question (event %s)", sight.Message.Event)
		}
		turn = r.Question.Turn
	case ports.RouteReply:
		id := ports.TurnID(in, sight.Seq)
		turn = id
		if _, err := a.t.exec(ctx, `INSERT INTO turn (id, conv, seq, lane, person, state, outcome, started, finished)
			VALUES ($1, $2, $3, 0, $4, 'done', 'answered', $5, $5)`, id, conv, sight.Seq, string(r.Person), now); err != nil {
			return err
		}
	default:
		return fail(ports.KindInvalid, "there is no route %q", r.Kind)
	}
	if _, err := a.t.exec(ctx, `INSERT INTO inbox (conv, seq, channel, event, message, route, person, turn, received, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		conv, sight.Seq, in.Channel, sight.Message.Event, messageKey(sight.Message), string(r.Kind), string(r.Person), turn, now, body); err != nil {
		return err
	}
	_, err := a.t.exec(ctx, `UPDATE conv SET seq = $2 WHERE id = $1`, conv, sight.Seq)
	return err
}

func (a *accepting) deliver(ctx context.Context, in ports.Conversation, ds []ports.Delivery) error {
	if len(ds) == 0 {
		return nil
	}
	bodies, err := encodeDeliveries(ds)
	if err != nil {
		return err
	}
	if err := ensureConv(ctx, a.t, in); err != nil {
		return err
	}
	added, err := addDeliveries(ctx, a.t, in.String(), ds, bodies, a.now())
	if added > 0 {
		a.mark(in.String())
	}
	return err
}

func (a *accepting) mark(conv string) {
	if !a.changed[conv] {
		a.changed[conv] = true
		a.order = append(a.order, conv)
	}
}

func decodeMessage(body string) (ports.Message, error) {
	var m ports.Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, fmt.Errorf("decode a stored message: %w", err)
	}
	return m, nil
}
