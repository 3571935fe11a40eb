package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"dragoman/ports"
)

// mayRun is an SQL condition: does the conversation with this id have something
// to run? While a turn is parked its lane's messages may not run; a control
// message always may.
func mayRun(id string) string {
	return `(EXISTS (SELECT 1 FROM turn WHERE conv = ` + id + ` AND state <> 'done' AND state = 'run')
	OR EXISTS (SELECT 1 FROM inbox WHERE conv = ` + id + ` AND turn IS NULL AND route = 'control')
	OR (EXISTS (SELECT 1 FROM inbox WHERE conv = ` + id + ` AND turn IS NULL)
		AND NOT EXISTS (SELECT 1 FROM turn WHERE conv = ` + id + ` AND state <> 'done')))`
}

// hasWork is an SQL condition: does conversation $1 have work?
var hasWork = `(EXISTS (SELECT 1 FROM outbox WHERE conv = $1 AND state = 'pending') OR ` + mayRun("$1") + `)`

// release gives the conversation up if it has no work left.
func release(ctx context.Context, t *session, conv string) error {
	_, err := t.exec(ctx, `UPDATE conv SET ready = 0, owner = NULL WHERE id = $1 AND NOT `+hasWork, conv)
	return err
}

// wake notes that the conversation got something new. If it has work it is
// claimed, unless it is owned, and its lease added to what is told if the owner is
// this process.
func (s *Store) wake(ctx context.Context, t *session, conv string, tell *ports.Accepted) error {
	var (
		l      ports.Lease
		owner  *string
		unsent bool
	)
	found, err := t.get(ctx, `UPDATE conv SET
			ready = w.work,
			owner = CASE WHEN w.work = 1 THEN COALESCE(owner, $2) END,
			epoch = CASE WHEN w.work = 1 AND owner IS NULL THEN epoch + 1 ELSE epoch END,
			news = news + 1,
			told = CASE WHEN w.work = 1 AND COALESCE(owner, $2) = $2 THEN news + 1 ELSE told END
		FROM (SELECT CASE WHEN `+hasWork+` THEN 1 ELSE 0 END AS work) AS w
		WHERE id = $1
		RETURNING channel, chat, thread, owner, epoch, EXISTS (SELECT 1 FROM outbox WHERE conv = $1 AND state = 'pending')`,
		[]any{conv, s.node}, &l.In.Channel, &l.In.Chat, &l.In.Thread, &owner, &l.Epoch, &unsent)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("conversation %s has no row", conv)
	case owner != nil && *owner == s.node:
		tell.Leases = append(tell.Leases, l)
		tell.Unsent = tell.Unsent || unsent
	}
	return nil
}

// ensureConv makes the conversation's row if it is not there.
func ensureConv(ctx context.Context, t *session, in ports.Conversation) error {
	_, err := t.exec(ctx, `INSERT INTO conv (id, channel, chat, thread) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`,
		in.String(), in.Channel, in.Chat, in.Thread)
	return err
}

// held is what is read of a conversation on the way through its fence.
type held struct {
	turnRow // the unfinished turn; ID "": none
	deaths  ports.Deaths
	trial   int
	changed int64
}

// fence refuses whoever does not own the conversation under this lease.
func (s *Store) fence(ctx context.Context, t *session, l ports.Lease) (held, error) {
	var r held
	found, err := t.get(ctx, `SELECT `+turnColumns+`, c.deaths, c.alone, c.trial, c.changed
		FROM conv c LEFT JOIN turn t ON t.conv = c.id AND t.state <> 'done'
		WHERE c.id = $1 AND c.epoch = $2 AND c.owner = $3`,
		[]any{l.In.String(), l.Epoch, s.node}, append(r.dest(), &r.deaths.All, &r.deaths.Alone, &r.trial, &r.changed)...)
	if err != nil {
		return held{}, err
	}
	if !found {
		return held{}, fail(ports.KindFenced, "conversation %s is no longer held with epoch %d", l.In, l.Epoch)
	}
	r.turn.In = l.In
	return r, nil
}

// Claim takes conversations with work that nobody owns, then tells of own ones
// with news. See ports.Turns.
func (s *Store) Claim(ctx context.Context, limit int) ([]ports.Lease, error) {
	var out []ports.Lease
	err := s.update(ctx, "store claim", func(ctx context.Context, t *session) error {
		out = nil
		take := func(scan scanner) error {
			var l ports.Lease
			if err := scan(&l.In.Channel, &l.In.Chat, &l.In.Thread, &l.Epoch); err != nil {
				return err
			}
			out = append(out, l)
			return nil
		}
		mine, args := s.mine("channel", s.node, limit)
		err := t.each(ctx, `UPDATE conv SET owner = $1, epoch = epoch + 1, told = news
			WHERE id IN (SELECT id FROM conv WHERE ready = 1 AND owner IS NULL`+mine+` LIMIT $2)
			RETURNING channel, chat, thread, epoch`, args, take)
		if err != nil || len(out) >= limit {
			return err
		}
		return t.each(ctx, `UPDATE conv SET told = news
			WHERE id IN (SELECT id FROM conv WHERE owner = $1 AND told < news LIMIT $2)
			RETURNING channel, chat, thread, epoch`, []any{s.node, limit - len(out)}, take)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// mine is an SQL condition, to be added, that holds for the channels which this
// process works for; args are those of the statement with its own behind them.
func (s *Store) mine(column string, args ...any) (condition string, all []any) {
	if len(s.only) == 0 {
		return "", args
	}
	marks := make([]string, len(s.only))
	for i, channel := range s.only {
		args = append(args, channel)
		marks[i] = fmt.Sprintf("$%d", len(args))
	}
	return " AND " + column + " IN (" + strings.Join(marks, ", ") + ")", args
}
