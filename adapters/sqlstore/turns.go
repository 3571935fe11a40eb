package sqlstore

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"dragoman/ports"
)

// Record adds to the running turn, or begins one. See ports.Turns.
func (s *Store) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	return s.change(ctx, "store record", turnChange{lease: l, Change: c})
}

// Park adds c with its question and leaves the turn waiting. See ports.Turns.
func (s *Store) Park(ctx context.Context, l ports.Lease, c ports.Change) error {
	const op = "store park"
	if c.Ask == nil {
		return ports.Errorf(ports.KindInvalid, op, "turn %s is to wait, but asks nothing", c.Turn)
	}
	return s.change(ctx, op, turnChange{lease: l, Change: c, state: ports.TurnParked})
}

// Finish adds c and ends the turn. A question of it that is still open is
// settled: superseded if the turn was, else stopped. See ports.Turns.
func (s *Store) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	const op = "store finish"
	if o == "" {
		return ports.Errorf(ports.KindInvalid, op, "turn %s is to end without an outcome", c.Turn)
	}
	return s.change(ctx, op, turnChange{lease: l, Change: c, state: ports.TurnDone, outcome: o})
}

func (s *Store) change(ctx context.Context, op string, c turnChange) error {
	if err := c.prepare(); err != nil {
		return wrap(op, err)
	}
	return s.update(ctx, op, func(ctx context.Context, t *session) error { return c.run(ctx, s, t) })
}

// turnChange is a ports.Change on its way in. state "" leaves the turn's as it is.
type turnChange struct {
	ports.Change
	lease   ports.Lease
	state   ports.TurnState
	outcome ports.Outcome

	conv   string
	bodies []string // of Deliveries
	ask    string   // body of Ask
}

// prepare does, on the caller's goroutine, what needs no row.
func (c *turnChange) prepare() error {
	c.conv = c.lease.In.String()
	if !strings.HasPrefix(c.Turn, c.conv+"#") {
		return fail(ports.KindInvalid, "turn %q is none of conversation %s", c.Turn, c.conv)
	}
	if c.Ask != nil {
		if c.Ask.Turn != c.Turn || c.Ask.State != ports.QuestionOpen || c.Ask.ID == "" {
			return fail(ports.KindInvalid, "question %q is no open one of turn %s", c.Ask.ID, c.Turn)
		}
		body, err := json.Marshal(c.Ask)
		if err != nil {
			return fail(ports.KindInvalid, "encode question %s: %w", c.Ask.ID, err)
		}
		c.ask = string(body)
	}
	var err error
	c.bodies, err = encodeDeliveries(c.Deliveries)
	return err
}

func (c turnChange) run(ctx context.Context, s *Store, t *session) error {
	conv, err := s.fence(ctx, t, c.lease)
	if err != nil {
		return err
	}
	row, now := conv.turnRow, s.now()
	switch row.turn.ID {
	case "":
		if row, err = c.begin(ctx, t, now); err != nil {
			return err
		}
	case c.Turn:
	default:
		return fail(ports.KindInternal, "turn %s cannot go on while %s is unfinished", c.Turn, row.turn.ID)
	}
	if err := c.take(ctx, t); err != nil {
		return err
	}
	steps, err := c.addSteps(ctx, t, row.steps, now)
	if err != nil {
		return err
	}
	if err := c.book(ctx, t, row.steps, steps, now); err != nil {
		return err
	}
	if again := len(c.Steps) > 0 && steps == row.steps; !again {
		if err := c.audit(ctx, t, now); err != nil {
			return err
		}
	}
	next, err := c.advance(ctx, t, row, steps, now)
	if err != nil {
		return err
	}
	if grew := steps > row.steps || next != ports.TurnRunning; grew && (conv.trial > 0 || conv.deaths.All > 0) {
		if err := acquit(ctx, t, c.conv); err != nil {
			return err
		}
	}
	added, err := addDeliveries(ctx, t, c.conv, c.Deliveries, c.bodies, now)
	if err != nil || added > 0 || next == ports.TurnRunning {
		return err
	}
	return release(ctx, t, c.conv)
}

// begin makes the turn's row, whose id must be that of its first message. If
// the turn is over already this is a write made again: its row is returned.
func (c turnChange) begin(ctx context.Context, t *session, now int64) (turnRow, error) {
	row := turnRow{turn: ports.Turn{ID: c.Turn, In: c.lease.In, Person: c.Person, State: ports.TurnRunning}}
	seq, err := strconv.ParseInt(c.Turn[len(c.conv)+1:], 10, 64)
	if err != nil {
		return row, fail(ports.KindInvalid, "turn %q has no message's seq in its id", c.Turn)
	}
	n, err := t.exec(ctx, `INSERT INTO turn (id, conv, seq, lane, person, state, started)
		SELECT $1, conv, seq, CASE WHEN route = 'lane' THEN 1 ELSE 0 END, $4, 'run', $5
		FROM inbox WHERE conv = $2 AND seq = $3 AND turn IS NULL
		ON CONFLICT (id) DO NOTHING`, c.Turn, c.conv, seq, string(c.Person), now)
	if err != nil {
		return row, err
	}
	if n == 1 {
		for _, take := range c.Take {
			if take == seq {
				return row, nil
			}
		}
		return row, fail(ports.KindInvalid, "turn %s does not take the message that it begins with", c.Turn)
	}
	found, err := t.get(ctx, `SELECT `+turnColumns+` FROM turn t WHERE t.id = $1`, []any{c.Turn}, row.dest()...)
	if err != nil {
		return row, err
	}
	if !found {
		return row, fail(ports.KindInvalid, "message %d of %s does not wait: no turn can begin with it", seq, c.conv)
	}
	if row.turn.Outcome != c.outcome {
		return row, fail(ports.KindInternal, "turn %s is over (%s)", c.Turn, row.turn.Outcome)
	}
	return row, nil
}

func (c turnChange) take(ctx context.Context, t *session) error {
	for _, seq := range c.Take {
		n, err := t.exec(ctx, `UPDATE inbox SET turn = $1 WHERE conv = $2 AND seq = $3 AND (turn = $1 OR turn IS NULL AND changed <= $4)`,
			c.Turn, c.conv, seq, c.Changed)
		if err != nil {
			return err
		}
		if n == 0 {
			return c.cannotTake(ctx, t, seq)
		}
	}
	return nil
}

// cannotTake says why a message is not the turn's.
func (c turnChange) cannotTake(ctx context.Context, t *session, seq int64) error {
	waits, err := t.get(ctx, `SELECT 1 FROM inbox WHERE conv = $1 AND seq = $2 AND turn IS NULL`, []any{c.conv, seq}, new(int))
	switch {
	case err != nil:
		return err
	case waits:
		return fail(ports.KindConflict, "message %d of %s was changed since it was read for turn %s", seq, c.conv, c.Turn)
	}
	return fail(ports.KindInternal, "message %d of %s does not wait for turn %s", seq, c.conv, c.Turn)
}

// addSteps adds the steps behind the have that are there, and returns how many there are then.
func (c turnChange) addSteps(ctx context.Context, t *session, have int, now int64) (int, error) {
	for _, st := range c.Steps {
		switch {
		case st.Index > have || st.Index < 0:
			return 0, fail(ports.KindInternal, "step %d of turn %s leaves a gap: it has %d", st.Index, c.Turn, have)
		case st.Index < have:
			if err := c.sameStep(ctx, t, st); err != nil {
				return 0, err
			}
		default:
			if _, err := t.exec(ctx, `INSERT INTO step (turn, idx, kind, call, body, at) VALUES ($1, $2, $3, $4, $5, $6)`,
				c.Turn, st.Index, string(st.Kind), st.Call, string(st.Body), now); err != nil {
				return 0, err
			}
			have++
		}
	}
	return have, nil
}

func (c turnChange) sameStep(ctx context.Context, t *session, st ports.Step) error {
	same, err := t.get(ctx, `SELECT 1 FROM step WHERE turn = $1 AND idx = $2 AND kind = $3 AND call = $4 AND body = $5`,
		[]any{c.Turn, st.Index, string(st.Kind), st.Call, string(st.Body)}, new(int))
	if err == nil && !same {
		return fail(ports.KindInternal, "step %d of turn %s is there with other content", st.Index, c.Turn)
	}
	return err
}

// audit adds to the audit. Entries have no key: a write made again is known by
// its steps.
func (c turnChange) audit(ctx context.Context, t *session, now int64) error {
	for _, e := range c.Audit {
		if err := appendAudit(ctx, t, e, now); err != nil {
			return err
		}
	}
	return nil
}

// hurry brings the question's expiry near if somebody else waits already.
func (c *turnChange) hurry(ctx context.Context, t *session, now int64) error {
	latest := moment(now).Add(c.Ask.GroupWait)
	if !c.Ask.Expires.After(latest) {
		return nil
	}
	others, err := t.get(ctx, `SELECT 1 FROM inbox WHERE conv = $1 AND turn IS NULL AND person <> $2 LIMIT 1`,
		[]any{c.conv, string(c.Ask.Person)}, new(int))
	if err != nil || !others {
		return err
	}
	ask := *c.Ask
	ask.Expires = latest
	body, err := json.Marshal(ask)
	c.Ask, c.ask = &ask, string(body)
	return err
}

// advance brings the turn's row up to date and returns the state it is in then.
func (c *turnChange) advance(ctx context.Context, t *session, row turnRow, steps int, now int64) (ports.TurnState, error) {
	next, question := row.turn.State, row.turn.Question
	if c.state == ports.TurnDone {
		next = ports.TurnDone
	}
	if c.Ask != nil {
		if err := c.hurry(ctx, t, now); err != nil {
			return next, err
		}
		added, err := addQuestion(ctx, t, *c.Ask, c.ask)
		if err != nil {
			return next, err
		}
		if added { // else a write made again: the question may be settled by now
			question = c.Ask.ID
			if c.state != "" {
				next = c.state
			}
		}
	}
	if next == row.turn.State && question == row.turn.Question && steps == row.steps {
		return next, nil
	}
	var finished int64
	if next == ports.TurnDone {
		finished = now
		if err := closeQuestion(ctx, t, question, c.outcome); err != nil {
			return next, err
		}
	}
	_, err := t.exec(ctx, `UPDATE turn SET state = $2, outcome = $3, question = $4, steps = $5, finished = $6 WHERE id = $1`,
		c.Turn, string(next), string(c.outcome), question, steps, finished)
	return next, err
}
