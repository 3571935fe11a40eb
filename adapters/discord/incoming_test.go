package discord

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	fake "dragoman/tests/fake/discord"
)

func TestEditsAndDeletesComeInAsSuch(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	room := r.server.Guild("Team").Channel("general")
	r.run()
	id := ann.SayIn(room, "see https://example.org")
	other := ann.SayIn(room, "and this")
	r.server.Unfurl(room, id) // is nobody's edit
	ann.Edit(room, id, "see nothing")
	ann.Delete(room, id)
	ann.DeleteMany(room, other)
	all := r.await(5)
	want := []struct {
		change ports.MessageChange
		text   string
		id     string
	}{{"", "see https://example.org", id}, {"", "and this", other}, {ports.ChangeEdit, "see nothing", id}, {ports.ChangeDelete, "", id}, {ports.ChangeDelete, "", other}}
	for i, w := range want {
		m := all[i]
		if m.Change != w.change || m.Text != w.text || m.ID != messageID(room, w.id) || m.In.Chat != room || m.Private {
			t.Errorf("place %d has %+v, want %+v", i, m, w)
		}
	}
}

func TestARepliedMessageIsQuoted(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann, bob := r.server.User("Ann"), r.server.User("Bob")
	room := r.server.Guild("Team").Channel("general")
	r.run()
	id := bob.SayIn(room, "the sky is green")
	ann.Reply(room, id, r.server.Mention()+" is that so, "+bob.Mention()+"?")
	m := r.await(2)[1]
	if m.Text != "is that so, @Bob?" || !m.Addressed || m.ReplyTo != messageID(room, id) {
		t.Errorf("it came as %+v", m)
	}
	if m.Quote == nil || *m.Quote != (ports.Quote{Text: "the sky is green", Name: "Bob"}) {
		t.Errorf("the quote is %+v", m.Quote)
	}
	_, mine, _ := splitID(r.send(out(m, "It is blue.")))
	ann.Reply(room, mine, "thanks")
	m = r.await(3)[2]
	if !m.Addressed || m.Quote == nil || !m.Quote.Own {
		t.Errorf("a reply to the bot came as %+v", m)
	}
}

func TestAThreadIsAConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	room := r.server.Guild("Team").Channel("general")
	old := ann.Thread(room, ann.SayIn(room, "before"), "old") // nothing tells of it but the guild
	r.run()
	ann.SayIn(old, "in the old one")
	fresh := ann.Thread(room, ann.SayIn(room, "now"), "fresh")
	ann.SayIn(fresh, "in the fresh one")
	all := r.await(3)
	for i, thread := range map[int]string{0: old, 1: "", 2: fresh} {
		if in := (ports.Conversation{Chat: room, Thread: thread}); all[i].In != in {
			t.Errorf("place %d came in %v, want %v", i, all[i].In, in)
		}
	}
	r.send(out(all[2], "here"))
	r.shows(fresh, "here")
	r.shows(room)
}

func TestAQuestionOpensAThreadWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	room := r.server.Guild("Team").Channel("general")
	r.run(func(c *Config) { c.Threads = true })
	id := ann.SayIn(room, r.server.Mention()+" what is new?")
	m := r.await(1)[0]
	if want := (ports.Conversation{Chat: room, Thread: id}); m.In != want {
		t.Fatalf("it came in %v, want %v", m.In, want)
	}
	if err := r.channel.Typing(t.Context(), m.In); err != nil {
		t.Fatal(err)
	}
	r.send(out(m, "much"))
	r.shows(id, "much")
	r.shows(room)
	ann.SayIn(id, "go on") // nobody has to be named in it
	if next := r.await(2)[1]; next.In != m.In || !next.Addressed {
		t.Errorf("what follows came as %+v", next)
	}
	ann.Say("and in private?")
	if private := r.await(3)[2]; private.In.Thread != "" {
		t.Errorf("a private chat opened a thread: %+v", private)
	}
}

func TestNobodyIsPinged(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	room := r.server.Guild("Team").Channel("general")
	r.run()
	ann.SayIn(room, r.server.Mention()+" say hello to all")
	m := r.await(1)[0]
	r.send(out(m, "@everyone @here "+ann.Mention()+" hello"))
	for _, s := range r.server.Sent(room) {
		if len(s.Pinged) > 0 {
			t.Errorf("%q pinged %q", s.Text, s.Pinged)
		}
	}
}

func TestAPartOfWhatAPersonSendsSaysThatMoreComes(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	file := []fake.File{{Name: "a.txt", Content: []byte("a")}}
	ann.Say("short")
	ann.Say(strings.Repeat("é", 1990))
	ann.Post(ann.DM(), fake.Post{Files: file})
	ann.Post(ann.DM(), fake.Post{Text: "what is this?", Files: file})
	for i, more := range []bool{false, true, true, false} {
		if m := r.await(4)[i]; m.More != more {
			t.Errorf("place %d: %v, want %v", i, m.More, more)
		}
	}
}

// What is mended long after it was written is said now: a question that was put in
// between does not wait for it as for something that came late.
func TestAnEditIsOfTheTimeOfTheEdit(t *testing.T) {
	in := incoming{}
	text := "five"
	for edited, want := range map[string]time.Time{
		"2026-11-20T10:00:00.123000+00:00": time.Date(2026, 11, 20, 10, 0, 0, 123e6, time.UTC),
		"x":                                {},
	} {
		m := message{ID: "7", Channel: "5", Author: &user{ID: "4"}, Content: &text, Edited: edited}
		if got, why, ok := in.changed(m, room{}); !ok || !got.At.Equal(want) {
			t.Errorf("the edit of %s is of %v (%s)", edited, got.At, why)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		`{"id":"7","channel_id":"5","content":"hi","author":{"id":"4"},"message_reference":{},"referenced_message":null,"type":19}`,
		`{"id":"7","channel_id":"5","edited_timestamp":"x","content":"hi","author":{"id":"4"},"message_snapshots":[{}]}`,
		`{"id":"7","type":2,"token":"t","channel_id":"5","member":{},"data":{"options":[{"value":[]}]}}`,
		`{"id":"7","type":3,"token":"t","channel_id":"5","user":{"id":"4"},"channel":{},"message":{},"data":{"custom_id":"a:b:c"}}`,
		`{"ids":["1",""],"channel_id":"5","guild_id":"6"}`, `null`, `[]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		rooms, _ := newRooms(raw)
		in := incoming{me: user{ID: "1"}, rooms: rooms, threads: true}
		var m message
		if json.Unmarshal([]byte(raw), &m) == nil {
			for _, r := range []room{{}, {ID: m.Channel, Type: 11, Parent: "9"}} {
				if got, _, ok := in.message(m, r); ok && (got.Event == "" || got.From == "" || got.In.Chat == "") {
					t.Errorf("%s gave %+v", raw, got)
				}
				in.changed(m, r)
			}
		}
		var i interaction
		if json.Unmarshal([]byte(raw), &i) == nil {
			if got, _, ok := in.interaction(i); ok && (got.Event == "" || got.From == "" || got.In.Chat == "") {
				t.Errorf("%s gave %+v", raw, got)
			}
		}
	})
}
