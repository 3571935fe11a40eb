package gateway_test

import (
	"context"
	"strings"
	"testing"

	"dragoman/ports"
)

// What is deleted is gone where somebody quotes it as well, and from summaries of that.
func TestWhatIsDeletedIsNotQuoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if r.NoCalls {
			return says("They spoke of a secret.")
		}
		return says("ok")
	}
	w.start()
	w.tell("my secret")
	w.tell("/new")
	w.chat.receive(t, ports.Message{From: "ann", Name: "ann", Private: true, ReplyTo: "in-1", Quote: &ports.Quote{Text: "my secret"}, Text: "what of this? " + strings.Repeat("and so on ", 20)})
	w.shown(3)
	w.settled()
	if told := strings.Join(w.model.heard(), "|"); !strings.Contains(told, "secret") {
		t.Fatalf("the model was told %q", told)
	}
	w.tell("/compact")
	w.tell("hello")
	w.chat.deletes(t, "ann", "in-1")
	w.nowhere("secret")
	for range 2 {
		w.tell("hello again")
		if told := strings.Join(w.model.heard(), "|"); strings.Contains(told, "secret") || !strings.Contains(told, "what of this?") {
			t.Errorf("the model was told %q", told)
		}
		w.restart()
	}
}

// To forget what the bot said is to forget what it answered: it says so.
func TestForgetOfTheBotsOwnWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.tell("one")
	w.chat.forget(t, "ann", "1")
	if texts := w.shown(2); !strings.Contains(texts[1], "what you wrote yourself") {
		t.Errorf("the chat shows %q", texts)
	}
}

// A deletion while a question is open ends the turn if the message is of it, and
// leaves the question alone if it is not.
func TestADeletionBesideAnOpenQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = byWord
	w.start()
	w.tell("one")
	w.chat.say(t, "ann", "srv__ask_a")
	w.asking()
	w.comesToRestBut("wait")
	w.chat.deletes(t, "ann", "in-1")
	w.comesToRestBut("wait")
	if n := len(w.chat.post(1).out.Content.Choices); n != 2 {
		t.Fatalf("the question has %d buttons:\n%q", n, w.chat.texts())
	}
	w.chat.press(t, "ann", 1, "yes")
	w.comesToRest()
	if n := w.tools.ran("ask_a"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if told := strings.Join(w.model.heard(), "|"); strings.Contains(told, "one") {
		t.Errorf("the model was told %q", told)
	}
}
