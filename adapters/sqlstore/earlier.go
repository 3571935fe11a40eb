package sqlstore

import (
	"context"
	"encoding/json"

	"dragoman/ports"
)

// messageKey is what a message is found by when something becomes of it. A press
// has the id of the message with the button.
func messageKey(m ports.Message) string {
	if m.Choice != nil {
		return ""
	}
	return string(m.ID)
}

// earlier reads the message that m is about, nil if there is none. A change that
// came under another conversation is moved to that of its message.
func (a *accepting) earlier(ctx context.Context, m *ports.Message, pressed *ports.Question) (*ports.Earlier, error) {
	id := m.ReplyTo
	switch {
	case m.Choice != nil && pressed != nil:
		id = pressed.About
	case m.Choice != nil:
		id = ""
	case m.Change != "":
		id = m.ID
	}
	if id == "" {
		return nil, nil
	}
	const by = `WHERE i.channel = $1 AND i.message = $2`
	key := []any{m.In.Channel, string(id)}
	rows, err := inboxRows(ctx, a.t, by+` AND i.route = 'lane' ORDER BY i.seq DESC LIMIT 1`, key...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	e := &ports.Earlier{Inbox: rows[0]}
	if rows, err = inboxRows(ctx, a.t, by+` ORDER BY i.seq DESC LIMIT 1`, key...); err != nil {
		return nil, err
	}
	e.Now, e.Last = rows[0].Message, rows[0].Seq
	e.Running, err = a.t.get(ctx, `SELECT 1 FROM inbox i JOIN turn t ON t.id = i.turn `+by+` AND t.state <> 'done' LIMIT 1`, key, new(int))
	if err != nil {
		return nil, err
	}
	var in ports.Conversation
	if _, err := a.t.get(ctx, `SELECT c.channel, c.chat, c.thread FROM inbox i JOIN conv c ON c.id = i.conv `+by+` LIMIT 1`, key, &in.Channel, &in.Chat, &in.Thread); err != nil {
		return nil, err
	}
	if m.Change != "" {
		m.In = in
	}
	if m.In != in {
		return nil, nil // what others see is not theirs to change here
	}
	return e, nil
}

// rewrite does what the route of a stored message says of an earlier one.
func (a *accepting) rewrite(ctx context.Context, s ports.Sight, r ports.Route) error {
	e := s.Earlier
	switch {
	case r.Forget && e == nil:
		return fail(ports.KindInvalid, "event %s is to delete a message that there is not", s.Message.Event)
	case r.Forget:
		return a.forget(ctx, s)
	case !r.Replace:
		return nil
	case e == nil || e.Turn != "":
		return fail(ports.KindInvalid, "event %s is to replace a message that does not wait", s.Message.Event)
	}
	m := e.Message
	m.Text, m.Attachments = s.Message.Text, s.Message.Attachments
	if err := a.overwrite(ctx, s, e.Seq, m, 0); err != nil {
		return err
	}
	return a.changedBy(ctx, s)
}

// overwrite changes what a message of the conversation says.
func (a *accepting) overwrite(ctx context.Context, s ports.Sight, seq int64, m ports.Message, gone int64) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fail(ports.KindInvalid, "encode the message of event %s: %w", m.Event, err)
	}
	by := s.Seq
	if seq == by {
		by = 0 // nobody has read it as it was
	}
	_, err = a.t.exec(ctx, `UPDATE inbox SET body = $3, changed = $4, gone = $5 WHERE conv = $1 AND seq = $2`,
		s.Message.In.String(), seq, string(body), by, gone)
	return err
}

// changedBy notes that a message changed another one of the conversation.
func (a *accepting) changedBy(ctx context.Context, s ports.Sight) error {
	_, err := a.t.exec(ctx, `UPDATE conv SET changed = $2 WHERE id = $1`, s.Message.In.String(), s.Seq)
	return err
}
