package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/ports"
)

// Pending reads the undelivered messages, in order. See ports.Turns.
func (s *Store) Pending(ctx context.Context, l ports.Lease) ([]ports.Delivery, error) {
	var out []ports.Delivery
	err := s.view(ctx, "store pending", func(ctx context.Context, t *session) error {
		if _, err := s.fence(ctx, t, l); err != nil {
			return err
		}
		return t.each(ctx, `SELECT o.delivery, o.question, o.edits, COALESCE(e.posted, ''), o.optional, o.tries, o.body, o.at
			FROM outbox o LEFT JOIN outbox e ON e.conv = o.conv AND e.delivery = o.edits
			WHERE o.conv = $1 AND o.state = 'pending' ORDER BY o.id`,
			[]any{l.In.String()}, func(scan scanner) error {
				var (
					d        ports.Delivery
					optional int
					body     string
					at       int64
				)
				if err := scan(&d.ID, &d.Question, &d.Edits, &d.EditID, &optional, &d.Tries, &body, &at); err != nil {
					return err
				}
				d.Optional = optional == 1
				if err := json.Unmarshal([]byte(body), &d.Out); err != nil {
					return fmt.Errorf("decode delivery %s: %w", d.ID, err)
				}
				d.Out.Since = moment(at)
				out = append(out, d)
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Delivered marks a delivery as posted or given up; the first receipt counts.
// KindNotFound: there is no such delivery and the id is no preview's of this
// conversation. See ports.Turns.
func (s *Store) Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error {
	return s.update(ctx, "store delivered", func(ctx context.Context, t *session) error {
		if _, err := s.fence(ctx, t, l); err != nil {
			return err
		}
		state := "sent"
		if r.Failed != "" {
			state = "failed"
		}
		var question string
		found, err := t.get(ctx, `UPDATE outbox SET state = $3, posted = $4, failed = $5, at = $6
			WHERE conv = $1 AND delivery = $2 AND state = 'pending' RETURNING question`,
			[]any{l.In.String(), id, state, string(r.ID), r.Failed, s.now()}, &question)
		if err != nil {
			return err
		}
		if !found {
			return s.preview(ctx, t, l, id, state, r)
		}
		switch {
		case question != "" && r.Failed == "":
			err = posted(ctx, t, question, r.ID)
		case question != "":
			err = unasked(ctx, t, question)
		}
		if err != nil {
			return err
		}
		return release(ctx, t, l.In.String())
	})
}

// preview makes the row of a message that was posted without one. It takes no
// work away, so it releases nothing.
func (s *Store) preview(ctx context.Context, t *session, l ports.Lease, id, state string, r ports.Receipt) error {
	conv := l.In.String()
	marked, err := t.get(ctx, `SELECT 1 FROM outbox WHERE conv = $1 AND delivery = $2`, []any{conv, id}, new(int))
	if err != nil || marked {
		return err
	}
	turn := ports.TurnOf(id)
	if !strings.HasPrefix(turn, conv+"#") {
		return fail(ports.KindNotFound, "conversation %s has no delivery %q", conv, id)
	}
	_, err = t.exec(ctx, `INSERT INTO outbox (conv, delivery, turn, preview, body, state, posted, failed, at)
		VALUES ($1, $2, $3, 1, '', $4, $5, $6, $7)`, conv, id, turn, state, string(r.ID), r.Failed, s.now())
	return err
}

func encodeDeliveries(ds []ports.Delivery) ([]string, error) {
	bodies := make([]string, len(ds))
	for i, d := range ds {
		if d.ID == "" {
			return nil, fail(ports.KindInvalid, "a delivery has no id")
		}
		body, err := json.Marshal(d.Out)
		if err != nil {
			return nil, fail(ports.KindInvalid, "encode delivery %s: %w", d.ID, err)
		}
		bodies[i] = string(body)
	}
	return bodies, nil
}

// addDeliveries appends to the conversation's outbox what is not there yet, and
// counts it.
func addDeliveries(ctx context.Context, t *session, conv string, ds []ports.Delivery, bodies []string, now int64) (added int64, err error) {
	for i, d := range ds {
		optional := 0
		if d.Optional {
			optional = 1
		}
		n, err := t.exec(ctx, `INSERT INTO outbox (conv, delivery, turn, question, edits, optional, tries, body, state, at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', $9) ON CONFLICT (conv, delivery) DO NOTHING`,
			conv, d.ID, ports.TurnOf(d.ID), d.Question, d.Edits, optional, d.Tries, bodies[i], now)
		if err != nil {
			return added, err
		}
		added += n
		if d.Edits == "" {
			continue
		}
		if _, err := t.exec(ctx, `UPDATE outbox SET preview = 0 WHERE conv = $1 AND delivery = $2`, conv, d.Edits); err != nil {
			return added, err
		}
	}
	return added, nil
}
