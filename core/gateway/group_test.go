package gateway_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// theQuestion is a world in which ann was asked something in a group, with the
// prompt's id.
func theQuestion(t *testing.T) (*world, post) {
	w := newWorld(t)
	w.model.reply = byTheirWord
	w.start()
	w.chat.receive(t, inGroup("ann", "srv__ask_a"))
	w.within(time.Second, "group", "May I run")
	return w, w.chat.post(0)
}

// replying is a message of a group that replies to another.
func replying(from, text string, to post) ports.Message {
	m := inGroup(from, text)
	m.ReplyTo = to.id
	return m
}

// In a group a question is answered by its person alone: not by a press, a reply
// or a stop of somebody else, and not by its person's own yes to somebody else.
func TestInAGroupAQuestionIsItsPersonsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, q := theQuestion(t)
		w.chat.batch(t, q.pressed("bob", "yes"), replying("bob", "yes", q), inGroup("bob", "/stop"), inGroup("eve", "no"))
		w.within(time.Second, "group", "May I run", "Only the person whose question")
		if n := w.tools.ran("ask_a"); n > 0 {
			t.Error("somebody else's yes ran the tool")
		}
		if got := w.column(`SELECT state FROM question`); !slices.Equal(got, []string{"open"}) {
			t.Errorf("the question is %q", got)
		}
		w.chat.batch(t, replying("ann", "Yes!", q))
		w.within(time.Second, "group", "You said: Yes", "Only the person whose question", "answer to: result of ask_a", "answer to: yes", "answer to: no")
		if n := w.tools.ran("ask_a"); n != 1 {
			t.Errorf("the tool ran %d times", n)
		}
		w.comesToRest()
		w.sound(5) // a press of somebody else is no message
		w.end()
	})
}

// The first message of somebody else brings the question's end near, and no later
// one moves it: nobody waits longer than the group's time for a silent person.
func TestInAGroupOthersWaitForAQuestionNoLongerThanSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, q := theQuestion(t)
		time.Sleep(10 * time.Minute) // alone, it may take as long as questions may
		w.within(0, "group", "May I run")
		began := time.Now()
		w.chat.receive(t, inGroup("bob", "one"))
		time.Sleep(50 * time.Second)
		w.chat.receive(t, inGroup("eve", "two"))
		w.chat.receive(t, inGroup("bob", "three"))
		w.restart() // nothing of it is in memory
		w.within(0, "group", "May I run")
		var told time.Time
		w.chat.mu.Lock()
		w.chat.onSend = func(ports.Outgoing) {
			if told.IsZero() {
				told = time.Now()
			}
		}
		w.chat.mu.Unlock()
		w.within(20*time.Second, "group", "Not answered in time.", "did not answer", "answer to: one", "answer to: two", "answer to: three")
		if took := told.Sub(began); took < time.Minute || took > time.Minute+2*time.Second {
			t.Errorf("the turn went on %s after the first message of somebody else", took)
		}
		w.chat.batch(t, q.pressed("ann", "yes")) // too late
		time.Sleep(time.Second)
		if n := w.tools.ran("ask_a"); n != 0 {
			t.Errorf("the tool ran %d times", n)
		}
		w.comesToRest()
		w.sound(4)
		w.end()
	})
}

// Order is kept: what its person says instead joins the turn, what others said
// before that comes behind it, one turn for each run of one person's messages.
func TestInAGroupTurnsKeepTheOrderOfTheirPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := theQuestion(t)
		for _, m := range []ports.Message{inGroup("bob", "2"), inGroup("bob", "3"), inGroup("eve", "4"), inGroup("bob", "5"),
			inGroup("ann", "6"), inGroup("ann", "7"), inGroup("eve", "8")} {
			w.chat.receive(t, m)
		}
		time.Sleep(2 * time.Second)
		w.comesToRest()
		got := w.column(`SELECT turn || ' ' || group_concat(seq) FROM (SELECT turn, seq FROM inbox ORDER BY seq) GROUP BY turn ORDER BY MIN(seq)`)
		joined := []string{"chat:group#1 1,6", "chat:group#2 2,3", "chat:group#4 4", "chat:group#5 5", "chat:group#7 7", "chat:group#8 8"}
		both := []string{"chat:group#1 1,6,7", "chat:group#2 2,3", "chat:group#4 4", "chat:group#5 5", "chat:group#8 8"} // 7 was there when the turn went on
		if !slices.Equal(got, joined) && !slices.Equal(got, both) {
			t.Errorf("the turns are %q, want %q or %q", got, joined, both)
		}
		w.sound(8)
		w.end()
	})
}

// Threads of a chat are conversations of their own: a question in one waits for
// nobody in another.
func TestThreadsOfAGroupDoNotWaitForOneAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, q := theQuestion(t)
		m := inGroup("ann", "hello")
		m.In.Thread = "2"
		w.chat.receive(t, m)
		w.within(time.Second, "group", "May I run", "answer to: hello")
		elsewhere := q.pressed("ann", "yes")
		elsewhere.In.Thread = "2"
		w.chat.batch(t, elsewhere)
		w.within(time.Second, "group", "May I run", "answer to: hello")
		w.chat.batch(t, q.pressed("ann", "no"))
		w.within(time.Second, "group", "You said: No", "answer to: hello", "said no")
		w.comesToRest()
		w.sound(3)
		w.end()
	})
}
