package telegram

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"dragoman/ports"
)

// told is a Receiver that notes what is reported.
type told struct {
	ports.Receiver
	list []bool // whether a fault was reported
}

func (r *told) Report(err error) { r.list = append(r.list, err != nil) }

// A webhook that does not work is not said to work again because Telegram made a
// pause between two tries, nor because it says so of the webhook at all.
func TestAWebhookIsFailingUntilNothingWaits(t *testing.T) {
	ch, err := New(Config{Token: "1:x", APIURL: telegramURL, Mode: "webhook", Webhook: "https://bot.example.org/hook/tg"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := &told{}
	p := &poller{intake: newIntake(ch, r), pause: newPause()}
	since := time.Unix(1000, 0)
	for i, c := range []struct {
		pending int
		failed  int64
		want    []bool
	}{
		{3, 900, nil}, // long ago
		{3, 1001, []bool{true}},
		{3, 900, []bool{true}},
		{0, 900, []bool{false}},
		{2, 900, nil},
	} {
		r.list = nil
		step := func(ctx context.Context) error {
			return p.watch(ctx, webhookInfo{URL: ch.hook.url, Pending: c.pending, ErrorDate: c.failed, Error: "x"}, since)
		}
		if err := p.persist(t.Context(), step); err != nil || !slices.Equal(r.list, c.want) {
			t.Errorf("look %d: reported %v (%v), want %v", i, r.list, err, c.want)
		}
	}
}
