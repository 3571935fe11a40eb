package sqlstore

import (
	"context"
	"encoding/json"

	"dragoman/ports"
)

// Feed is the feed of one channel, by the channel's name in the config.
func (s *Store) Feed(channel string) ports.Feed { return &feed{store: s, channel: channel} }

type feed struct {
	store   *Store
	channel string
}

const feedColumns = `seq, nonce, body, at`

// feedKept is how many items a chat keeps, its last ones. A page shows a few
// hundred; without a bound somebody who is not let in could fill the disk.
const feedKept = 2000

const trimFeed = `DELETE FROM feed WHERE channel = $1 AND chat = $2 AND seq <= $3`

// Append adds an item, and removes what is older than the last feedKept in the
// same commit; a nonce that the chat has adds nothing, "" is none. See ports.Feed.
func (f *feed) Append(ctx context.Context, chat, nonce string, body json.RawMessage) (ports.FeedItem, error) {
	var out ports.FeedItem
	err := f.store.update(ctx, "store append feed", func(ctx context.Context, t *session) error {
		take := func(scan scanner) (err error) {
			out, err = scanFeedItem(scan)
			return err
		}
		out = ports.FeedItem{}
		err := t.each(ctx, `INSERT INTO feed (channel, chat, seq, nonce, body, at)
			SELECT $1, $2, COALESCE(MAX(seq), 0) + 1, $3, $4, $5 FROM feed WHERE channel = $1 AND chat = $2
			ON CONFLICT (channel, chat, nonce) WHERE nonce <> '' DO NOTHING
			RETURNING `+feedColumns, []any{f.channel, chat, nonce, string(body), f.store.now()}, take)
		if err != nil {
			return err
		}
		if out.Seq > 0 {
			_, err := t.exec(ctx, trimFeed, f.channel, chat, out.Seq-feedKept)
			return err
		}
		return t.each(ctx, `SELECT `+feedColumns+` FROM feed WHERE channel = $1 AND chat = $2 AND nonce = $3`,
			[]any{f.channel, chat, nonce}, take)
	})
	if err != nil {
		return ports.FeedItem{}, err
	}
	return out, nil
}

// Tail reads items after seq, oldest first; a negative seq counts from the end. See ports.Feed.
func (f *feed) Tail(ctx context.Context, chat string, seq int64, limit int) ([]ports.FeedItem, error) {
	var out []ports.FeedItem
	err := f.store.view(ctx, "store tail feed", func(ctx context.Context, t *session) error {
		if seq < 0 {
			var last int64
			if _, err := t.get(ctx, `SELECT COALESCE(MAX(seq), 0) FROM feed WHERE channel = $1 AND chat = $2`,
				[]any{f.channel, chat}, &last); err != nil {
				return err
			}
			seq += last // seqs have no gaps
		}
		return t.each(ctx, `SELECT `+feedColumns+` FROM feed WHERE channel = $1 AND chat = $2 AND seq > $3 ORDER BY seq`+limited(limit),
			[]any{f.channel, chat, seq}, func(scan scanner) error {
				item, err := scanFeedItem(scan)
				out = append(out, item)
				return err
			})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func scanFeedItem(scan scanner) (ports.FeedItem, error) {
	var (
		item ports.FeedItem
		body string
		at   int64
	)
	err := scan(&item.Seq, &item.Nonce, &body, &at)
	item.Body, item.At = document(body), moment(at)
	return item, err
}
