package telegram

import (
	"fmt"
	"slices"
	"testing"

	"dragoman/ports"
	fake "dragoman/tests/fake/telegram"
)

func TestAnAlbumInAGroupComesInWhole(t *testing.T) {
	t.Parallel()
	s := set(t, fake.Options{})
	ann, team := s.server.User(7, "Ann"), s.server.Group(-100, "Team")
	team.Promote() // else Telegram keeps what does not name the bot from it
	s.run()
	ann.SayIn(team, "not for the bot")
	ann.Album(fake.Post{Group: team, Text: "@" + s.server.Username() + " what are these?"}, fake.Photo(9, 9), fake.Photo(8, 8), fake.Photo(7, 7))
	got, err := s.inbox.Await(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range got {
		if m.Addressed != (i > 0) || (m.Album != "") != (i > 0) || i > 1 && m.Album != got[1].Album {
			t.Errorf("message %d is %+v", i, m)
		}
	}
}

// Who names the bot in the caption of an album shows it the whole album, also where
// its messages come in several batches; an album that does not name it stays theirs.
func TestAnAlbumSpeaksToTheBotAsAWhole(t *testing.T) {
	var a albums
	piece := func(album string, addressed bool) ports.Message {
		return ports.Message{Album: album, Addressed: addressed}
	}
	for i, c := range []struct {
		batch []ports.Message
		want  []bool
	}{
		{[]ports.Message{piece("1", false), piece("1", true), piece("2", false), piece("", false), piece("", true)}, []bool{true, true, false, false, true}},
		{[]ports.Message{piece("1", false), piece("2", false), piece("", false)}, []bool{true, false, false}},
	} {
		a.join(c.batch)
		var got []bool
		for _, m := range c.batch {
			got = append(got, m.Addressed)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("batch %d: %v, want %v", i, got, c.want)
		}
	}
	for i := range 2 * albumsMax {
		a.join([]ports.Message{piece(fmt.Sprint("x", i), true)})
	}
	if n := len(a.list); n != albumsMax {
		t.Errorf("%d albums are remembered", n)
	}
}
