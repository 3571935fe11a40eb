package discord

import (
	"bytes"
	"context"
	"io"
	"testing"

	"dragoman/ports"
	fake "dragoman/tests/fake/discord"
)

// asked is a question to the bot in a channel where it may not do all.
func (r *rig) asked(threads bool, may fake.Permission) (room string, m ports.Message) {
	r.t.Helper()
	room = r.server.Guild("Team").Channel("general")
	r.run(func(c *Config) { c.Threads = threads })
	r.server.Deny(room, may)
	r.server.User("Ann").SayIn(room, r.server.Mention()+" what time is it?")
	return room, r.await(1)[0]
}

func TestAnAnswerNeedsNoMoreRightsThanToWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		threads bool
		may     fake.Permission
		inside  bool // a thread
	}{
		"no history":              {false, fake.ReadMessageHistory, false},
		"no threads":              {true, fake.CreatePublicThreads, false},
		"no history of threads":   {true, fake.ReadMessageHistory, true},
		"no history, no threads":  {true, fake.CreatePublicThreads | fake.ReadMessageHistory, false},
		"all that it needs of it": {true, fake.MentionEveryone, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fake.Options{})
			room, m := r.asked(c.threads, c.may)
			id := r.send(out(m, "noon"))
			if again := r.send(out(m, "noon")); again != id {
				t.Errorf("a send that is tried again gave %q, then %q", id, again)
			}
			where, _, _ := splitID(id)
			if (where != room) != c.inside {
				t.Errorf("it is answered in %s, and was asked in %s", where, room)
			}
			if err := r.channel.Edit(t.Context(), id, out(m, "one o'clock")); err != nil {
				t.Error(err)
			}
			file := out(m, "a file")
			file.Content.File = &ports.File{Name: "a.txt", Size: 4}
			if _, err := r.channel.Upload(t.Context(), file, func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader([]byte("data"))), nil
			}); err != nil {
				t.Error(err)
			}
			r.shows(where, "one o'clock", "a file")
		})
	}
}

func TestAButtonBelongsToTheThreadThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	room, m := r.asked(true, fake.CreatePublicThreads)
	_, id, _ := splitID(r.send(out(m, "May I?", ports.Choice{Question: "q", Field: "ok", Value: "yes", Label: "Yes"})))
	if _, err := r.server.User("Ann").Press(room, id, "Yes"); err != nil {
		t.Fatal(err)
	}
	if press := r.await(2)[1]; press.Choice == nil || press.In != m.In || press.ID != messageID(room, id) {
		t.Errorf("it came as %+v, want it in %v", press, m.In)
	}
}
