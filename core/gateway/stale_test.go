package gateway_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// late is a world in which messages older than an hour are asked about.
func late(t *testing.T, tools ...string) *world {
	w := newWorld(t)
	w.stale = time.Hour
	if w.model.reply = echo; len(tools) > 0 {
		w.model.reply = calls(tools...)
	}
	return w.start()
}

// sayOld delivers a message that the platform kept for a while.
func (w *world) sayOld(text string, age time.Duration) {
	w.t.Helper()
	w.chat.receive(w.t, ports.Message{From: "ann", Name: "ann", Text: text, Private: true, At: time.Now().Add(-age)})
}

func TestOldTextIsAskedAboutBeforeAnythingIsDone(t *testing.T) {
	w := late(t, "srv__write_a")
	w.sayOld("pour the concrete", 3*time.Hour+time.Minute)
	q := w.shown(1)[0]
	if !strings.Contains(q, "3 hours ago") || !strings.Contains(q, "> pour the concrete") {
		t.Errorf("the question reads %q", q)
	}
	w.settled()
	if n := len(w.model.asked()); n != 0 || w.tools.ran("write_a") != 0 {
		t.Fatalf("before the answer the model was asked %d times, the tool ran %d times", n, w.tools.ran("write_a"))
	}
	w.restart() // it waits as any other question
	w.chat.press(t, "ann", 0, "yes")
	if got := w.shown(2)[1]; !strings.Contains(got, "result of write_a") {
		t.Errorf("after the yes: %q", got)
	}
	if n := w.tools.ran("write_a"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	w.settled()
	w.sayFresh("thanks")
}

// sayFresh says something now and wants it answered without a question.
func (w *world) sayFresh(text string) {
	w.t.Helper()
	n := len(w.chat.texts())
	w.chat.say(w.t, "ann", text)
	if got := w.shown(n + 1)[n]; strings.Contains(got, "ago") {
		w.t.Errorf("what was said now is asked about: %q", got)
	}
	w.settled()
}

func TestOldTextThatIsNotWantedIsLeftAlone(t *testing.T) {
	for name, answer := range map[string]func(*world){
		"no":         func(w *world) { w.chat.press(t, "ann", 0, "no") },
		"stop":       func(w *world) { w.chat.say(t, "ann", "/stop") },
		"no answer":  func(w *world) { w.exec(`UPDATE question SET expires = 1`) },
		"typed, no.": func(w *world) { w.chat.say(t, "ann", "No, leave it.") },
	} {
		t.Run(name, func(t *testing.T) {
			w := late(t, "srv__write_a")
			w.sayOld("pour the concrete", 3*time.Hour)
			w.shown(1)
			w.settled()
			answer(w)
			w.shown(2)
			w.settled()
			if n := w.count(`SELECT COUNT(*) FROM turn WHERE state = 'done' AND outcome = 'stopped'`); n != 1 || w.tools.ran("write_a") != 0 {
				t.Errorf("%d turns were stopped, the tool ran %d times\n%s", n, w.tools.ran("write_a"), w.rows())
			}
			w.model.becomes(echo)
			w.sayFresh("good morning")
			checkCallsAnswered(t, w.model.asked()[0])
		})
	}
}

func TestWhoeverWritesAgainInsteadLeavesTheOldTextBehind(t *testing.T) {
	w := late(t)
	w.sayOld("pour the concrete", 3*time.Hour)
	w.shown(1)
	w.settled()
	w.chat.say(t, "ann", "is it raining?")
	got := w.shown(3)
	if !strings.Contains(got[0], "Not answered") || got[1] != "I have left your earlier message alone." || got[2] != "you said: is it raining?" {
		t.Errorf("the chat shows %q", got)
	}
	w.settled()
	if n := w.count(`SELECT COUNT(*) FROM turn WHERE outcome = 'superseded'`); n != 1 {
		t.Errorf("%d turns are superseded\n%s", n, w.rows())
	}
	told := w.model.asked()[0].Entries // the model knows of both, and that the first was left
	if len(told) != 3 || told[0].Text != "pour the concrete" || told[1].Role != ports.RoleAssistant {
		t.Errorf("the model was told %+v", told)
	}
}

func TestOldTextWithNewTextBehindItIsLeftAlone(t *testing.T) {
	w := late(t)
	w.chat.mu.Lock()
	in := w.chat.in
	w.chat.mu.Unlock()
	var b ports.Batch
	for i, text := range []string{"pour the concrete", "and smooth it", "hello?"} {
		m := ports.Message{Event: "e" + text, ID: ports.MessageID(text), From: "ann", Private: true, Addressed: true, Text: text, In: ports.Conversation{Chat: "ann"}}
		if i < 2 {
			m.At = time.Now().Add(-5 * time.Hour)
		}
		b.Messages = append(b.Messages, m)
	}
	if err := in.Receive(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	got := w.shown(2)
	if got[0] != "I have left your earlier message alone." || got[1] != "you said: hello?" {
		t.Errorf("the chat shows %q", got)
	}
	w.settled()
}

func TestATurnThatALongOutageCutOffAsksBeforeItGoesOn(t *testing.T) {
	w := newWorld(t)
	w.stale = time.Hour
	w.model.reply = calls("srv__ask_a", "srv__write_a")
	f := w.startFailing(2, killAfter) // of Accept, and of the reply with its question
	w.chat.say(t, "ann", "go")
	<-f.died
	w.bury(f)
	w.exec(`UPDATE inbox SET received = received - 7200000`)
	w.exec(`DELETE FROM question`) // as if it had died before it asked
	w.exec(`DELETE FROM outbox`)
	w.exec(`UPDATE turn SET state = 'run', question = ''`)
	w.start()
	if got := w.shown(1)[0]; !strings.Contains(got, "2 hours ago") {
		t.Fatalf("it goes on with %q", got)
	}
	w.settled()
	w.chat.press(t, "ann", 0, "yes")
	if got := w.shown(2)[1]; !strings.Contains(got, "May I run") {
		t.Fatalf("after the yes: %q\n%s", got, w.rows())
	}
	w.settled()
	w.chat.press(t, "ann", 1, "yes")
	if got := w.shown(3)[2]; !strings.Contains(got, "result of ask_a") || w.tools.ran("ask_a") != 1 || w.tools.ran("write_a") != 1 {
		t.Errorf("in the end: %q, ask_a ran %d times, write_a %d times", got, w.tools.ran("ask_a"), w.tools.ran("write_a"))
	}
}

func TestInAGroupOldTextWaitsForItsOwnPerson(t *testing.T) {
	w := late(t)
	group := ports.Conversation{Chat: "kitchen"}
	w.chat.receive(t, ports.Message{From: "ann", Text: "pour the concrete", In: group, At: time.Now().Add(-2 * time.Hour)})
	w.shown(1)
	w.settled()
	w.chat.press2(t, "bob", 0, "yes")
	w.chat.receive(t, ports.Message{From: "bob", Text: "hi", In: group})
	w.shown(1) // neither his press nor his message settles it
	w.chat.press2(t, "ann", 0, "yes")
	got := w.shown(3)
	if !strings.HasSuffix(got[1], "pour the concrete") || !strings.HasSuffix(got[2], "hi") {
		t.Errorf("the chat shows %q", got)
	}
}

// press2 presses a button in a group.
func (c *chat) press2(t *testing.T, from string, i int, value string) {
	t.Helper()
	p := c.post(i)
	for _, ch := range p.out.Content.Choices {
		if ch.Value == value {
			c.receive(t, ports.Message{From: from, In: ports.Conversation{Chat: p.out.In.Chat}, Choice: &ports.Choice{Question: ch.Question, Field: ch.Field, Value: value}})
		}
	}
}
