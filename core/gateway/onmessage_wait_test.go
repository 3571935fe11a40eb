package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/ask"
)

// waiting is a world in which a message waits while a question is open. The
// question is asked, and two messages wait for it.
func waiting(t *testing.T) *world {
	w := newWorld(t)
	w.opt.Ask.OnMessage, w.opt.Ask.Expires = ask.Wait, 10*time.Minute
	w.model.reply = byWord
	w.start()
	w.chat.say(t, "ann", "srv__ask_a")
	w.within(time.Second, "ann", "May I run")
	w.chat.say(t, "ann", "one")
	w.chat.say(t, "ann", "two")
	time.Sleep(time.Second)
	synctest.Wait()
	w.within(0, "ann", "May I run")
	if q := w.chat.post(0); len(q.out.Content.Choices) != 2 {
		t.Fatalf("the question that others wait for shows %+v", q.out.Content)
	}
	if n := w.g.Busy() + w.count(`SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL`); n > 0 {
		t.Fatalf("a question that messages wait for is held by the process: %d", n)
	}
	return w
}

func TestWithWaitAMessageWaitsForTheQuestion(t *testing.T) {
	t.Parallel()
	const both = "answer to: one\n\ntwo"
	for name, c := range map[string]struct {
		do   func(w *world)
		want []string
		runs int
		kept int
	}{
		"a press": {func(w *world) { w.chat.batch(w.t, w.chat.post(0).pressed("ann", "yes")) },
			[]string{"You said: Yes", "answer to: result of ask_a", both}, 1, 4},
		"a no": {func(w *world) { w.chat.batch(w.t, w.chat.post(0).pressed("ann", "no")) },
			[]string{"You said: No", "answer to: Not run: the person said no.", both}, 0, 4},
		"a typed yes": {func(w *world) { w.chat.say(w.t, "ann", "yes") },
			[]string{"You said: Yes", "answer to: result of ask_a", both}, 1, 4},
		"a typed yes, and more": {func(w *world) { w.chat.batch(w.t, said("ann", "yes"), said("ann", "three")) },
			[]string{"You said: Yes", "answer to: result of ask_a", both + "\n\nthree"}, 1, 5},
		"a stop": {func(w *world) { w.chat.say(w.t, "ann", "/stop") },
			[]string{"*Stopped.*", "Stopped."}, 0, 4}, // what was written before it ends with it
		"a stop, and more": {func(w *world) { w.chat.batch(w.t, said("ann", "/stop"), said("ann", "three")) },
			[]string{"*Stopped.*", "Stopped.", "answer to: three"}, 0, 5},
		"nothing": {func(*world) { time.Sleep(10*time.Minute + 2*time.Second) },
			[]string{"Not answered in time.", "answer to: Not run: the person did not answer", both}, 0, 3},
		"a command": {func(w *world) {
			w.chat.say(w.t, "ann", "/help")
			time.Sleep(time.Second)
			w.chat.batch(w.t, w.chat.post(0).pressed("ann", "yes"))
		}, []string{"You said: Yes", "/help shows this", "answer to: result of ask_a", both}, 1, 5},
		"a stranger's press": {func(w *world) {
			w.chat.batch(w.t, w.chat.post(0).pressed("eve", "yes"))
			time.Sleep(time.Second)
			w.within(0, "ann", "May I run")
			w.chat.batch(w.t, w.chat.post(0).pressed("ann", "no"))
		}, []string{"You said: No", "answer to: Not run: the person said no.", both}, 0, 4},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(name, restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := waiting(t)
					if restart {
						w.restart()
						time.Sleep(2 * time.Second)
						w.within(0, "ann", "May I run")
					}
					c.do(w)
					w.within(3*time.Second, "ann", c.want...)
					w.comesToRest()
					if n := w.tools.ran("ask_a"); n != c.runs {
						t.Errorf("the tool ran %d times, want %d", n, c.runs)
					}
					w.sound(c.kept)
					w.end()
				})
			})
		}
	}
}

// A message that came in while the turn was at work waits for its question too.
func TestWithWaitAMessageBeforeTheQuestionWaitsForIt(t *testing.T) {
	w := newWorld(t)
	w.opt.Ask.OnMessage = ask.Wait
	gate := make(chan struct{})
	w.model.reply = gated(gate, byWord)
	w.start()
	w.chat.say(t, "ann", "srv__ask_a")
	eventually(t, "the model is asked", func() bool { return len(w.model.asked()) == 1 })
	w.chat.say(t, "ann", "one")
	close(gate)
	q := w.asking()
	w.comesToRestBut("wait")
	w.chat.batch(t, q.pressed("ann", "yes"))
	w.comesToRest()
	got := w.chat.texts()
	if len(got) != 3 || got[1] != "answer to: result of ask_a" || got[2] != "answer to: one" {
		t.Errorf("the chat shows %q", got)
	}
	w.sound(3)
}

// Wait holds in a group too: what its person writes waits, what others write waits
// no longer than the group's time.
func TestWithWaitOthersWaitNoLongerThanTheGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opt.Ask.OnMessage = ask.Wait
		w.model.reply = byTheirWord
		w.start()
		w.chat.receive(t, inGroup("ann", "srv__ask_a"))
		w.within(time.Second, "group", "May I run")
		w.chat.receive(t, inGroup("ann", "one"))
		time.Sleep(10 * time.Minute)
		w.within(0, "group", "May I run")
		w.chat.receive(t, inGroup("bob", "two"))
		time.Sleep(w.opt.Ask.GroupWait - time.Second)
		w.within(0, "group", "May I run")
		w.within(3*time.Second, "group", "Not answered in time.", "did not answer", "answer to: one", "answer to: two")
		w.comesToRest()
		if got := strings.Join(w.column(`SELECT turn FROM inbox ORDER BY seq`), " "); got != "chat:group#1 chat:group#2 chat:group#3" {
			t.Errorf("the messages are of %s", got)
		}
		w.sound(3)
		w.end()
	})
}
