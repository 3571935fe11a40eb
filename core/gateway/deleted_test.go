package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/access"
	"dragoman/ports"
)

// nowhere fails the test if a word is in a row of what people said.
func (w *world) nowhere(word string) {
	w.t.Helper()
	if rows := w.column(`SELECT body FROM inbox WHERE body LIKE '%` + word + `%'`); len(rows) > 0 {
		w.t.Errorf("%q is kept: %q", word, rows)
	}
}

// What is deleted while it waits is not run, and what waits beside it is.
func TestWhatIsDeletedWhileItWaitsIsNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply, w.model.dwell = echo, lasts(10*time.Second)
		w.start()
		w.chat.say(t, "ann", "first")
		time.Sleep(time.Second)
		w.chat.say(t, "ann", "secret")
		w.chat.say(t, "ann", "third")
		w.chat.deletes(t, "ann", "in-2")
		w.chat.deletes(t, "ann", "in-2")
		time.Sleep(30 * time.Second)
		w.chat.say(t, "ann", "busy")
		time.Sleep(time.Second)
		w.chat.say(t, "ann", "secret too")
		w.chat.deletes(t, "ann", "in-7")
		time.Sleep(time.Minute)
		w.comesToRest()
		if got, want := w.chat.texts(), []string{"you said: first", "you said: third", "you said: busy"}; !slices.Equal(got, want) {
			t.Errorf("the chat shows %q, want %q", got, want)
		}
		w.nowhere("secret")
		w.sound(7)
	})
}

// A turn whose message is deleted ends, whatever it is at: before its first row it
// says no more than has to be, behind it it is stopped as by its person.
func TestADeletionEndsTheTurnOfItsMessage(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		tool string
		chat []string
	}{
		"while the model is first asked": {"", []string{}},
		"while a tool runs":              {"srv__slow", []string{"Stopped."}},
		"while a question is open":       {"srv__ask_a", []string{"May I", "Stopped."}},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.model.reply, w.model.dwell = echo, lasts(10*time.Second)
				if c.tool != "" {
					w.model.reply, w.model.dwell = calls(c.tool), nil
				}
				w.start()
				w.chat.say(t, "ann", "secret")
				time.Sleep(5 * time.Second)
				w.chat.deletes(t, "ann", "in-1")
				time.Sleep(2 * time.Second)
				w.comesToRest()
				texts := w.chat.texts()
				same := len(texts) == len(c.chat)
				for i := range c.chat {
					same = same && strings.HasPrefix(texts[i], c.chat[i])
				}
				if !same {
					t.Errorf("the chat shows %q, want %q", texts, c.chat)
				}
				w.nowhere("secret")
				w.model.becomes(echo)
				w.chat.say(t, "ann", "hello")
				time.Sleep(time.Minute)
				w.comesToRest()
				if told := w.model.heard(); !slices.Equal(told, []string{"user hello"}) {
					t.Errorf("the model was told %q", told)
				}
				w.sound(3)
			})
		})
	}
}

// What was deleted is in no later prompt, also where the turns before are known
// from memory, and also after a restart; what was not deleted beside it stays.
func TestWhatIsDeletedIsInNoLaterPrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	say := func(text string) {
		t.Helper()
		n := len(w.chat.texts())
		w.chat.say(t, "ann", text)
		w.shown(n + 1)
		w.settled()
	}
	w.chat.batch(t, said("ann", "secret one"), said("ann", "plain"))
	w.shown(1)
	w.settled()
	say("secret two")
	say("three")
	w.chat.deletes(t, "ann", "in-batch-2")
	if got := w.model.heard(); len(got) != 5 {
		t.Fatalf("the model was told %q", got)
	}
	w.chat.deletes(t, "ann", "in-batch-1")
	w.chat.forget(t, "ann", "in-3")
	w.shown(4)
	for range 2 {
		say("hello")
		told := strings.Join(w.model.heard(), "|")
		if strings.Contains(told, "two") || !strings.Contains(told, "user three") {
			t.Errorf("the model was told %q", told)
		}
		w.restart()
	}
	w.nowhere("secret")
}

// Who replies to an album sees one message, and means all that it is made of.
func TestForgetIsOfAWholeAlbum(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	var album []ports.Message
	for _, text := range []string{"secret one", "", "secret three", "plain"} {
		m := said("ann", text)
		m.Album = map[bool]string{true: "", false: "77"}[text == "plain"]
		m.Attachments = []ports.Attachment{{ID: "secret", Name: "a.png"}}
		album = append(album, m)
	}
	album[3].Attachments = nil
	w.chat.batch(t, album...)
	w.shown(1)
	w.settled()
	w.chat.forget(t, "ann", "in-batch-2")
	w.shown(2)
	w.chat.forget(t, "ann", "in-batch-1")
	if texts := w.shown(3); texts[1] != "I have forgotten that message." || texts[2] != "I have forgotten that already." {
		t.Errorf("the chat shows %q", texts)
	}
	w.tell("hello")
	if told := w.model.heard(); len(told) != 3 || told[0] != "user plain" {
		t.Errorf("the model was told %q", told)
	}
	w.nowhere("secret")
}

// A person has their own words forgotten, an admin anybody's; everybody else and
// every other message is told plainly why not.
func TestForgetIsOfOnesOwnWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = byTheirWord
	w.opt.Access.People = map[string]access.Listed{"boss": {Identities: []string{"chat:boss"}, Role: ports.RoleAdmin}}
	w.start()
	in := ports.Conversation{Chat: "room"}
	write := func(from, text string, to ports.MessageID) string {
		t.Helper()
		n := len(w.chat.texts())
		w.chat.receive(t, ports.Message{From: from, Name: from, In: in, Text: text, ReplyTo: to})
		return w.shown(n + 1)[n]
	}
	write("ann", "say secret", "")
	write("ann", "say hidden", "")
	for _, c := range []struct{ from, id, want string }{
		{"ann", "", "Reply with /forget"},
		{"ann", "1", "it is no message that you wrote to me"},
		{"bob", "in-1", "Only the person who wrote that"},
		{"ann", "in-1", "I have forgotten that message."},
		{"ann", "in-1", "I have forgotten that already."},
		{"boss", "in-2", "I have forgotten that message."},
	} {
		if got := write(c.from, "/forget", ports.MessageID(c.id)); !strings.Contains(got, c.want) {
			t.Errorf("%s was told %q, want %q", c.from, got, c.want)
		}
	}
	w.settled()
	w.nowhere("secret")
	w.nowhere("hidden")
	w.sound(8)
}

// A summary that was made of what is deleted by now is not told any more: what it
// stood for is told, without that.
func TestASummaryOfWhatIsDeletedIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if r.NoCalls {
			return says("They spoke of a secret.")
		}
		return echo(ctx, r)
	}
	w.start()
	say := func(text string) {
		t.Helper()
		n := len(w.chat.texts())
		w.chat.say(t, "ann", text)
		w.shown(n + 1)
		w.settled()
	}
	pad := strings.Repeat(" and so on", 20)
	say("one" + pad)
	say("secret" + pad)
	say("three" + pad)
	say("/compact")
	say("four")
	if told := strings.Join(w.model.heard(), "|"); !strings.Contains(told, "They spoke of a secret.") || strings.Contains(told, "one and") {
		t.Fatalf("there is no summary: the model was told %q", told)
	}
	w.chat.deletes(t, "ann", "in-2")
	for range 2 {
		say("hello")
		told := strings.Join(w.model.heard(), "|")
		if strings.Contains(told, "secret") || !strings.Contains(told, "user one and") || !strings.Contains(told, "user three and") {
			t.Errorf("the model was told %q", told)
		}
		w.restart()
	}
	say("/compact")
	say("hello again")
	if told := strings.Join(w.model.heard(), "|"); !strings.Contains(told, "They spoke") || strings.Contains(told, "user one and") {
		t.Errorf("no summary was made anew: the model was told %q", told)
	}
}

// A platform may show a message for long after it was forgotten here: who replies to
// it then brings nothing of it back.
func TestAReplyToWhatWasForgottenQuotesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) { return says("Noted: a secret.") }
	w.start()
	w.tell("my secret")
	w.model.becomes(func(context.Context, ports.ModelRequest) (ports.ModelReply, error) { return says("Noted.") })
	w.chat.forget(t, "ann", "in-1")
	w.shown(2)
	for i, q := range []ports.Message{
		{ReplyTo: "in-1", Quote: &ports.Quote{Text: "my secret", Name: "ann"}},
		{ReplyTo: w.chat.post(0).id, Quote: &ports.Quote{Text: "Noted: a secret.", Own: true}},
	} {
		m := said("ann", "and what of this?")
		m.ReplyTo, m.Quote = q.ReplyTo, q.Quote
		w.chat.receive(t, m)
		w.shown(3 + i)
		w.settled()
		if told := strings.Join(w.model.heard(), "|"); strings.Contains(told, "secret") || !strings.Contains(told, "and what of this?") {
			t.Errorf("the model was told %q", told)
		}
		w.restart()
	}
	w.nowhere("secret")
}
