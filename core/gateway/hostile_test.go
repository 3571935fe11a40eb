package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// byWord calls the tool that a message names, and answers any other one.
func byWord(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
	last := r.Entries[len(r.Entries)-1]
	if last.Role == ports.RoleUser && strings.HasPrefix(last.Text, "srv__") {
		return calls(last.Text)(ctx, ports.ModelRequest{Entries: []ports.Entry{last}})
	}
	return says("answer to: " + last.Text)
}

// inChat are the texts that one chat shows.
func (w *world) inChat(chat string) []string {
	var list []string
	for i := range w.chat.texts() {
		if p := w.chat.post(i); p.out.In.Chat == chat {
			list = append(list, p.out.Content.Text)
		}
	}
	return list
}

// within waits until a chat shows these messages, and no others, within a time of
// the bubble's clock.
func (w *world) within(d time.Duration, chat string, want ...string) {
	w.t.Helper()
	for late := time.Now().Add(d); len(w.inChat(chat)) < len(want) && time.Now().Before(late); {
		time.Sleep(100 * time.Millisecond)
	}
	synctest.Wait()
	got := w.inChat(chat)
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		w.t.Fatalf("after %s at most, %s's chat shows %q, want %q", d, chat, got, want)
	}
}

func TestAToolThatPanicsIsAResultAndALine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		log := w.logged()
		w.model.reply = byWord
		w.start()
		w.chat.say(t, "ann", "srv__panics")
		w.within(time.Second, "ann", "answer to: The tool's server failed.")
		w.chat.say(t, "ann", "and now?")
		w.within(time.Second, "ann", "The tool's server failed.", "answer to: and now?")
		lines := log.find("tool_call_failed")
		if len(lines) != 1 || lines[0]["kind"] != "internal" || lines[0]["turn"] == "" || !strings.Contains(fmt.Sprint(lines[0]["err"]), "world_test.go") {
			t.Errorf("the log says %v, want one line with the stack", lines)
		}
		w.end()
	})
}

// A tool that ignores its context costs its own conversation the turn's time, and
// nobody else anything; what is left of it is counted.
func TestAToolThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withToken(t)
		log := w.logged()
		w.tools.stuck = make(chan struct{})
		w.model.turnTimeout = time.Minute
		w.model.reply = byWord
		w.start()
		w.chat.say(t, "ann", "srv__stuck")
		eventually(t, "the tool runs", func() bool { return w.tools.ran("stuck") == 1 })
		w.chat.say(t, "bob", "hello")
		w.within(time.Second, "bob", "answer to: hello")
		w.chat.say(t, "ann", "hello?")
		w.within(time.Minute+30*time.Second+time.Second, "ann", "took longer than", "answer to: hello?")
		const running, total = `dragoman_abandoned_calls_running{op="tool_call"}`, `dragoman_abandoned_calls_total{op="tool_call"}`
		time.Sleep(31 * time.Second)
		have(t, w.scrape(), map[string]float64{running: 1, total: 1})
		ref := refIn(t, w.inChat("ann")[0])
		if lines := log.find("turn_failed"); len(lines) != 1 || lines[0]["ref"] != ref {
			t.Errorf("the log says %v, the chat %s", lines, ref)
		}
		close(w.tools.stuck)
		synctest.Wait()
		have(t, w.scrape(), map[string]float64{running: 0, total: 1})
		w.within(0, "ann", "took longer than", "answer to: hello?") // what came too late is told nobody
		w.end()
	})
}

// A send that ignores its context is given up at its deadline and the grace, and
// made again; the other chats do not notice.
func TestASendThatIgnoresItsContextIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withToken(t)
		w.model.reply = byWord
		c := &stuckOnce{chat: w.chat, stuck: make(chan struct{})}
		w.plug = c
		w.start()
		w.chat.say(t, "ann", "hello")
		for i := range 20 {
			w.chat.say(t, "bob", fmt.Sprintf("hello %d", i))
			time.Sleep(50 * time.Millisecond)
		}
		synctest.Wait()
		if n := len(w.inChat("bob")); n != 20 {
			t.Errorf("beside a stuck send bob got %d of 20 answers", n)
		}
		w.chat.say(t, "ann", "hello?")
		w.within(62*time.Second, "ann", "answer to: hello", "answer to: hello?")
		const running, total = `dragoman_abandoned_calls_running{op="send"}`, `dragoman_abandoned_calls_total{op="send"}`
		have(t, w.scrape(), map[string]float64{running: 1, total: 1})
		close(c.stuck)
		synctest.Wait()
		have(t, w.scrape(), map[string]float64{running: 0, total: 1})
		w.end()
	})
}

// stuckOnce is a chat whose first send to ann waits, whatever its context says,
// and is lost.
type stuckOnce struct {
	*chat
	mu    sync.Mutex
	hit   bool
	stuck chan struct{}
}

func (c *stuckOnce) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	c.mu.Lock()
	first := m.In.Chat == "ann" && !c.hit
	c.hit = c.hit || first
	c.mu.Unlock()
	if first {
		<-c.stuck
		return "", ports.Errorf(ports.KindUnsure, "send", "nobody knows")
	}
	return c.chat.Send(ctx, m)
}

// stuckStore is a store of which the first call of one kind for ann's
// conversation does not come back, whatever its context says.
type stuckStore struct {
	gateway.Store
	call  string
	stuck chan struct{}

	mu  sync.Mutex
	hit bool
}

func (s *stuckStore) wait(call string, in ports.Conversation) {
	s.mu.Lock()
	first := !s.hit && call == s.call && in.Chat == "ann"
	s.hit = s.hit || first
	s.mu.Unlock()
	if first {
		<-s.stuck
	}
}

func (s *stuckStore) Load(ctx context.Context, l ports.Lease) (ports.Work, error) {
	s.wait("load", l.In)
	return s.Store.Load(ctx, l)
}

func (s *stuckStore) History(ctx context.Context, l ports.Lease, limit int) ([]ports.Past, error) {
	s.wait("history", l.In)
	return s.Store.History(ctx, l, limit)
}

func (s *stuckStore) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	s.wait("record", l.In)
	return s.Store.Record(ctx, l, c)
}

func (s *stuckStore) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	s.wait("finish", l.In)
	return s.Store.Finish(ctx, l, c, o)
}

func (s *stuckStore) Pending(ctx context.Context, l ports.Lease) ([]ports.Delivery, error) {
	s.wait("pending", l.In)
	return s.Store.Pending(ctx, l)
}

func (s *stuckStore) Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error {
	s.wait("delivered", l.In)
	return s.Store.Delivered(ctx, l, id, r)
}

// A call of the store that ignores its context holds up its own conversation for
// its deadline and the grace at most, and no other one at all.
func TestAStoreCallThatIgnoresItsContextIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"load", "history", "record", "finish", "pending", "delivered"} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := withToken(t)
				w.model.reply = byWord
				s := &stuckStore{call: call, stuck: make(chan struct{})}
				release := sync.OnceFunc(func() { close(s.stuck) })
				defer release()
				w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
				w.chat.say(t, "ann", "srv__read_a")
				w.chat.say(t, "bob", "hello")
				w.within(time.Second, "bob", "answer to: hello")
				deadline := time.Now().Add(10 * time.Minute)
				for len(w.inChat("ann")) == 0 && time.Now().Before(deadline) {
					time.Sleep(time.Second)
				}
				if got := w.inChat("ann"); len(got) != 1 {
					t.Errorf("ten minutes after a %s that did not come back, ann's chat shows %q, want an outcome", call, got)
				}
				time.Sleep(2 * time.Minute) // a mark that is stuck comes after the answer
				if n := w.abandoned(); n < 1 {
					t.Errorf("%v abandoned calls are counted, want at least 1", n)
				}
				release()
				w.settled()
				if got := w.inChat("ann"); len(got) != 1 {
					t.Errorf("in the end ann's chat shows %q, want one outcome", got)
				}
				w.end()
			})
		})
	}
}

// abandoned is how many calls of the store were given up while they ran.
func (w *world) abandoned() (n float64) {
	for series, count := range w.scrape() {
		if strings.HasPrefix(series, `dragoman_abandoned_calls_total{op="store_`) {
			n += count
		}
	}
	return n
}
