package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// heldSend is a chat whose first send takes until it is let go.
type heldSend struct {
	*chat
	once sync.Once
	held chan struct{} // closed once the send is under way
	let  chan struct{}
}

func (c *heldSend) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	c.once.Do(func() { close(c.held); <-c.let })
	return c.chat.Send(ctx, m)
}

// What replaces a message is written when nobody knows yet what that is posted as:
// it names the delivery, and finds the message all the same.
func TestAnEditIsOfADeliveryThatIsStillOnItsWay(t *testing.T) {
	w := newWorld(t)
	w.model.reply = byWord
	c := &heldSend{chat: w.chat, held: make(chan struct{}), let: make(chan struct{})}
	w.plug = c
	w.start()
	w.chat.say(t, "ann", "srv__ask_a")
	<-c.held
	w.chat.say(t, "ann", "rather not") // the prompt has no id yet
	eventually(t, "the turn went on and is done", func() bool { return w.count(`SELECT COUNT(*) FROM turn WHERE state = 'done'`) == 1 })
	if n := w.count(`SELECT COUNT(*) FROM outbox WHERE posted <> ''`); n != 0 {
		t.Fatalf("%d messages are posted", n)
	}
	close(c.let)
	w.comesToRest()
	got := w.chat.texts()
	if len(got) != 2 || !strings.Contains(got[0], "Not answered: you wrote something else.") || len(w.chat.post(0).out.Content.Choices) > 0 || got[1] != "answer to: rather not" {
		t.Errorf("the chat shows %q, with buttons %v", got, w.chat.post(0).out.Content.Choices)
	}
	w.sound(2)
}

// What joins a turn stands behind the results of its round, for the model now and
// in every later turn, though it was stored long before them.
func TestWhatJoinsStandsBehindTheResults(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__read_a", "srv__ask_a", "srv__ask_b")
	w.start()
	w.chat.say(t, "ann", "go")
	w.asking()
	w.settled()
	w.chat.batch(t, said("ann", "rather not"), said("ann", "but this"))
	w.comesToRest()
	w.restart()
	w.model.becomes(echo)
	w.chat.say(t, "ann", "next")
	w.comesToRest()
	asked := w.model.asked()
	const no = "Not run: the person did not answer the question whether it may run."
	want := []string{"user: go", "assistant: Let me see.", "tool: result of read_a", "tool: " + no, "tool: " + no, "user: rather not"}
	for i, joined := range []int{1, 2} {
		var got []string
		for _, e := range asked[joined].Entries[:len(want)] {
			got = append(got, string(e.Role)+": "+e.Text)
		}
		if !slices.Equal(got, want) && !slices.Equal(got, append(want[:5:5], "user: rather not\n\nbut this")) {
			t.Errorf("prompt %d is %q, want %q", i, got, want)
		}
	}
	for _, r := range asked {
		checkCallsAnswered(t, r)
		n := 0
		for _, e := range r.Entries {
			if e.Role == ports.RoleUser {
				n += strings.Count(e.Text, "rather not")
			}
		}
		if n > 1 {
			t.Errorf("a message that joined stands %d times in a prompt: %+v", n, r.Entries)
		}
	}
	w.sound(4)
}

// A message that ended a question joins its turn once, wherever a write fails.
func TestWhatJoinsJoinsOnceWhereverItFails(t *testing.T) {
	for how, name := range map[fault]string{killBefore: "killed before", killAfter: "killed after", refused: "refused", unsure: "unsure"} {
		for at := 1; at <= 8; at++ {
			if how == unsure && (at == 1 || at == 4) {
				continue // a receipt: the platform makes it again, and nobody else
			}
			t.Run(fmt.Sprintf("%s %d", name, at), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.model.reply = rounds([]string{"srv__ask_a", "srv__ask_b"}, []string{"srv__read_a"})
				w.plays(at, how, "go", func(ports.Content) string { return "rather not" })
				w.comesToRest()
				joined := w.column(`SELECT body ->> '$.seq' FROM step WHERE kind = 'input'`)
				if !slices.Equal(joined, []string{"[2]"}) {
					t.Errorf("what joined is %q, want message 2 once", joined)
				}
				if got := w.column(`SELECT turn FROM inbox ORDER BY seq`); !slices.Equal(got, []string{"chat:ann#1", "chat:ann#1"}) {
					t.Errorf("the messages are of the turns %q", got)
				}
				w.sound(2)
			})
		}
	}
}

// plays lets a person say something and answer each question once, over deaths and
// refusals: the at-th write goes wrong.
func (w *world) plays(at int, how fault, first string, answer func(ports.Content) string) {
	w.t.Helper()
	f := w.startFailing(at, how)
	todo, asked := []ports.Message{{Event: "first", Text: first}}, map[string]bool{}
	for deadline := time.Now().Add(roomy(30 * time.Second)); len(todo) > 0 || f.isDead() || !w.over(); {
		select {
		case <-f.died:
			w.bury(f)
			f = w.startFailing(0, refused)
		case <-time.After(2 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("it never comes to an end; the chat shows %q\n%s", w.chat.texts(), w.rows())
		}
		for i := range w.chat.texts() {
			c := w.chat.post(i).out.Content
			if m, ok := (drama{approve: answer(c), unknown: "skip"}).answer(c, asked); ok {
				todo = append(todo, m)
			}
		}
		if len(todo) > 0 && w.chat.try(w.t.Context(), todo[0]) == nil {
			todo = todo[1:]
		}
	}
}

// What somebody who lost a conversation may still try to write: with the lease of
// an earlier owner, the next row of the turn that goes on; with a lease that is
// good, a row that is there, or a turn of its own beside the one that runs. Each of
// the three is caught by a rule of its own: the fence, the step's key, and one
// unfinished turn.
func TestNoZombieWrites(t *testing.T) {
	w := newWorld(t)
	w.tools.gate = make(chan struct{})
	w.model.reply = calls("srv__write_a")
	w.start()
	w.chat.say(t, "ann", "go")
	eventually(t, "the tool runs", func() bool { return w.tools.ran("write_a") == 1 })
	w.chat.say(t, "ann", "more")
	in := ports.Conversation{Channel: "chat", Chat: "ann"}
	now := ports.Lease{In: in, Epoch: int64(w.count(`SELECT epoch FROM conv`))}
	old := ports.Lease{In: in, Epoch: now.Epoch - 1}
	turn := ports.TurnID(in, 1)
	person := ports.PersonID(w.column(`SELECT person FROM turn`)[0])
	step := func(idx int, kind ports.StepKind) []ports.Step {
		return []ports.Step{{Index: idx, Kind: kind, Body: []byte(`{"v":1,"text":"a zombie's"}`)}}
	}
	before := w.rows()
	for name, c := range map[string]struct {
		lease  ports.Lease
		change ports.Change
		finish bool
		kind   ports.Kind
	}{
		"the next row, under a lease that was lost": {old, ports.Change{Turn: turn, Steps: step(2, ports.StepResult)}, false, ports.KindFenced},
		"the end, under a lease that was lost":      {old, ports.Change{Turn: turn, Steps: step(2, ports.StepFinal)}, true, ports.KindFenced},
		"a row that is there":                       {now, ports.Change{Turn: turn, Steps: step(1, ports.StepStart)}, false, ports.KindInternal},
		"an end over a row that is there":           {now, ports.Change{Turn: turn, Steps: step(1, ports.StepFinal)}, true, ports.KindInternal},
		"a turn beside the one that runs":           {now, ports.Change{Turn: ports.TurnID(in, 2), Take: []int64{2}, Steps: step(0, ports.StepReply)}, false, ports.KindInternal},
		"a whole turn beside the one that runs":     {now, ports.Change{Turn: ports.TurnID(in, 2), Take: []int64{2}, Steps: step(0, ports.StepFinal)}, true, ports.KindInternal},
	} {
		c.change.Person = person
		err := w.store.Record(t.Context(), c.lease, c.change)
		if c.finish {
			err = w.store.Finish(t.Context(), c.lease, c.change, ports.OutcomeAnswered)
		}
		if !ports.IsKind(err, c.kind) {
			t.Errorf("%s: %v, want %s", name, err, c.kind)
		}
		if after := w.rows(); after != before {
			t.Fatalf("%s left a trace: before\n%s\nafter\n%s", name, before, after)
		}
	}
	close(w.tools.gate)
	w.comesToRest()
	if got := w.chat.texts(); len(got) != 2 || got[0] != "result of write_a" {
		t.Errorf("the chat shows %q", got)
	}
	w.sound(2)
}

// lateWrite is a store of which one write comes to be only when it is let go,
// after its caller gave it up and made it again.
type lateWrite struct {
	gateway.Store
	at, until int // until this many writes were begun; 0 = until the test lets it
	late      chan error

	mu  sync.Mutex
	n   int
	let chan struct{}
}

func (s *lateWrite) write(do func() error) error {
	s.mu.Lock()
	s.n++
	hit := s.n == s.at
	if s.n == s.until {
		close(s.let)
		s.mu.Unlock()
		s.late <- <-s.late // it comes before this one
		return do()
	}
	s.mu.Unlock()
	if !hit {
		return do()
	}
	go func() { <-s.let; s.late <- do() }()
	return ports.Errorf(ports.KindUnsure, "write", "nobody knows")
}

func (s *lateWrite) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	return s.write(func() error { return s.Store.Record(context.WithoutCancel(ctx), l, c) })
}

func (s *lateWrite) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	return s.write(func() error { return s.Store.Finish(context.WithoutCancel(ctx), l, c, o) })
}

// A write that was given up and made again, and that reaches the store after all
// that followed, changes nothing; nor does one that comes while the turn goes on.
func TestAWriteThatComesLateChangesNothing(t *testing.T) {
	for at := 1; at <= 4; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.model.reply = calls("srv__write_a", "srv__write_b")
			s := &lateWrite{at: at, late: make(chan error, 1), let: make(chan struct{})}
			w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
			w.chat.say(t, "ann", "go")
			w.comesToRest()
			before := w.rows()
			close(s.let)
			if err := <-s.late; !ports.IsKind(err, ports.KindFenced) {
				t.Errorf("the late write: %v, want that it is fenced", err)
			}
			w.comesToRest()
			if after := w.rows(); after != before {
				t.Errorf("a late write left a trace: before\n%s\nafter\n%s", before, after)
			}
			w.sound(1)
		})
	}
	for at := 1; at <= 3; at++ {
		t.Run(fmt.Sprint(at, " in the midst"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.model.reply = calls("srv__write_a", "srv__write_b")
			s := &lateWrite{at: at, until: at + 2, late: make(chan error, 1), let: make(chan struct{})}
			w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
			w.chat.say(t, "ann", "go")
			w.comesToRest()
			if err := <-s.late; err != nil {
				t.Errorf("the late write: %v, want that the store knows its rows", err)
			}
			if got := w.chat.texts(); len(got) != 1 || got[0] != "result of write_a\nresult of write_b" || w.tools.ran("write_a") != 1 {
				t.Errorf("the chat shows %q", got)
			}
			w.sound(1)
		})
	}
}
