package gateway_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

func TestAYesRunsTheToolOnce(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a")
	w.start()
	w.chat.say(t, "ann", "go")
	q := w.shown(1)[0]
	if !strings.Contains(q, "srv__ask_a") || !strings.Contains(q, `"n": 0`) {
		t.Errorf("the question does not say what will be called: %q", q)
	}
	w.chat.press(t, "eve", 0, "yes") // a stranger's press
	w.settled()
	if w.tools.ran("ask_a") != 0 {
		t.Fatal("a stranger's press ran the tool")
	}
	post := w.chat.post(0)
	w.restart()
	w.chat.press(t, "ann", 0, "yes")
	got := w.shown(2)
	if got[1] != "result of ask_a" {
		t.Errorf("the answer is %q", got[1])
	}
	w.settled()
	if c := w.chat.post(0).out.Content; len(c.Choices) > 0 || !strings.Contains(c.Text, "You said: Yes") {
		t.Errorf("the answered question still shows %+v", c)
	}
	choice := post.out.Content.Choices[0]
	w.chat.receive(t, ports.Message{From: "ann", Private: true, Choice: &choice}) // pressed again, late
	w.settled()
	if n := w.tools.ran("ask_a"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	w.shown(2)
}

func TestANoIsToldToTheModel(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a")
	w.start()
	w.chat.say(t, "ann", "go")
	w.shown(1)
	w.chat.press(t, "ann", 0, "no")
	if got := w.shown(2)[1]; got != "Not run: the person said no." {
		t.Errorf("the answer is %q", got)
	}
	if w.tools.ran("ask_a") != 0 {
		t.Error("the tool ran")
	}
}

func TestATypedYesIsAnAnswer(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a")
	w.start()
	w.chat.say(t, "ann", "go")
	w.shown(1)
	w.chat.say(t, "ann", "Yes!")
	if got := w.shown(2)[1]; got != "result of ask_a" {
		t.Errorf("the answer is %q", got)
	}
}

func TestSeveralQuestionsComeOneAfterAnother(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a", "srv__read_a", "srv__ask_b")
	w.start()
	w.chat.say(t, "ann", "go")
	w.shown(1)
	w.chat.press(t, "ann", 0, "yes")
	if q := w.shown(2)[1]; !strings.Contains(q, "srv__ask_b") {
		t.Fatalf("the second question is %q", q)
	}
	if w.tools.ran("ask_b") != 0 {
		t.Fatal("the first yes approved the second call")
	}
	w.chat.press(t, "ann", 1, "no")
	want := "result of ask_a\nresult of read_a\nNot run: the person said no."
	if got := w.shown(3)[2]; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
}

func TestAnotherMessageSupersedesTheQuestionAndJoins(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a", "srv__ask_b")
	w.start()
	w.chat.say(t, "ann", "go")
	w.shown(1)
	w.chat.say(t, "ann", "rather not")
	want := "Not run: the person did not answer the question whether it may run.\nNot run: the person did not answer the question whether it may run.\nuser: rather not"
	if got := w.shown(2)[1]; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	w.settled()
	if n := len(w.model.asked()); n != 2 {
		t.Errorf("the model was asked %d times, want 2: the message joined once", n)
	}
}

func TestAQuestionThatExpiresLetsTheTurnGoOn(t *testing.T) {
	w := newWorld(t)
	w.opt.Ask.Expires = 10 * time.Millisecond
	w.model.reply = calls("srv__ask_a")
	w.start()
	w.chat.say(t, "ann", "go")
	if got := w.shown(2)[1]; !strings.Contains(got, "did not answer") {
		t.Errorf("the answer is %q", got)
	}
	if w.tools.ran("ask_a") != 0 {
		t.Error("the tool ran")
	}
}
