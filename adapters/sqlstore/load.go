package sqlstore

import (
	"context"

	"dragoman/ports"
)

// What Load reads of a flood at most; the rest comes with the next Load.
const (
	maxWaiting = 256
	maxStops   = 64
)

// Load reads what there is to do in the conversation. See ports.Turns.
func (s *Store) Load(ctx context.Context, l ports.Lease) (ports.Work, error) {
	var out ports.Work
	err := s.view(ctx, "store load", func(ctx context.Context, t *session) error {
		row, err := s.fence(ctx, t, l)
		if err != nil {
			return err
		}
		out.Deaths, out.Changed = row.deaths, row.changed
		out.Waiting, err = inboxRows(ctx, t, `WHERE i.conv = $1 AND i.turn IS NULL ORDER BY i.seq`+limited(maxWaiting), l.In.String())
		if err != nil {
			return err
		}
		if len(out.Waiting) == maxWaiting { // a stop is heard also behind a flood
			stops, err := inboxRows(ctx, t, `WHERE i.conv = $1 AND i.turn IS NULL AND i.seq > $2 AND i.route = 'control' ORDER BY i.seq`+limited(maxStops),
				l.In.String(), out.Waiting[maxWaiting-1].Seq)
			if err != nil {
				return err
			}
			out.Waiting = append(out.Waiting, stops...)
		}
		turn := row.turn.ID
		if turn != "" {
			if err := loadTurn(ctx, t, row.turnRow, &out); err != nil {
				return err
			}
		} else if len(out.Waiting) > 0 {
			turn = ports.TurnID(l.In, out.Waiting[0].Seq) // its preview may have come before its row
		}
		_, err = t.get(ctx, `SELECT t.id FROM turn t WHERE t.conv = $1 AND t.state = 'done' AND t.lane = 1 AND `+notUndone("")+` ORDER BY t.seq DESC LIMIT 1`, []any{l.In.String()}, &out.Last)
		if err != nil {
			return err
		}
		var p ports.Preview
		found, err := t.get(ctx, `SELECT delivery, posted FROM outbox WHERE turn = $1 AND preview = 1 AND state = 'sent' ORDER BY id DESC LIMIT 1`,
			[]any{turn}, &p.ID, &p.Posted)
		if found {
			out.Preview = &p
		}
		return err
	})
	if err != nil {
		return ports.Work{}, err
	}
	return out, nil
}

func loadTurn(ctx context.Context, t *session, row turnRow, out *ports.Work) (err error) {
	out.Turn = row.unfinished()
	if out.Taken, err = inboxRows(ctx, t, `WHERE i.turn = $1 ORDER BY i.seq`, row.turn.ID); err != nil {
		return err
	}
	err = stepRows(ctx, t, func(_ string, st ports.Step) { out.Steps = append(out.Steps, st) }, `WHERE s.turn = $1 ORDER BY s.idx`, row.turn.ID)
	if err != nil {
		return err
	}
	if _, err = t.get(ctx, `SELECT `+goneSince+` FROM turn t WHERE t.id = $1`, []any{row.turn.ID}, &out.Gone); err != nil || row.turn.Question == "" {
		return err
	}
	out.Question, err = questionByID(ctx, t, row.turn.Question)
	return err
}

// notUndone is a condition on the turn t of conversation $1: no redo, of those that
// the condition among names, has undone it. It holds for turns that ran after the
// redo was stored as well, where their messages came before it. A redo that a turn
// before it has taken was taken back by a stop, and undoes nothing.
func notUndone(among string) string {
	return `NOT EXISTS (SELECT 1 FROM inbox r WHERE r.conv = $1 AND r.undoes > 0 AND r.seq > t.seq AND r.undoes <= t.seq` + among + `
		AND NOT EXISTS (SELECT 1 FROM turn b WHERE b.id = r.turn AND b.seq < r.seq))`
}

// goneSince is ports.Past.Gone of the turn t, as a column.
const goneSince = `COALESCE((SELECT MIN(x.seq) FROM inbox i JOIN turn x ON x.id = i.turn WHERE i.conv = t.conv AND i.gone > t.seq AND i.gone > 0), 0)`

// History reads the last finished turns of the lane, oldest first. See ports.Turns.
func (s *Store) History(ctx context.Context, l ports.Lease, limit int) ([]ports.Past, error) {
	last := `(SELECT t.id FROM turn t WHERE t.conv = $1 AND t.state = 'done' AND t.lane = 1 AND ` + notUndone("") + ` ORDER BY t.seq DESC` + limited(limit) + `)`
	var (
		out []ports.Past
		at  = map[string]int{} // turn to its place in out
	)
	err := s.view(ctx, "store history", func(ctx context.Context, t *session) error {
		if _, err := s.fence(ctx, t, l); err != nil {
			return err
		}
		err := t.each(ctx, `SELECT `+turnColumns+`, `+goneSince+` FROM turn t WHERE t.id IN `+last+` ORDER BY t.seq`,
			[]any{l.In.String()}, func(scan scanner) error {
				var row turnRow
				var gone int64
				if err := scan(append(row.dest(), &gone)...); err != nil {
					return err
				}
				row.turn.In = l.In
				at[row.turn.ID] = len(out)
				out = append(out, ports.Past{Turn: *row.unfinished(), Gone: gone})
				return nil
			})
		if err != nil {
			return err
		}
		messages, err := inboxRows(ctx, t, `WHERE i.turn IN `+last+` ORDER BY i.seq`, l.In.String())
		if err != nil {
			return err
		}
		for _, m := range messages {
			p := &out[at[m.Turn]]
			p.Inbox = append(p.Inbox, m)
		}
		return stepRows(ctx, t, func(turn string, st ports.Step) {
			p := &out[at[turn]]
			p.Steps = append(p.Steps, st)
		}, `WHERE s.turn IN `+last+` ORDER BY s.turn, s.idx`, l.In.String())
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Backlog counts what waits, of all conversations. See ports.Turns.
func (s *Store) Backlog(ctx context.Context) (b ports.Backlog, err error) {
	err = s.view(ctx, "store backlog", func(ctx context.Context, t *session) error {
		_, err := t.get(ctx, `SELECT (SELECT COUNT(*) FROM inbox WHERE turn IS NULL), (SELECT COUNT(*) FROM outbox WHERE state = 'pending')`,
			nil, &b.Inbox, &b.Outbox)
		return err
	})
	return b, err
}
