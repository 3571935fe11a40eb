package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"dragoman/ports"
)

// redo has the messages of the earlier message's turn wait anew, in the place of the
// message that asks for it, and takes that turn and all after it out of the history.
func (a *accepting) redo(ctx context.Context, s ports.Sight, r ports.Route) error {
	e := s.Earlier
	if e == nil || e.Turn == "" || e.Running || r.Kind != ports.RouteLane {
		return fail(ports.KindInvalid, "event %s is to redo a turn that there is not", s.Message.Event)
	}
	conv := s.Message.In.String()
	var first int64
	if _, err := a.t.get(ctx, `SELECT seq FROM turn WHERE id = $1`, []any{e.Turn}, &first); err != nil {
		return err
	}
	undone, err := a.t.get(ctx, `SELECT 1 FROM turn t WHERE t.id = $2 AND NOT `+notUndone(""), []any{conv, e.Turn}, new(int))
	if err != nil {
		return err
	}
	if undone { // what stands in its place, and after that, stays
		first = s.Seq
	}
	again, err := a.asTheyRead(ctx, e.Turn)
	if err != nil {
		return err
	}
	at, event := s, s.Message.Event
	for i, m := range again {
		m.Event, m.At, m.Reply = event, s.Message.At, s.Message.Reply
		if i > 0 {
			m.Event = fmt.Sprintf("%s+%d", event, i)
		}
		at.Message, at.Seq = m, s.Seq+int64(i)
		body, err := json.Marshal(m)
		if err != nil {
			return fail(ports.KindInvalid, "encode the message of event %s: %w", m.Event, err)
		}
		if err := a.store(ctx, at, r, string(body)); err != nil {
			return err
		}
	}
	if _, err := a.t.exec(ctx, `UPDATE inbox SET undoes = $3 WHERE conv = $1 AND seq = $2`, conv, s.Seq, first); err != nil {
		return err
	}
	return a.changedBy(ctx, s)
}

// asTheyRead are the messages that a turn's person wrote, each once, in their order
// and with their latest words. None of them is one that was deleted.
func (a *accepting) asTheyRead(ctx context.Context, turn string) ([]ports.Message, error) {
	rows, err := inboxRows(ctx, a.t, `WHERE i.turn = $1 AND i.route = 'lane' ORDER BY i.seq`, turn)
	if err != nil {
		return nil, err
	}
	var list []ports.Message
	seen := map[ports.MessageID]bool{}
	for _, row := range rows {
		if row.ID != "" && seen[row.ID] || row.Change == ports.ChangeDelete {
			continue
		}
		seen[row.ID] = true
		m := row.Message
		if row.ID != "" {
			now, err := inboxRows(ctx, a.t, `WHERE i.channel = $1 AND i.message = $2 ORDER BY i.seq DESC LIMIT 1`, m.In.Channel, string(m.ID))
			if err != nil {
				return nil, err
			}
			m.Text, m.Attachments = now[0].Text, now[0].Attachments
		}
		m.Change = ""
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil, fail(ports.KindInvalid, "nothing is left of turn %s to be done again", turn)
	}
	return list, nil
}
