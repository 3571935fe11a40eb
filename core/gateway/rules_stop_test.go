package gateway_test

import (
	"context"
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

// A stop is a row that waits like any message; the turn that it ends takes it.
func TestAStopIsARowOfTheTurnThatItEnds(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__slow")
	w.start()
	w.chat.say(t, "ann", "go")
	eventually(t, "the tool runs", func() bool { return w.tools.ran("slow") == 1 })
	w.chat.batch(t, said("ann", "and more"), said("ann", "/stop"), said("ann", "next"))
	w.shown(2)
	w.comesToRest()
	got := w.column(`SELECT i.route || ' ' || i.turn || ' ' || t.outcome FROM inbox i JOIN turn t ON t.id = i.turn ORDER BY i.seq`)
	want := []string{"lane chat:ann#1 stopped", "lane chat:ann#1 stopped", "control chat:ann#1 stopped", "lane chat:ann#4 answered"}
	if !slices.Equal(got, want) {
		t.Errorf("the messages are %q, want %q", got, want)
	}
	w.sound(4)
}

// The open calls of a stopped turn have half a second to come home. What they say
// then is recorded; those that say nothing are cancelled, and the model is told
// that nobody knows what they did.
func TestAStopGrantsOpenCallsHalfASecond(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late    time.Duration // how long after its context ended the call comes home
		told    time.Duration // when the person hears that it stopped
		outcome ports.CallOutcome
		text    string
	}{
		"just in time":   {400 * time.Millisecond, 400 * time.Millisecond, ports.CallOK, "result of write_a"},
		"just too late":  {600 * time.Millisecond, 500 * time.Millisecond, ports.CallCancelled, "The person stopped the turn while this ran. It is not known whether it had an effect."},
		"much too late":  {time.Minute, 500 * time.Millisecond, ports.CallCancelled, "The person stopped the turn while this ran. It is not known whether it had an effect."},
		"without a call": {0, 0, ports.CallOK, "result of write_a"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.tools.onCall = func(ctx context.Context, _ string) {
					<-ctx.Done()
					time.Sleep(c.late)
				}
				w.model.reply = calls("srv__write_a", "srv__write_b")
				var told time.Time
				w.chat.onSend = func(ports.Outgoing) { told = time.Now() }
				w.start()
				w.chat.say(t, "ann", "go")
				time.Sleep(time.Second)
				began := time.Now()
				w.chat.say(t, "ann", "/stop")
				w.within(time.Second, "ann", "Stopped.")
				if took := told.Sub(began); took != c.told {
					t.Errorf("it was told after %s, want %s", took, c.told)
				}
				w.comesToRest()
				got := w.column(`SELECT call || ' ' || (body ->> '$.outcome') || ' ' || (body ->> '$.text') FROM step WHERE kind = 'result' ORDER BY call`)
				want := []string{"0 " + string(c.outcome) + " " + c.text, "1 cancelled Not run: the person stopped the turn."}
				if !slices.Equal(got, want) {
					t.Errorf("the results are %q, want %q", got, want)
				}
				w.model.becomes(echo)
				w.chat.say(t, "ann", "and?")
				w.within(time.Second, "ann", "Stopped.", "you said: and?")
				asked := w.model.asked()
				if !slices.ContainsFunc(asked[len(asked)-1].Entries, func(e ports.Entry) bool { return e.Role == ports.RoleTool && e.Text == c.text }) {
					t.Errorf("the next turn's prompt does not say %q: %+v", c.text, asked[len(asked)-1].Entries)
				}
				time.Sleep(2 * time.Minute) // what comes home later changes nothing
				if again := w.column(`SELECT call || ' ' || (body ->> '$.outcome') || ' ' || (body ->> '$.text') FROM step WHERE kind = 'result' ORDER BY call`); !slices.Equal(again, want) {
					t.Errorf("in the end the results are %q", again)
				}
				if n := w.tools.ran("write_b"); n != 0 {
					t.Errorf("a call that had not begun ran %d times", n)
				}
				w.sound(3)
				w.end()
			})
		})
	}
}

// usurped is a store that, from one moment on, belongs to somebody else.
type usurped struct {
	gateway.Store

	mu    sync.Mutex
	lost  bool
	tried []string // writes after that
}

func (s *usurped) loses() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
}

func (s *usurped) fenced(verb string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lost {
		return nil
	}
	if verb != "load" {
		s.tried = append(s.tried, verb)
	}
	return ports.Errorf(ports.KindFenced, verb, "the lease is another's")
}

func (s *usurped) Load(ctx context.Context, l ports.Lease) (ports.Work, error) {
	if err := s.fenced("load"); err != nil {
		return ports.Work{}, err
	}
	return s.Store.Load(ctx, l)
}

func (s *usurped) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	if err := s.fenced("record"); err != nil {
		return err
	}
	return s.Store.Record(ctx, l, c)
}

func (s *usurped) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	if err := s.fenced("finish"); err != nil {
		return err
	}
	return s.Store.Finish(ctx, l, c, o)
}

func (s *usurped) Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error {
	if err := s.fenced("delivered"); err != nil {
		return err
	}
	return s.Store.Delivered(ctx, l, id, r)
}

// A turn whose lease is lost leaves at once: it waits for no call, also for one
// that heeds no context, and it writes and says nothing, then or later.
func TestATurnThatLostItsLeaseLeavesAtOnce(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"a tool", "the model"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.tools.stuck = make(chan struct{})
				w.model.turnTimeout = time.Hour
				w.model.reply = byWord
				if at == "the model" {
					w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
						<-w.tools.stuck // whatever its context says
						return says("too late")
					}
				}
				s := &usurped{}
				w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
				w.chat.say(t, "ann", "srv__stuck")
				time.Sleep(time.Second)
				if w.g.Busy() != 1 {
					t.Fatal("the turn does not run")
				}
				before := w.column(`SELECT kind FROM step`)
				s.loses()
				began := time.Now()
				w.chat.say(t, "ann", "hello?") // by which it looks
				synctest.Wait()
				if w.g.Busy() != 0 || time.Since(began) > 0 {
					t.Errorf("%s after the lease was lost, %d lanes are there", time.Since(began), w.g.Busy())
				}
				time.Sleep(time.Minute)
				close(w.tools.stuck)
				time.Sleep(time.Minute)
				if got := w.chat.texts(); len(got) > 0 || len(s.tried) > 0 {
					t.Errorf("the turn that lost its lease said %q and tried to write %q", got, s.tried)
				}
				if after := w.column(`SELECT kind FROM step`); !slices.Equal(after, before) {
					t.Errorf("the journal was %q and is %q", before, after)
				}
				w.end()
			})
		})
	}
}

// A model that heeds no context is left behind at a stop; what it says later
// reaches neither the chat nor the journal.
func TestAModelThatIsLeftBehindSaysNothingMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.chat.traits.EditEvery = time.Second
		late := &lateModel{release: make(chan struct{})}
		w.opt.Agents = []gateway.Agent{oneModel(late)}
		w.start()
		w.chat.say(t, "ann", "hello")
		time.Sleep(time.Second)
		began := time.Now()
		w.chat.say(t, "ann", "/stop")
		w.within(time.Second, "ann", "Stopped.")
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("a stop took %s beside a model that heeds nothing", took)
		}
		close(late.release)
		time.Sleep(time.Minute)
		w.within(0, "ann", "Stopped.")
		if got := strings.Join(w.column(`SELECT kind FROM step ORDER BY idx`), " "); got != "final" {
			t.Errorf("the journal is %q", got)
		}
		w.end()
	})
}

// lateModel heeds no context.
type lateModel struct{ release chan struct{} }

func (m *lateModel) Generate(_ context.Context, _ ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	<-m.release
	for range 10 {
		onText("what nobody waits for any more ")
		<-time.After(time.Second)
	}
	return says("too late")
}
