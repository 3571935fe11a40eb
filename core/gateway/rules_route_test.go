package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// routed is a store that asks for each route twice, as a store may that makes a
// commit again, and writes down which messages were routed.
type routed struct {
	gateway.Store
	t *testing.T

	mu     sync.Mutex
	events []string
}

func (s *routed) Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error) {
	return s.Store.Accept(ctx, src, b, func(sight ports.Sight) ports.Route {
		s.mu.Lock()
		s.events = append(s.events, sight.Message.Event)
		s.mu.Unlock()
		before := asJSON(sight)
		first, second := route(sight), route(sight)
		if a, b := asJSON(first), asJSON(second); a != b {
			s.t.Errorf("the second time %q is routed as\n%s\nthe first time as\n%s", sight.Message.Text, b, a)
		}
		if after := asJSON(sight); after != before {
			s.t.Errorf("routing %q changed what it was shown from\n%s\nto\n%s", sight.Message.Text, before, after)
		}
		return second
	})
}

func asJSON(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestRoutingIsPure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = byTheirWord
		s := &routed{t: t}
		w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
		said := func(text string) { w.chat.receive(t, inGroup("ann", text)) }
		said("srv__ask_a")
		w.within(time.Second, "group", "May I run")
		w.chat.receive(t, inGroup("bob", "hello")) // brings the question's end near
		q := w.chat.post(0)
		w.chat.batch(t, q.pressed("eve", "yes"), q.pressed("ann", "no"), q.pressed("ann", "yes"))
		w.within(time.Second, "group", "You said: No", "Not run: the person said no.", "answer to: hello")
		said("srv__ask_a")
		synctest.Wait()
		said("/help")
		said("rather not")
		said("srv__ask_a")
		synctest.Wait()
		said("/stop")
		said("/stop")
		synctest.Wait()
		if n := w.tools.ran("ask_a"); n != 0 {
			t.Errorf("the tool ran %d times", n)
		}
		w.sound(9) // the presses of a stranger and of what was answered are no messages
		w.end()
	})
}

func TestEachUnseenMessageIsRoutedOnceInOrder(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	s := &routed{t: t}
	w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
	a, b, c := said("ann", "a"), said("bob", "b"), said("ann", "c")
	a.Event, b.Event, c.Event = "7", "5", "6" // a platform's numbers are no order
	w.chat.batch(t, a, b, a, c)
	w.chat.batch(t, c, b, a)
	w.comesToRest()
	w.restart()
	w.chat.batch(t, a, b, c)
	w.comesToRest()
	if want := []string{"7", "5", "6"}; !slices.Equal(s.events, want) {
		t.Errorf("routed were %v, want %v", s.events, want)
	}
	if got := w.column(`SELECT event FROM inbox WHERE conv = 'chat:ann' ORDER BY seq`); !slices.Equal(got, []string{"7", "6"}) {
		t.Errorf("ann's messages stand as %v", got)
	}
	w.sound(3)
}

// What stands earlier in a batch is seen by what comes behind it: each of these
// batches is one poll of a platform, with the question open when it comes in.
func TestAMessageSeesThoseBeforeItInItsBatch(t *testing.T) {
	const ran, denied = "result of ask_a", "Not run: the person said no."
	for name, c := range map[string]struct {
		batch func(q post) []ports.Message
		want  []string // behind the question
		runs  int
		kept  int // of the batch
	}{
		"a yes, then a message": {func(q post) []ports.Message { return []ports.Message{q.pressed("ann", "yes"), said("ann", "and now?")} },
			[]string{ran, "answer to: and now?"}, 1, 2},
		"a message, then a yes": {func(q post) []ports.Message {
			return []ports.Message{said("ann", "rather not"), q.pressed("ann", "yes")}
		},
			[]string{"answer to: rather not"}, 0, 1},
		"a yes twice": {func(q post) []ports.Message { return []ports.Message{q.pressed("ann", "yes"), q.pressed("ann", "yes")} },
			[]string{ran}, 1, 1},
		"a no, then a yes": {func(q post) []ports.Message { return []ports.Message{q.pressed("ann", "no"), q.pressed("ann", "yes")} },
			[]string{denied}, 0, 1},
		"a typed yes twice": {func(post) []ports.Message { return []ports.Message{said("ann", "yes"), said("ann", "yes")} },
			[]string{ran, "answer to: yes"}, 1, 2},
		"a stop, then a yes": {func(q post) []ports.Message { return []ports.Message{said("ann", "/stop"), q.pressed("ann", "yes")} },
			[]string{"Stopped."}, 0, 1},
		"a stop twice": {func(post) []ports.Message { return []ports.Message{said("ann", "/stop"), said("ann", "/stop")} },
			[]string{"Stopped.", "Nothing is running."}, 0, 2},
		"a stranger's yes, then a no": {func(q post) []ports.Message { return []ports.Message{q.pressed("eve", "yes"), q.pressed("ann", "no")} },
			[]string{denied}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.reply = byWord
			w.start()
			w.chat.say(t, "ann", "srv__ask_a")
			q := w.asking()
			w.settled()
			batch := c.batch(q)
			batch = w.chat.batch(t, batch...)
			w.comesToRest()
			w.chat.batch(t, batch...) // the platform did not hear of it
			w.comesToRest()
			got := w.chat.texts()[1:]
			if len(got) != len(c.want) {
				t.Fatalf("behind the question the chat shows %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("behind the question the chat shows %q, want %q", got, c.want)
				}
			}
			if n := w.tools.ran("ask_a"); n != c.runs {
				t.Errorf("the tool ran %d times, want %d", n, c.runs)
			}
			w.sound(1 + c.kept)
		})
	}
}

// cutting is a store of which an Accept dies at a message of this text, after
// those before it in its batch were routed and written.
type cutting struct {
	gateway.Store
	at string
}

func (s *cutting) Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error) {
	return s.Store.Accept(ctx, src, b, func(sight ports.Sight) ports.Route {
		if s.at != "" && sight.Message.Text == s.at {
			panic("the process is cut off here")
		}
		return route(sight)
	})
}

// The answer, the end of its question and what takes its buttons off are one
// commit: cut off in the middle, it leaves nothing.
func TestAnAnswerAndWhatItChangesAreOneCommit(t *testing.T) {
	for name, answer := range map[string]func(q post) ports.Message{
		"a press":   func(q post) ports.Message { return q.pressed("ann", "yes") },
		"typed":     func(post) ports.Message { return said("ann", "yes") },
		"supersede": func(post) ports.Message { return said("ann", "rather not") },
		"a stop":    func(post) ports.Message { return said("ann", "/stop") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.reply = byWord
			s := &cutting{at: "cut here"}
			w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
			w.chat.say(t, "ann", "srv__ask_a")
			q := w.asking()
			w.settled()
			before := w.rows()
			m := answer(q)
			m.Event, m.ID, m.In.Chat = "answer", "in-answer", "ann"
			cut := said("ann", "cut here")
			cut.Event, cut.In.Chat = "cut", "ann"
			w.chat.mu.Lock()
			in := w.chat.in
			w.chat.mu.Unlock()
			if err := in.Receive(t.Context(), ports.Batch{Messages: []ports.Message{m, cut}, Cursor: "9"}); err == nil {
				t.Fatal("a batch that was cut off is taken")
			}
			if after := w.rows(); after != before {
				t.Errorf("a batch that was cut off left a trace: before\n%s\nafter\n%s", before, after)
			}
			s.at = ""
			w.chat.batch(t, m)
			w.comesToRest()
			if c := w.chat.post(0).out.Content; len(c.Choices) > 0 {
				t.Errorf("the question still shows %+v", c)
			}
			w.sound(2)
		})
	}
}

// A turn is called by the seq of its first message also while it has no row: what
// was posted of it before a crash is found by it after the crash.
func TestATurnHasItsNameBeforeItHasARow(t *testing.T) {
	w := newWorld(t)
	log := w.logged()
	w.model.reply = echo
	w.livesOnce()
	f := w.startFailing(2, killBefore) // after the accept, before the first row of the turn
	w.chat.batch(t, said("ann", "hello"), said("ann", "there"))
	<-f.died
	w.bury(f)
	w.start()
	w.shown(2)
	w.comesToRest()
	want := ports.TurnID(ports.Conversation{Channel: "chat", Chat: "ann"}, 2)
	var names []string
	for _, l := range log.find("turn_started") {
		names = append(names, fmt.Sprint(l["turn"]))
	}
	if !slices.Equal(names[1:], []string{want, want}) {
		t.Errorf("the turns that began are %v, want the last two to be %s", names, want)
	}
	w.sound(3)
}

// livesOnce lets a turn go by in an earlier life.
func (w *world) livesOnce() {
	w.t.Helper()
	w.start()
	w.chat.say(w.t, "ann", "first")
	w.shown(1)
	w.comesToRest()
	w.end()
}

func TestATurnTakesTheLeadingMessagesOfOnePerson(t *testing.T) {
	w := newWorld(t)
	gate := make(chan struct{})
	w.model.reply = gated(gate, echo)
	w.start()
	w.chat.receive(t, inGroup("zoe", "first"))
	eventually(t, "the model is asked", func() bool { return len(w.model.asked()) == 1 })
	for i, from := range []string{"ann", "ann", "bob", "ann", "ann", "ann", "bob", "bob"} {
		w.chat.receive(t, inGroup(from, fmt.Sprint(i+2)))
	}
	close(gate)
	w.comesToRest()
	got := w.column(`SELECT turn || ' ' || group_concat(seq) FROM (SELECT turn, seq FROM inbox ORDER BY seq) GROUP BY turn ORDER BY MIN(seq)`)
	want := []string{"1 1", "2 2,3", "4 4", "5 5,6,7", "8 8,9"}
	for i := range want {
		want[i] = "chat:group#" + want[i]
	}
	if !slices.Equal(got, want) {
		t.Errorf("the turns have the messages %q, want %q", got, want)
	}
	w.sound(9)
}

// An answer belongs to its question's turn, and a command that is answered at
// receipt is a turn of its own, also while another one waits for its person.
func TestAnAnswerIsItsTurnsAndACommandIsATurn(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a")
	w.start()
	w.chat.say(t, "ann", "go")
	q := w.asking()
	w.settled()
	w.chat.say(t, "ann", "/help")
	w.shown(2)
	w.settled()
	w.chat.batch(t, q.pressed("ann", "yes"))
	w.comesToRest()
	got := w.column(`SELECT i.route || ' ' || i.turn || ' ' || t.outcome FROM inbox i JOIN turn t ON t.id = i.turn ORDER BY i.seq`)
	want := []string{"lane chat:ann#1 answered", "reply chat:ann#2 answered", "answer chat:ann#1 answered"}
	if !slices.Equal(got, want) {
		t.Errorf("the messages are %q, want %q", got, want)
	}
	w.sound(3)
}
