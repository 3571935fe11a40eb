package gateway_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// slowCommit is a store of which one call takes long: the disk stalls in the
// commit, and the real writer does not heed a context once that began.
type slowCommit struct {
	gateway.Store
	call  string
	takes time.Duration

	mu  sync.Mutex
	hit bool
}

func (s *slowCommit) wait(call string) {
	s.mu.Lock()
	first := !s.hit && call == s.call
	s.hit = s.hit || first
	s.mu.Unlock()
	if first {
		<-time.After(s.takes)
	}
}

func (s *slowCommit) Accept(ctx context.Context, src ports.Source, b ports.Batch, r func(ports.Sight) ports.Route) (ports.Accepted, error) {
	if len(b.Messages) > 0 {
		s.wait("accept")
	}
	return s.Store.Accept(context.WithoutCancel(ctx), src, b, r)
}

func (s *slowCommit) Claim(ctx context.Context, n int) ([]ports.Lease, error) {
	l, err := s.Store.Claim(context.WithoutCancel(ctx), n)
	s.wait("claim")
	return l, err
}

// The platform tells again until it hears that the message was taken. What was
// stored meanwhile is answered.
func TestAMessageThatIsStoredTooLateForItsCallerIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = echo
		s := &slowCommit{call: "accept", takes: 70 * time.Second}
		w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
		for tries := 1; w.chat.try(t.Context(), ports.Message{Event: "1", Text: "hello"}) != nil; tries++ {
			if tries == 10 {
				t.Fatal("it is never taken")
			}
			time.Sleep(20 * time.Second)
		}
		time.Sleep(time.Hour)
		w.shown(1)
		w.end()
	})
}

func TestAConversationThatIsClaimedTooLateForItsCallerGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opt.Drain = time.Millisecond
		w.model.reply = func(ctx context.Context, _ ports.ModelRequest) (ports.ModelReply, error) {
			<-ctx.Done()
			return ports.ModelReply{}, ctx.Err()
		}
		w.start()
		w.chat.say(t, "ann", "hello")
		time.Sleep(time.Second)
		w.end() // the turn is left to the journal
		w.model.becomes(echo)
		s := &slowCommit{call: "claim", takes: 70 * time.Second}
		w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
		time.Sleep(time.Hour)
		w.shown(1)
		w.end()
	})
}

// A stop is heard behind more messages than one look at the inbox gives.
func TestAStopBehindAFloodIsHeard(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]func(int) string{"of one's own": func(int) string { return "ann" }, "of others": func(i int) string { return fmt.Sprint("p", i) }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.model.turnTimeout = time.Hour
				w.model.reply = func(ctx context.Context, _ ports.ModelRequest) (ports.ModelReply, error) {
					<-ctx.Done()
					return ports.ModelReply{}, ctx.Err()
				}
				w.start()
				say := func(from, text string) {
					w.chat.receive(t, ports.Message{From: from, Name: from, Text: text, In: ports.Conversation{Chat: "group"}})
				}
				say("ann", "go")
				time.Sleep(time.Second)
				for i := range 300 {
					say(who(i), "me too")
				}
				say("ann", "/stop")
				time.Sleep(10 * time.Second)
				if got := w.chat.texts(); len(got) != 1 || got[0] != "Stopped." {
					t.Errorf("after the stop the chat shows %q", got)
				}
				w.opt.Drain = time.Millisecond
				w.end()
			})
		})
	}
}

// stuckWrites is a store whose writes do not come back once on is closed.
type stuckWrites struct {
	gateway.Store
	on, off chan struct{}
}

func (s *stuckWrites) hang() {
	select {
	case <-s.on:
		<-s.off
	default:
	}
}

func (s *stuckWrites) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	s.hang()
	return s.Store.Finish(ctx, l, c, o)
}

func (s *stuckWrites) Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error {
	s.hang()
	return s.Store.Delivered(ctx, l, id, r)
}

func (s *stuckWrites) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	s.hang()
	return s.Store.Record(ctx, l, c)
}

func TestADrainDoesNotHangOnAStoreThatIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = calls("srv__read_a")
		w.model.dwell = func(context.Context) { time.Sleep(3 * time.Second) }
		w.chat.traits.EditEvery = time.Second
		s := &stuckWrites{on: make(chan struct{}), off: make(chan struct{})}
		w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
		w.chat.say(t, "ann", "hello")
		w.chat.say(t, "bob", "hello")
		time.Sleep(500 * time.Millisecond)
		close(s.on)
		began := time.Now()
		w.stop()
		w.stop = nil
		if took := time.Since(began); took > w.opt.Drain+15*time.Second {
			t.Errorf("it ended after %v, with a drain of %v", took, w.opt.Drain)
		}
		close(s.off)
		synctest.Wait()
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
}
