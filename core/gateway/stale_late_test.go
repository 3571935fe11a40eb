package gateway_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// The yes came in, the process died at once and was down for two hours: the tool
// must not just run.
func TestAYesThatALongOutageCutOffIsAskedAboutAgain(t *testing.T) {
	w := newWorld(t)
	w.stale = time.Hour
	w.model.reply = calls("srv__ask_a")
	f := w.startFailing(4, killAfter) // Accept, Park, Delivered; then the press
	w.chat.say(t, "ann", "go")
	w.shown(1)
	w.settled()
	_ = w.chat.try(t.Context(), ports.Message{Event: "press", Choice: &w.chat.post(0).out.Content.Choices[0]})
	<-f.died
	w.bury(f)
	w.exec(`UPDATE inbox SET received = received - 7200000`)
	w.start()
	eventually(t, "something is said", func() bool { return len(w.chat.texts()) > 1 })
	w.settled()
	if n := w.tools.ran("ask_a"); n != 0 {
		t.Errorf("two hours after the yes the tool ran %d times, unasked: %q\n%s", n, w.chat.texts(), w.rows())
	}
}

// The same for the yes to the question whether it is still wanted.
func TestAYesToAStaleQuestionGrowsStaleItself(t *testing.T) {
	w := late(t, "srv__write_a")
	w.end()
	f := w.startFailing(4, killAfter) // Accept, Park, Delivered; then the press
	w.sayOld("pour the concrete", 3*time.Hour)
	w.shown(1)
	w.settled()
	_ = w.chat.try(t.Context(), ports.Message{Event: "press", Choice: &w.chat.post(0).out.Content.Choices[0]})
	<-f.died
	w.bury(f)
	w.exec(`UPDATE inbox SET received = received - 172800000`)
	w.start()
	eventually(t, "something is said", func() bool { return len(w.chat.texts()) > 1 })
	w.settled()
	if n := w.tools.ran("write_a"); n != 0 {
		t.Errorf("two days after the yes the tool ran %d times, unasked: %q", n, w.chat.texts())
	}
}

// What the platform kept for hours says nothing about a question that its writer
// had not seen: it waits for it, and is then asked about itself.
func TestOldTextThatComesWhileAQuestionIsOpenIsNoAnswerToIt(t *testing.T) {
	for _, text := range []string{"pour the concrete", "yes"} {
		t.Run(text, func(t *testing.T) {
			w := late(t, "srv__ask_a")
			w.chat.say(t, "ann", "go")
			w.shown(1)
			w.settled()
			w.sayOld(text, 5*time.Hour)
			comesToWait(t, w, 1)
			w.chat.press(t, "ann", 0, "no")
			got := w.shown(3)
			if !strings.Contains(got[2], "> "+text) || w.tools.ran("ask_a") != 0 {
				t.Errorf("the tool ran %d times, the chat shows %q", w.tools.ran("ask_a"), got)
			}
			for _, r := range w.model.asked() {
				if strings.Contains(lastSaid(r), text) {
					t.Errorf("the model was told %q, unasked", lastSaid(r))
				}
			}
		})
	}
}

// comesToWait waits until so many messages wait and nothing runs.
func comesToWait(t *testing.T, w *world, n int) {
	t.Helper()
	eventually(t, "messages wait", func() bool {
		return w.count(`SELECT COUNT(*) FROM inbox WHERE turn IS NULL`) == n && w.g.Busy() == 0
	})
}

// A backlog that comes in two receipts: the second old message is not "something
// else" that they wrote meanwhile.
func TestABacklogInTwoReceiptsIsNotThrownAway(t *testing.T) {
	w := late(t)
	w.sayOld("pour the concrete", 5*time.Hour)
	w.shown(1)
	w.settled()
	w.sayOld("and smooth it", 5*time.Hour-time.Minute)
	comesToWait(t, w, 1)
	w.chat.press(t, "ann", 0, "yes")
	got := w.shown(3)
	if got[1] != "you said: pour the concrete" || !strings.Contains(got[2], "> and smooth it") {
		t.Errorf("the chat shows %q", got)
	}
}
