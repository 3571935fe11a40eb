package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/ports"
	fake "dragoman/tests/fake/telegram"
)

// What is said after a group moved is said in the conversation that it had, and
// what is answered goes to where it is: also to a topic of it, also in a later life.
func TestAConversationGoesOnWhereItsGroupMoved(t *testing.T) {
	s := set(t, fake.Options{})
	ann, team := s.server.User(7, "Ann"), s.server.PlainGroup(-5, "Team")
	ann.SayIn(team, "before")
	s.run()
	s.await(1)
	next := team.Migrate(-100500)
	said := ann.SayIn(next, "after")
	if m := s.await(2)[1]; m.In.Chat != "-5" || m.ID != messageID(-100500, int64(said)) {
		t.Fatalf("it came as %+v", m)
	}
	topic := next.Topic()
	if err := s.stop(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}

	s.ch = s.channel(configOf(s.server)) // which knows what is stored
	s.run()
	ann.SayInTopic(next, topic, "in a topic")
	m := s.await(3)[2]
	if want := (ports.Conversation{Chat: "-5", Thread: fmt.Sprint(topic)}); m.In != want {
		t.Fatalf("it came in %+v", m.In)
	}
	out := ports.Outgoing{In: m.In, Content: ports.Content{Text: "here", Choices: []ports.Choice{{Question: "q", Field: "f", Value: "v", Label: "Yes"}}}, ReplyTo: m.ID}
	if _, err := s.ch.Send(t.Context(), out); err != nil || s.server.Calls("sendMessage") != 1 {
		t.Fatalf("it took %d calls (%v)", s.server.Calls("sendMessage"), err)
	}
	sent := s.server.Sent(-100500)
	last := sent[len(sent)-1]
	if last.Thread != topic || last.ReplyTo == 0 {
		t.Errorf("sent %+v", last)
	}
	if err := ann.PressIn(next, last.ID, "Yes"); err != nil {
		t.Fatal(err)
	}
	if p := s.await(4)[3]; p.In != m.In || p.Choice == nil {
		t.Errorf("a press came as %+v", p)
	}
}

func TestAMoveThatASendLearnsOfIsStored(t *testing.T) {
	s := set(t, fake.Options{})
	team := s.server.PlainGroup(-5, "Team")
	team.Migrate(-100500) // of which we heard nothing
	forget := map[string]int{"offset": 800_000_000, "timeout": 0}
	if err := s.ch.api.post(t.Context(), "getUpdates", quickTimeout, forget, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ch.Send(t.Context(), text(-5, "here")); err != nil {
		t.Fatal(err)
	}
	s.run()
	s.server.User(7, "Ann").Say("hello")
	s.await(1)
	s.until("the cursor", func() bool {
		cursor, err := s.inbox.Cursor(t.Context())
		return err == nil && strings.HasSuffix(cursor, " -5>-100500")
	})
}

func TestAMoveThatAWebhookBringsIsStored(t *testing.T) {
	s, _ := hooked(t)
	if err := s.inbox.Receive(t.Context(), ports.Batch{Cursor: "700000000"}); err != nil {
		t.Fatal(err)
	}
	ann, team := s.server.User(7, "Ann"), s.server.PlainGroup(-5, "Team")
	s.run()
	ann.SayIn(team, "before")
	s.await(1)
	ann.SayIn(team.Migrate(-100500), "after")
	if m := s.await(2)[1]; m.In.Chat != "-5" {
		t.Errorf("it came as %+v", m)
	}
	if cursor, err := s.inbox.Cursor(t.Context()); err != nil || cursor != "700000000 -5>-100500" {
		t.Errorf("the cursor is %q (%v)", cursor, err)
	}
}

func TestCursors(t *testing.T) {
	var m moves
	for cursor, want := range map[string]int64{"7": 7, "0 -5>-100": 0, "9 -5>-100 -6>-101": 9} {
		if id, ok := m.load(cursor); !ok || id != want {
			t.Errorf("%q is %d, %v", cursor, id, ok)
		}
	}
	if got := m.cursor(9); got != "9 -5>-100 -6>-101" && got != "9 -6>-101 -5>-100" {
		t.Errorf("written as %q", got)
	}
	for _, cursor := range []string{"", "x", "7 -5", "7 -5>x", "7 >"} {
		if id, ok := m.load(cursor); ok {
			t.Errorf("%q is %d", cursor, id)
		}
	}
	for i := range int64(2 * movesMax) {
		m.learn(-1000-i, -100_000-i)
	}
	if n := len(strings.Fields(m.cursor(1))) - 1; n != movesMax {
		t.Errorf("%d moves are kept", n)
	}
	m.learn(-7, -7)
	m.learn(-100_000-2*movesMax+1, -9) // a supergroup stays
	if got := m.of(target{Chat: -7}); got.Chat != -7 {
		t.Errorf("it moved to %+v", got)
	}
	if in := m.known(ports.Conversation{Chat: "-9"}); in.Chat != "-9" {
		t.Errorf("it is known as %v", in)
	}
}
