package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// A platform that never heard a receipt delivers everything anew after each thing
// that happens, one by one, all in one batch and backwards, also after a restart:
// the chat is the one in which each update came once.
func TestWhatComesAgainChangesNothing(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint(restart), func(t *testing.T) {
			w := newWorld(t)
			w.model.reply = byWord
			w.start()
			var all []ports.Message
			again := func() {
				w.comesToRestBut("wait")
				if restart {
					w.restart()
				}
				before := w.rows()
				for _, m := range all {
					w.chat.batch(t, m)
				}
				w.chat.batch(t, all...)
				back := slices.Clone(all)
				slices.Reverse(back)
				w.chat.batch(t, back...)
				w.chat.batch(t, append(slices.Clone(all), all...)...)
				w.comesToRestBut("wait")
				if after := w.rows(); after != before {
					t.Fatalf("what came again left a trace: before\n%s\nafter\n%s", before, after)
				}
			}
			do := func(shown int, list ...ports.Message) post {
				t.Helper()
				all = append(all, w.chat.batch(t, list...)...)
				eventually(t, fmt.Sprintf("%d messages are shown", shown), func() bool { return len(w.chat.texts()) == shown })
				again()
				return w.chat.post(shown - 1)
			}
			q := do(1, said("ann", "srv__ask_a"))
			do(2, q.pressed("ann", "yes"))
			q2 := do(3, said("ann", "srv__ask_a"))
			do(4, said("ann", "rather not"), q2.pressed("ann", "yes"))
			q3 := do(5, said("ann", "srv__ask_b"))
			do(6, said("ann", "/help"))
			do(7, said("ann", "No."))
			do(7, q.pressed("ann", "no"), q2.pressed("ann", "yes"), q3.pressed("ann", "yes"))
			do(8, said("ann", "yes")) // no question is open: it is a message
			do(9, said("ann", "srv__ask_a"))
			do(10, said("ann", "/stop"))
			do(11, said("ann", "/stop"))
			if a, b := w.tools.ran("ask_a"), w.tools.ran("ask_b"); a != 1 || b != 0 {
				t.Errorf("the tools ran %d and %d times", a, b)
			}
			w.comesToRest()
			w.sound(11)
		})
	}
}

// A webhook that is retried may overtake itself: of many deliveries of one update
// at the same moment one is taken.
func TestOneUpdateManyTimesAtOnceIsOne(t *testing.T) {
	w := newWorld(t)
	w.model.reply = byWord
	w.start()
	at := func(f func(i int)) {
		var wait sync.WaitGroup
		start := make(chan struct{})
		for i := range 16 {
			wait.Go(func() { <-start; f(i) })
		}
		close(start)
		wait.Wait()
	}
	for round := range 5 {
		chat := fmt.Sprint("p", round)
		at(func(i int) {
			list := []ports.Message{said(chat, "srv__ask_a"), said(chat, "srv__ask_a")}
			list[0].Event, list[1].Event = chat+"-go", chat+"-go"
			w.chat.batch(t, list[:1+i%2]...)
		})
		eventually(t, "the question", func() bool { return len(w.inChat(chat)) == 1 })
		w.comesToRestBut("wait")
		q := w.lastIn(chat)
		at(func(i int) {
			m := q.pressed(chat, "yes")
			if m.Event = chat + "-yes"; i%2 == 1 {
				m.Event = fmt.Sprint(chat, "-yes-", i) // pressed again, which is another update
			}
			w.chat.batch(t, m)
		})
		w.comesToRest()
		if got := w.inChat(chat); len(got) != 2 || got[1] != "answer to: result of ask_a" {
			t.Errorf("the chat shows %q", got)
		}
		if n := w.tools.ran("ask_a"); n != round+1 {
			t.Errorf("after %d rounds the tool ran %d times", round+1, n)
		}
	}
	w.sound(10)
}

// lastIn is the last message of one chat.
func (w *world) lastIn(chat string) (last post) {
	for i := range w.chat.texts() {
		if p := w.chat.post(i); p.out.In.Chat == chat {
			last = p
		}
	}
	return last
}

// gun is a store in which presses wait for the sweep that finds what expired, and
// go with it; or one of the two waits for the other's end.
type gun struct {
	gateway.Store
	loaded, fired, expired chan struct{}
	once                   sync.Once
	first                  string
	pressed, some          sync.WaitGroup
	begun                  atomic.Int32
}

func (s *gun) Expire(ctx context.Context, limit int) (got ports.Accepted, err error) {
	select {
	case <-s.loaded:
	default:
		return ports.Accepted{}, nil // not yet
	}
	s.once.Do(func() {
		defer close(s.expired)
		close(s.fired)
		switch s.first {
		case "the press":
			s.pressed.Wait()
		case "at once":
			s.some.Wait() // in the midst of them
		}
		got, err = s.Store.Expire(ctx, limit)
	})
	return got, err
}

func (s *gun) Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error) {
	if b.Messages[0].Choice == nil {
		return s.Store.Accept(ctx, src, b, route)
	}
	defer s.pressed.Done()
	<-s.fired
	switch n := s.begun.Add(1); {
	case s.first == "the expiry":
		<-s.expired
	case n <= 10:
		s.some.Done()
	default: // not all in one commit
		<-time.After(time.Duration(n%20) * time.Millisecond / 4)
	}
	return s.Store.Accept(ctx, src, b, route)
}

// A press and the end of its question's time at the same moment: one of them wins,
// and the turn, the tool and what the prompt says all follow the same one.
func TestAPressAgainstAnExpiryHasOneOutcome(t *testing.T) {
	for _, first := range []string{"at once", "the press", "the expiry"} {
		t.Run(first, func(t *testing.T) {
			w := newWorld(t)
			const chats = 100
			w.opt.Ask.Expires = time.Millisecond
			w.opt.Turns = 4
			w.model.reply = byWord
			s := &gun{first: first, loaded: make(chan struct{}), fired: make(chan struct{}), expired: make(chan struct{})}
			w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
			for i := range chats {
				w.chat.say(t, fmt.Sprint("p", i), "srv__ask_a")
			}
			eventually(t, "all are asked", func() bool { return len(w.chat.texts()) == chats })
			w.comesToRestBut("wait")
			var presses sync.WaitGroup
			s.pressed.Add(chats)
			s.some.Add(10)
			for i := range chats {
				p := w.chat.post(i)
				presses.Go(func() { w.chat.batch(t, p.pressed(p.out.In.Chat, "yes")) })
			}
			close(s.loaded)
			presses.Wait()
			<-s.expired
			eventually(t, "all come to an end", w.over)
			yes, no := 0, 0
			for i := range chats {
				got := w.inChat(fmt.Sprint("p", i))
				switch {
				case len(got) == 2 && strings.Contains(got[0], "You said: Yes") && got[1] == "answer to: result of ask_a":
					yes++
				case len(got) == 2 && strings.Contains(got[0], "Not answered in time.") && strings.Contains(got[1], "did not answer"):
					no++
				default:
					t.Errorf("chat %d shows %q", i, got)
				}
			}
			if n := w.tools.ran("ask_a"); n != yes || yes+no != chats {
				t.Errorf("the tool ran %d times; %d chats show a yes, %d that time was over", n, yes, no)
			}
			if n := w.count(`SELECT COUNT(*) FROM question WHERE state = 'answered'`); n != yes {
				t.Errorf("%d questions are answered, %d chats show a yes", n, yes)
			}
			if first == "the press" && no > 0 || first == "the expiry" && yes > 0 {
				t.Errorf("%d yes, %d too late", yes, no)
			}
			w.sound(chats + yes) // a press that came too late is no message
			t.Logf("%d yes, %d too late", yes, no)
		})
	}
}

// A stop and a yes at the same moment: the turn ends as stopped, or, where it was
// over before the stop came, with its answer and "nothing is running"; the tool
// runs at most once, and never after a stop that came first.
func TestAStopAgainstAYesHasOneOutcome(t *testing.T) {
	w := newWorld(t)
	const chats = 100
	w.model.reply = byWord
	w.start()
	for i := range chats {
		w.chat.say(t, fmt.Sprint("p", i), "srv__ask_a")
	}
	eventually(t, "all are asked", func() bool { return len(w.chat.texts()) == chats })
	w.comesToRestBut("wait")
	var both sync.WaitGroup
	start := make(chan struct{})
	for i := range chats {
		p := w.chat.post(i)
		both.Go(func() { <-start; w.chat.batch(t, p.pressed(p.out.In.Chat, "yes")) })
		both.Go(func() { <-start; w.chat.say(t, p.out.In.Chat, "/stop") })
	}
	close(start)
	both.Wait()
	w.comesToRest()
	ran, stoppedFirst := 0, 0
	for i := range chats {
		chat := fmt.Sprint("p", i)
		got := w.inChat(chat)
		states := w.column(`SELECT state FROM question WHERE conv = 'chat:` + chat + `'`)
		starts := w.count(`SELECT COUNT(*) FROM step WHERE kind = 'start' AND turn = 'chat:` + chat + `#1'`)
		ran += starts
		switch {
		case len(got) == 2 && got[1] == "Stopped." && states[0] == "stopped" && starts == 0:
			stoppedFirst++
		case len(got) == 2 && got[1] == "Stopped." && states[0] == "answered":
		case len(got) == 3 && got[1] == "answer to: result of ask_a" && got[2] == "Nothing is running." && states[0] == "answered" && starts == 1:
		default:
			t.Errorf("%s shows %q; its question is %q and the tool began %d times", chat, got, states, starts)
		}
	}
	if n := w.tools.ran("ask_a"); n > ran || ran > chats-stoppedFirst {
		t.Errorf("the tool ran %d times, %d calls began, %d were stopped before", n, ran, stoppedFirst)
	}
	w.sound(3*chats - stoppedFirst)
	t.Logf("%d of %d stops came first", stoppedFirst, chats)
}

// What answers a question whose turn is over is no answer: a press is dropped, a
// typed yes is a message as any other.
func TestAnAnswerAfterTheEndOfItsTurnIsNone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, q post){
		"answered":   func(w *world, q post) { w.chat.batch(w.t, q.pressed("ann", "no")) },
		"superseded": func(w *world, _ post) { w.chat.say(w.t, "ann", "other") },
		"stopped":    func(w *world, _ post) { w.chat.say(w.t, "ann", "/stop") },
		"expired":    func(*world, post) { time.Sleep(11 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.opt.Ask.Expires = 10 * time.Minute
				w.model.reply = byWord
				w.start()
				w.chat.say(t, "ann", "srv__ask_a")
				w.within(time.Second, "ann", "May I run")
				q := w.chat.post(0)
				end(w, q)
				time.Sleep(time.Second)
				w.comesToRest()
				shown, stored := len(w.chat.texts()), w.count(`SELECT COUNT(*) FROM inbox`)
				w.chat.batch(t, q.pressed("ann", "yes"))
				w.restart()
				w.chat.batch(t, q.pressed("ann", "yes"))
				time.Sleep(2 * time.Second)
				if got := w.chat.texts(); len(got) != shown {
					t.Errorf("after a late press the chat shows %q", got)
				}
				w.chat.say(t, "ann", "yes")
				time.Sleep(time.Second)
				if got := w.chat.texts(); len(got) != shown+1 || got[shown] != "answer to: yes" {
					t.Errorf("after a late yes the chat shows %q", got)
				}
				if n := w.tools.ran("ask_a"); n != 0 {
					t.Errorf("the tool ran %d times", n)
				}
				w.sound(stored + 1)
				w.end()
			})
		})
	}
}

// The button of an earlier question, of another field, or with a value that is not
// offered does not answer the present one.
func TestAButtonAnswersItsOwnFieldAlone(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a", "srv__ask_b")
	w.start()
	w.chat.say(t, "ann", "go")
	first := w.asking()
	w.comesToRestBut("wait")
	w.chat.batch(t, first.pressed("ann", "yes"))
	eventually(t, "the second question", func() bool { return len(w.chat.texts()) == 2 })
	w.comesToRestBut("wait")
	second := w.chat.post(1)
	before := w.rows()
	other := second.pressed("ann", "yes")
	other.Choice.Field = "other"
	again := second.pressed("ann", "yes")
	again.Choice.Value = ports.AnswerAgain
	elsewhere := second.pressed("ann", "yes")
	elsewhere.In.Chat = "elsewhere"
	unknown := second.pressed("ann", "yes")
	unknown.Choice.Question = "0000000000000000"
	w.chat.batch(t, first.pressed("ann", "yes"), first.pressed("ann", "no"), other, again, elsewhere, unknown)
	w.settled()
	if after := w.rows(); after != before {
		t.Errorf("a button of something else left a trace: before\n%s\nafter\n%s", before, after)
	}
	w.chat.batch(t, second.pressed("ann", "no"))
	w.comesToRest()
	if a, b := w.tools.ran("ask_a"), w.tools.ran("ask_b"); a != 1 || b != 0 {
		t.Errorf("the tools ran %d and %d times", a, b)
	}
	w.sound(3)
}
