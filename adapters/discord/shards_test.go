package discord

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	fake "dragoman/tests/fake/discord"
)

// large is a crowd that talks in several servers too, some for each of two shards.
func (r *rig) large() *crowd {
	c := r.crowd()
	shards := map[uint64]bool{}
	for i := 0; i < 6 || len(shards) < 2; i++ {
		g := r.server.Guild(fmt.Sprint("server ", i))
		shards[ordinal(g.ID())>>22%2] = true
		c.people = append(c.people, c.people[0])
		c.rooms = append(c.rooms, g.Channel("general"))
		r.server.Advance(time.Millisecond) // the next one may be the other shard's
	}
	return c
}

func (r *rig) connected(n int) {
	r.t.Helper()
	r.until(fmt.Sprint(n, " sessions"), func() bool { return r.server.Gateway().Connected == n })
}

func TestEachShardOfALargeBotLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{Shards: 2})
	c := r.large()
	r.run()
	r.connected(2)
	c.talk(40)
	c.hears(c.said)
	r.server.RefuseResumes(1) // one goes on, one begins anew
	r.down()
	c.talk(60)
	r.server.GatewayUp(true)
	c.hears(c.said)
	if g := r.server.Gateway(); g.RefusedResumes != 1 || g.Resumes != 1 || g.Identifies != 3 {
		t.Errorf("want one shard resumed and one begun anew: %+v", g)
	}
	r.halt()
	c.talk(60)
	r.run()
	c.hears(c.said)
}

func TestABotThatHasGrownGetsMoreShards(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	c := r.large()
	r.run()
	c.talk(20)
	c.hears(c.said)
	r.server.NeedShards(3)
	c.talk(30)
	c.hears(c.said)
	r.connected(3)
	c.talk(30)
	c.hears(c.said)
}

// keeper is a receiver that only keeps cursors, unless it fails.
type keeper struct {
	text string
	err  error
}

func (k *keeper) Receive(_ context.Context, b ports.Batch) error {
	if k.err == nil && b.Cursor != "" {
		k.text = b.Cursor
	}
	return k.err
}

func (k *keeper) Cursor(context.Context) (string, error) { return k.text, nil }

// sinceOf are the places from where the shards read.
func sinceOf(t *testing.T, k *keeper, count int) string {
	t.Helper()
	s, err := newShards(t.Context(), k, count, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var list []uint64
	for i := range count {
		text, _ := s.of(i).Cursor(t.Context())
		r, err := newRooms(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r.since)
	}
	return fmt.Sprint(list)
}

func TestTheCursorsOfShardsAreOne(t *testing.T) {
	k := &keeper{text: `{"since":"70","last":{"5":"70"},"direct":["6"]}`}
	if got := sinceOf(t, k, 1); got != "[70]" {
		t.Errorf("one shard reads from %s", got)
	}
	if got := sinceOf(t, k, 3); got != "[70 70 70]" {
		t.Errorf("three shards in the place of one read from %s", got)
	}
	s, err := newShards(t.Context(), k, 3, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.of(1).Receive(t.Context(), ports.Batch{Cursor: `{"since":"90"}`}); err != nil {
		t.Fatal(err)
	}
	k.err = ports.Errorf(ports.KindUnavailable, "store", "the disk is full")
	if s.of(2).Receive(t.Context(), ports.Batch{Cursor: `{"since":"95"}`}) == nil {
		t.Error("it is stored on a full disk")
	}
	k.err = nil
	if err := s.of(0).Receive(t.Context(), ports.Batch{Cursor: `{"since":"80"}`}); err != nil {
		t.Fatal(err)
	}
	if got := sinceOf(t, k, 3); got != "[80 90 70]" {
		t.Errorf("three shards read from %s, want what was stored of each", got)
	}
	if got := sinceOf(t, k, 2); got != "[70 70]" {
		t.Errorf("two shards in the place of three read from %s, want from the first", got)
	}
	s, err = newShards(t.Context(), &keeper{text: `{"since":"70","direct":["6","7"]}`}, 2, slog.New(slog.DiscardHandler))
	if err != nil || !strings.Contains(s.read[0], `"6","7"`) || strings.Contains(s.read[1], "direct") {
		t.Errorf("the direct chats of one shard are with %q (%v), want them with the first", s.read, err)
	}
	k.text = "{"
	if got := sinceOf(t, k, 2); got != "[0 0]" {
		t.Errorf("without a cursor they read from %s", got)
	}
}
