package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/ports"
)

// Whoever mends a message twenty times in a second is asked once whether it is to be
// done again, and what is done then is what it reads at last.
func TestManyEditsAfterTheAnswerAreOneOffer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.tell("one")
	for i := range 20 {
		w.chat.edit(t, "ann", "in-1", fmt.Sprint("one ", i))
	}
	w.settled()
	if texts := w.chat.texts(); len(texts) != 2 || !strings.HasPrefix(texts[1], "You edited") {
		t.Fatalf("the chat shows %q", texts)
	}
	w.tell("two")
	w.chat.edit(t, "ann", "in-1", "one at last") // the offer is out of sight: there is another
	w.shown(4)
	w.settled()
	if first := w.chat.post(1).out.Content; len(first.Choices) > 0 || !strings.Contains(first.Text, "again below") {
		t.Errorf("the offer before reads %q, with %v", first.Text, first.Choices)
	}
	w.chat.press(t, "ann", 3, "redo")
	w.shown(5)
	w.settled()
	if told := w.model.heard(); !slices.Equal(told, []string{"user one at last"}) {
		t.Errorf("the model was told %q", told)
	}
	w.sound(24)
}

// Twenty edits while a tool runs are one thing that the model hears.
func TestManyEditsDuringATurnAreOneWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = inWrite.answering
		w.tools.onCall = func(ctx context.Context, _ string) { idle(ctx, 5*time.Second) }
		w.start()
		w.chat.say(t, "ann", "first")
		time.Sleep(time.Second)
		for i := range 20 {
			time.Sleep(50 * time.Millisecond)
			w.chat.edit(t, "ann", "in-1", fmt.Sprint("one ", i))
		}
		time.Sleep(time.Minute)
		w.comesToRest()
		if told := strings.Join(w.model.heard(), "|"); strings.Count(told, "has edited") != 1 || !strings.HasSuffix(told, "one 19") {
			t.Errorf("the model was told %q", told)
		}
		w.sound(21)
	})
}

// Who has one message done again, and then one that was said after it, has both: what
// is out of the history already does not take out what stands in its place.
func TestARedoOfWhatARedoUndidKeepsThat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.tell("one")
	w.tell("tow")
	w.tell("thre")
	w.chat.edit(t, "ann", "in-2", "two")
	w.shown(4)
	w.settled()
	w.chat.press(t, "ann", 3, "redo")
	w.shown(5)
	w.settled()
	w.chat.edit(t, "ann", "in-3", "three")
	w.shown(6)
	w.settled()
	w.chat.press(t, "ann", 5, "redo")
	w.shown(7)
	w.settled()
	want := []string{"user one", "assistant you said: one", "user two", "assistant you said: two", "user three"}
	if told := w.model.heard(); !slices.Equal(told, want) {
		t.Errorf("the redo was told %q, want %q", told, want)
	}
	w.restart()
	w.tell("four")
	if told := w.model.heard(); !slices.Equal(told[:5], want) {
		t.Errorf("after it the model was told %q", told)
	}
	w.sound(8)
}

// A redo of what was said before /new goes back to there, and is asked about as ever.
func TestARedoGoesBackBehindANewConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.tell("one")
	w.tell("tow")
	w.chat.edit(t, "ann", "in-2", "two")
	w.shown(3)
	w.tell("/new")
	w.tell("three")
	w.chat.press(t, "ann", 2, "redo")
	w.shown(6)
	w.settled()
	want := []string{"user one", "assistant you said: one", "user two"}
	if told := w.model.heard(); !slices.Equal(told, want) {
		t.Errorf("the redo was told %q, want %q", told, want)
	}
	w.sound(6)
}

// A redo of what a summary stands for is told the turns before it, and not the summary.
func TestARedoOfWhatIsSummarised(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if r.NoCalls {
			return says("They counted.")
		}
		return echo(ctx, r)
	}
	w.start()
	pad := strings.Repeat(" and so on", 20)
	w.tell("one" + pad)
	w.tell("tow" + pad)
	w.tell("three" + pad)
	w.tell("/compact")
	w.tell("four")
	w.chat.edit(t, "ann", "in-2", "two")
	w.shown(6)
	w.settled()
	w.chat.press(t, "ann", 5, "redo")
	w.shown(7)
	w.settled()
	want := []string{"user one" + pad, "assistant you said: one" + pad, "user two"}
	for range 2 {
		if told := w.model.heard(); !slices.Equal(told[:3], want) {
			t.Errorf("the model was told %q, want %q", told, want)
		}
		w.restart()
		w.tell("five")
	}
}

// A redo that is pressed while another turn runs waits for it, and takes it out.
func TestARedoWhileAnotherTurnRuns(t *testing.T) {
	t.Parallel()
	for _, mode := range []ports.Busy{ports.BusyQueue, ports.BusySteer, ports.BusyInterrupt, ports.BusyCollect} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.agent = func(a *agent.Config) { a.Busy = mode }
				w.model.reply, w.model.dwell = echo, lasts(10*time.Second)
				w.start()
				w.chat.say(t, "ann", "oen")
				time.Sleep(15 * time.Second)
				w.chat.edit(t, "ann", "in-1", "one")
				time.Sleep(time.Second)
				w.chat.say(t, "ann", "two")
				time.Sleep(5 * time.Second)
				press := w.chat.post(1).pressed("ann", "redo")
				w.chat.receive(t, press)
				w.chat.receive(t, press)
				time.Sleep(time.Minute)
				w.comesToRest()
				texts := w.chat.texts()
				if len(texts) != 4 || texts[2] != "you said: two" || texts[3] != "you said: one" {
					t.Errorf("the chat shows %q", texts)
				}
				if told := w.model.heard(); !slices.Equal(told, []string{"user one"}) {
					t.Errorf("the redo was told %q", told)
				}
				w.sound(4)
			})
		})
	}
}

// A redo that is pressed while a question is open is what its person wants instead.
func TestARedoWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = byWord
	w.start()
	w.tell("oen")
	w.chat.edit(t, "ann", "in-1", "one")
	w.shown(2)
	w.settled()
	w.chat.say(t, "ann", "srv__ask_a")
	w.asking()
	w.comesToRestBut("wait")
	w.chat.press(t, "ann", 1, "redo")
	w.comesToRest()
	texts := w.chat.texts()
	if last := texts[len(texts)-1]; last != "answer to: one" || !strings.Contains(texts[2], "Not answered: you wrote something else") {
		t.Errorf("the chat shows %q", texts)
	}
	if n := w.tools.ran("ask_a"); n != 0 {
		t.Errorf("the tool ran %d times", n)
	}
}

// A deletion takes the offer to do the message again with it.
func TestADeletionTakesItsOfferAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.tell("one")
	w.chat.edit(t, "ann", "in-1", "two")
	w.shown(2)
	w.settled()
	press := w.chat.post(1).pressed("ann", "redo")
	w.chat.deletes(t, "ann", "in-1")
	w.settled()
	if c := w.chat.post(1).out.Content; len(c.Choices) > 0 {
		t.Errorf("the offer reads %q, with %v", c.Text, c.Choices)
	}
	w.chat.receive(t, press)
	w.settled()
	if n := len(w.chat.texts()); n != 2 {
		t.Errorf("the chat shows %q", w.chat.texts())
	}
	w.nowhere("one")
	w.nowhere("two")
}
