package discord

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
	fake "dragoman/tests/fake/discord"
)

func TestCommandsAreWrittenWhereTheyAreNot(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	r.menu = []ports.Command{
		{Name: "stop", Says: "Stops it"}, {Name: "forget", Says: strings.Repeat("é", 150)}, {Name: "busy", Says: "Says how", Takes: "mode"},
	}
	names := []string{askCommand, "stop", "forget", forgetThis, "busy"}
	for life, writes := range []int{1, 1, 2, 2} {
		if life == 2 {
			r.menu, names = r.menu[:2], names[:4]
		}
		calls := r.server.Calls(listCommands)
		r.run()
		r.until("they are as they should be", func() bool {
			got, n := r.server.Commands("")
			return slices.Equal(got, names) && n == writes && r.server.Calls(listCommands) > calls
		})
		r.halt()
	}
	if got, writes := r.server.Commands(""); writes != 2 {
		t.Errorf("they were written %d times: %q", writes, got)
	}
}

const listCommands = "GET /applications/{application}/commands"

func TestCommandsThatCannotBeWrittenNowAreWrittenLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	r.server.Fail(listCommands, 2, fake.BadGateway)
	r.server.Fail(fake.PutCommands, 2, fake.TooManyRequests(0.2))
	r.run()
	r.until("they are registered", func() bool { names, _ := r.server.Commands(""); return len(names) == 1 })
	r.halt()
}

func TestEveryListOfCommandsIsOneThatDiscordTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	for i := range 120 {
		r.menu = append(r.menu, ports.Command{Name: fmt.Sprint("c", i), Says: strings.Repeat("𝄞", i), Takes: "what"})
	}
	r.menu[0].Says = "x"
	r.run()
	r.until("they are registered", func() bool { names, _ := r.server.Commands(""); return len(names) == maxCommands })
}

func TestAMessageIsForgottenByItsMenu(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	r.menu = []ports.Command{{Name: "forget", Says: "Forgets it"}}
	ann, room := r.server.User("Ann"), r.server.Guild("Team").Channel("general")
	r.run(func(c *Config) { c.Threads = true })
	id := ann.SayIn(room, r.server.Mention()+" a secret")
	in := r.await(1)[0].In
	r.until("the commands are registered", func() bool { names, _ := r.server.Commands(""); return len(names) > 0 })
	r.await(1) // a command overtakes what a room holds back until its history is read
	if _, err := ann.CommandOn(room, id, forgetThis); err != nil {
		t.Fatal(err)
	}
	m := r.await(2)[1]
	if m.Text != "/forget" || m.ReplyTo != messageID(room, id) || m.In != in || m.From != ann.ID() || len(m.Reply) == 0 {
		t.Errorf("it came as %+v", m)
	}
}
