package sqlstore

import (
	"context"
	"encoding/json"
	"slices"

	"dragoman/ports"
)

// forget leaves of a message, and of its edits, that there was one, and takes away
// its artifacts and what others quote of it.
func (a *accepting) forget(ctx context.Context, s ports.Sight) error {
	rows, err := a.seenAs(ctx, s)
	if err != nil {
		return err
	}
	var quoted []ports.MessageID
	for _, row := range rows {
		if !slices.Contains(quoted, row.ID) {
			quoted = append(quoted, row.ID)
		}
		if row.Seq == s.Seq {
			continue // the deletion itself, which says nothing: whoever has read it goes by it
		}
		m := row.Message
		m.Text, m.Attachments, m.Quote, m.Change = "", nil, nil, ports.ChangeDelete
		if err := a.overwrite(ctx, s, row.Seq, m, s.Seq); err != nil {
			return err
		}
		if _, err := a.t.exec(ctx, `DELETE FROM artifact WHERE conv = $1 AND message = $2`, s.Message.In.String(), row.Seq); err != nil {
			return err
		}
		answers, err := a.answersAlone(ctx, row.Turn)
		if err != nil {
			return err
		}
		quoted = append(quoted, answers...)
	}
	for _, id := range quoted {
		if err := a.unquote(ctx, s, id); err != nil {
			return err
		}
	}
	return a.changedBy(ctx, s)
}

// seenAs are the rows of the earlier message, and of all others of its album.
func (a *accepting) seenAs(ctx context.Context, s ports.Sight) ([]ports.Inbox, error) {
	id, album := s.Earlier.ID, s.Earlier.Album
	rows, err := inboxRows(ctx, a.t, `WHERE i.channel = $1 AND i.message = $2`, s.Message.In.Channel, string(id))
	if err != nil || album == "" || s.Message.Change == ports.ChangeDelete { // a platform that tells of deletions tells of each
		return rows, err
	}
	key, err := json.Marshal(album)
	if err != nil {
		return nil, fail(ports.KindInvalid, "encode the album %q: %w", album, err)
	}
	others, err := inboxRows(ctx, a.t, `WHERE i.conv = $1 AND i.body LIKE $2`, s.Message.In.String(), `%"album":`+string(key)+`%`)
	for _, row := range others {
		if row.Album == album && row.ID != id {
			rows = append(rows, row)
		}
	}
	return rows, err
}

// answersAlone are what was posted in a turn of which nothing is left that a person
// said.
func (a *accepting) answersAlone(ctx context.Context, turn string) (list []ports.MessageID, err error) {
	if gone, err := a.deletedWhole(ctx, turn); err != nil || !gone {
		return nil, err
	}
	err = a.t.each(ctx, `SELECT posted FROM outbox WHERE turn = $1 AND posted <> ''`, []any{turn}, func(scan scanner) error {
		var id string
		err := scan(&id)
		list = append(list, ports.MessageID(id))
		return err
	})
	return list, err
}

// deletedWhole reports whether all that was said in a turn was deleted.
func (a *accepting) deletedWhole(ctx context.Context, turn string) (bool, error) {
	rows, err := inboxRows(ctx, a.t, `WHERE i.turn = $1 AND i.route = 'lane'`, turn)
	kept := func(row ports.Inbox) bool { return row.Change != ports.ChangeDelete }
	return len(rows) > 0 && !slices.ContainsFunc(rows, kept), err
}

// unquote takes away what messages of the conversation quote of one that they reply
// to. What was made of them, as a summary, may tell of it as well.
func (a *accepting) unquote(ctx context.Context, s ports.Sight, id ports.MessageID) error {
	key, err := json.Marshal(id)
	if err != nil {
		return fail(ports.KindInvalid, "encode the message id %q: %w", id, err)
	}
	rows, err := inboxRows(ctx, a.t, `WHERE i.conv = $1 AND i.body LIKE $2`, s.Message.In.String(), `%"reply_to":`+string(key)+`%`)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.ReplyTo != id || row.Quote == nil {
			continue
		}
		m := row.Message
		m.Quote = nil
		if err := a.overwrite(ctx, s, row.Seq, m, s.Seq); err != nil {
			return err
		}
	}
	return nil
}

// quotesDeleted reports whether m quotes a message that was deleted, or what was said
// to such messages alone: a platform may still have it.
func (a *accepting) quotesDeleted(ctx context.Context, m ports.Message) (bool, error) {
	if m.Quote == nil || m.ReplyTo == "" {
		return false, nil
	}
	rows, err := inboxRows(ctx, a.t, `WHERE i.channel = $1 AND i.message = $2 ORDER BY i.seq DESC LIMIT 1`, m.In.Channel, string(m.ReplyTo))
	if err != nil || len(rows) > 0 {
		return len(rows) > 0 && rows[0].Change == ports.ChangeDelete, err
	}
	var turn string
	if _, err := a.t.get(ctx, `SELECT turn FROM outbox WHERE conv = $1 AND posted = $2 LIMIT 1`, []any{m.In.String(), string(m.ReplyTo)}, &turn); err != nil {
		return false, err
	}
	return a.deletedWhole(ctx, turn)
}
