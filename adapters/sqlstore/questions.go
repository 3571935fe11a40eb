package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"dragoman/ports"
)

// Question reads one question. See ports.Questions.
func (s *Store) Question(ctx context.Context, id string) (ports.Question, error) {
	var out ports.Question
	err := s.view(ctx, "store question", func(ctx context.Context, t *session) error {
		q, err := questionByID(ctx, t, id)
		if err != nil {
			return err
		}
		if q == nil {
			return fail(ports.KindNotFound, "there is no question %q", id)
		}
		out = *q
		return nil
	})
	return out, err
}

// Expire settles open questions whose time is over, the oldest first, and wakes
// their turns. See ports.Questions.
func (s *Store) Expire(ctx context.Context, limit int) (ports.Accepted, error) {
	var out ports.Accepted
	err := s.update(ctx, "store expire", func(ctx context.Context, t *session) error {
		out = ports.Accepted{}
		var due []ports.Question
		mine, args := s.mine("(SELECT channel FROM conv WHERE id = question.conv)", s.now(), limit)
		err := t.each(ctx, `SELECT body FROM question WHERE state = 'open' AND expires > 0 AND expires <= $1`+mine+` ORDER BY expires LIMIT $2`,
			args, func(scan scanner) error {
				var body string
				if err := scan(&body); err != nil {
					return err
				}
				q, err := decodeQuestion(&body)
				if err == nil {
					due = append(due, *q)
				}
				return err
			})
		if err != nil {
			return err
		}
		for _, q := range due {
			q.State = ports.QuestionExpired
			conv, err := writeBack(ctx, t, q)
			if err != nil {
				return err
			}
			if err := s.wake(ctx, t, conv, &out); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return ports.Accepted{}, err
	}
	return out, nil
}

// addQuestion reports false if the question is there already.
func addQuestion(ctx context.Context, t *session, q ports.Question, body string) (bool, error) {
	n, err := t.exec(ctx, `INSERT INTO question (id, conv, turn, state, expires, body) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO NOTHING`, q.ID, q.In.String(), q.Turn, string(q.State), millis(q.Expires), body)
	return n == 1, err
}

// offer stores a question that nothing waits for, or in place of one of its id that is
// not answered.
func offer(ctx context.Context, t *session, q ports.Question) error {
	if q.State != ports.QuestionOffered {
		return fail(ports.KindInvalid, "question %s is %s, and not offered", q.ID, q.State)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return fail(ports.KindInvalid, "encode question %s: %w", q.ID, err)
	}
	_, err = t.exec(ctx, `INSERT INTO question (id, conv, turn, state, expires, body) VALUES ($1, $2, $3, $4, 0, $5)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, body = excluded.body WHERE question.state <> 'answered'`, q.ID, q.In.String(), q.Turn, string(q.State), string(body))
	return err
}

// writeBack replaces an open question; one that is settled stays as it is, so
// that of answer, supersede and expiry one wins. Settling it wakes its turn.
// It returns the conversation of the turn if the question was settled by this.
func writeBack(ctx context.Context, t *session, q ports.Question) (conv string, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return "", fail(ports.KindInvalid, "encode question %s: %w", q.ID, err)
	}
	var turn string
	found, err := t.get(ctx, `UPDATE question SET state = $2, expires = $3, body = $4 WHERE id = $1 AND state IN ('open', 'offered') RETURNING turn`,
		[]any{q.ID, string(q.State), millis(q.Expires), string(body)}, &turn)
	if err != nil || !found || q.State == ports.QuestionOpen {
		return "", err
	}
	_, err = t.get(ctx, `UPDATE turn SET state = CASE WHEN state = 'wait' THEN 'run' ELSE state END WHERE id = $1 RETURNING conv`,
		[]any{turn}, &conv)
	return conv, err
}

// closeQuestion settles the question that a turn leaves open when it ends.
func closeQuestion(ctx context.Context, t *session, id string, o ports.Outcome) error {
	if id == "" {
		return nil
	}
	q, err := questionByID(ctx, t, id)
	if err != nil || q == nil || q.State != ports.QuestionOpen {
		return err
	}
	q.State = ports.QuestionStopped
	if o == ports.OutcomeSuperseded {
		q.State = ports.QuestionSuperseded
	}
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `UPDATE question SET state = $2, body = $3 WHERE id = $1`, id, string(q.State), string(body))
	return err
}

// unasked settles a question whose prompt was given up. Its turn goes on, and
// the next Claim tells so.
func unasked(ctx context.Context, t *session, id string) error {
	q, err := questionByID(ctx, t, id)
	if err != nil || q == nil {
		return err
	}
	q.State = ports.QuestionExpired
	conv, err := writeBack(ctx, t, *q)
	if err != nil || conv == "" {
		return err
	}
	_, err = t.exec(ctx, `UPDATE conv SET news = news + 1 WHERE id = $1`, conv)
	return err
}

// posted notes what the question's prompt was posted as.
func posted(ctx context.Context, t *session, id string, as ports.MessageID) error {
	q, err := questionByID(ctx, t, id)
	if err != nil || q == nil {
		return err
	}
	q.Posted = as
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `UPDATE question SET body = $2 WHERE id = $1`, id, string(body))
	return err
}

// questionByID is nil if there is none.
func questionByID(ctx context.Context, t *session, id string) (*ports.Question, error) {
	var body *string
	if _, err := t.get(ctx, `SELECT body FROM question WHERE id = $1`, []any{id}, &body); err != nil {
		return nil, err
	}
	return decodeQuestion(body)
}

func decodeQuestion(body *string) (*ports.Question, error) {
	if body == nil {
		return nil, nil
	}
	q := new(ports.Question)
	if err := json.Unmarshal([]byte(*body), q); err != nil {
		return nil, fmt.Errorf("decode a stored question: %w", err)
	}
	return q, nil
}
