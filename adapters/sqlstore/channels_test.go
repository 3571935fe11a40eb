package sqlstore

import (
	"log/slog"
	"testing"
	"time"

	"dragoman/ports"
)

// A process that works for some channels must neither take nor end what is under
// way on others: nobody here could go on with it.
func TestAProcessWorksForItsChannels(t *testing.T) {
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	all, err := Open(t.Context(), Config{Dir: dir, Sync: "normal"}, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, channel := range []string{"tg", "terminal.main", "terminal.other"} {
		work := ports.Conversation{Channel: channel, Chat: "work"}
		asked := ports.Conversation{Channel: channel, Chat: "asked"}
		var leases []ports.Lease
		for _, in := range []ports.Conversation{work, asked} {
			got, err := all.Accept(t.Context(), ports.Source{Channel: channel}, ports.Batch{Messages: []ports.Message{{Event: in.Chat, In: in, From: "1", Text: "hi"}}},
				func(ports.Sight) ports.Route { return ports.Route{Kind: ports.RouteLane, Person: "ann"} })
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, got.Leases...)
		}
		turn := ports.TurnID(asked, 1)
		q := ports.Question{ID: "q" + channel, Turn: turn, In: asked, Person: "ann", State: ports.QuestionOpen, Expires: time.Now().Add(-time.Second)}
		if err := all.Park(t.Context(), leases[1], ports.Change{Turn: turn, Person: "ann", Take: []int64{1}, Ask: &q}); err != nil {
			t.Fatal(err)
		}
	}
	if err := all.Close(); err != nil {
		t.Fatal(err)
	}

	some, err := Open(t.Context(), Config{Dir: dir, Sync: "normal", Channels: []string{"terminal.main", "terminal.other"}}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer some.Close()
	claimed, err := some.Claim(t.Context(), 100)
	if err != nil || len(claimed) != 2 {
		t.Errorf("claimed %v, %v", claimed, err)
	}
	expired, err := some.Expire(t.Context(), 100)
	if err != nil || len(expired.Leases) != 2 {
		t.Errorf("expired %v, %v", expired.Leases, err)
	}
	for _, l := range append(claimed, expired.Leases...) {
		if l.In.Channel == "tg" {
			t.Errorf("took %v", l.In)
		}
	}
}
