package telegram

import (
	"context"
	"encoding/json"
	"log/slog"

	"dragoman/ports"
)

// intake hands updates over to the core, however they came in. Safe for many
// goroutines.
type intake struct {
	channel *Channel
	in      ports.Receiver
	log     *slog.Logger
	answers answers
}

func newIntake(c *Channel, in ports.Receiver) *intake {
	return &intake{channel: c, in: in, log: c.log, answers: answers{limit: make(chan struct{}, maxAnswers)}}
}

// report tells the admin how receiving goes, where somebody listens.
func (t *intake) report(err error) {
	if r, ok := t.in.(ports.Reporter); ok {
		r.Report(err)
	}
}

// received are updates, ready to be stored.
type received struct {
	ports.Batch
	last    int64    // id of the last update
	queries []string // presses to answer once it is stored
}

func (t *intake) batch(raw []json.RawMessage) received {
	in := incoming{me: *t.channel.me.Load()}
	var b received
	for _, r := range raw {
		var u update
		if err := json.Unmarshal(r, &u); err != nil {
			t.log.Warn("telegram_update_unreadable", "update", idOf(r), "err", err)
			t.log.Debug("telegram_update_raw", "body", string(r))
			continue
		}
		if u.Callback != nil && u.Callback.ID != "" {
			b.queries = append(b.queries, u.Callback.ID)
		}
		if u.Message != nil {
			t.channel.moves.learn(u.Message.Chat.ID, u.Message.MigrateTo)
			t.channel.moves.learn(u.Message.MigrateFrom, u.Message.Chat.ID)
		}
		m, why, ok := in.read(u)
		if !ok {
			t.log.Info("telegram_update_skipped", "update", u.ID, "why", why)
			continue
		}
		m.In = t.channel.moves.known(m.In)
		b.Messages = append(b.Messages, m)
	}
	t.channel.albums.join(b.Messages)
	b.last = lastID(raw)
	b.Cursor = t.channel.moves.cursor(b.last)
	return b
}

// deliver hands a batch over. A press is answered after that: else its button
// would stop spinning for something that is lost. The answers end with run.
func (t *intake) deliver(ctx, run context.Context, b received) error {
	if err := t.in.Receive(ctx, b.Batch); err != nil {
		return err
	}
	for _, id := range b.queries {
		t.answers.start(run, t.channel, id)
	}
	return nil
}
