package sqlstore

import (
	"context"

	"dragoman/ports"
)

// Fates tells of the messages of one channel, by the channel's name in the config.
func (s *Store) Fates(channel string) ports.Fates { return &fates{store: s, channel: channel} }

type fates struct {
	store   *Store
	channel string
}

// Fate reads how the message of this event stands. See ports.Fates.
func (f *fates) Fate(ctx context.Context, event string) (ports.Fate, error) {
	var out ports.Fate
	err := f.store.view(ctx, "store fate", func(ctx context.Context, t *session) error {
		out = ports.Fate{}
		var (
			row  turnRow
			open *string
			in   ports.Conversation
		)
		found, err := t.get(ctx, `SELECT c.channel, c.chat, c.thread, q.body, `+turnColumns+`
			FROM inbox i JOIN conv c ON c.id = i.conv LEFT JOIN turn t ON t.id = i.turn LEFT JOIN question q ON q.conv = i.conv AND q.state = 'open'
			WHERE i.channel = $1 AND i.event = $2`,
			[]any{f.channel, event}, append([]any{&in.Channel, &in.Chat, &in.Thread, &open}, row.dest()...)...)
		if err != nil {
			return err
		}
		if !found {
			return fail(ports.KindNotFound, "no message of event %q was accepted", event)
		}
		if out.Open, err = decodeQuestion(open); err != nil {
			return err
		}
		turn := row.unfinished()
		if turn == nil {
			return nil
		}
		out.Turn = *turn
		out.Turn.In = in
		return t.each(ctx, `SELECT delivery FROM outbox WHERE conv = $1 AND turn = $2 AND state = 'pending' AND optional = 0 ORDER BY id`,
			[]any{in.String(), out.Turn.ID}, func(scan scanner) error {
				var id string
				err := scan(&id)
				out.Unsent = append(out.Unsent, id)
				return err
			})
	})
	if err != nil {
		return ports.Fate{}, err
	}
	return out, nil
}
