package terminal

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"dragoman/ports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inbox is a Receiver that keeps what it gets.
type inbox struct {
	mu  sync.Mutex
	got []ports.Message
	err error
}

func (i *inbox) Receive(_ context.Context, b ports.Batch) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err == nil {
		i.got = append(i.got, b.Messages...)
	}
	return i.err
}

func (i *inbox) Cursor(context.Context) (string, error) { return "", nil }

// bubble runs a test of a channel that runs.
func bubble(t *testing.T, test func(t *testing.T, c *Channel, mem *memory, in *inbox)) {
	synctest.Test(t, func(t *testing.T) {
		mem, in := newMemory(), new(inbox)
		c, err := New(Deps{Feed: mem, Fates: mem, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() {
			if err := c.Run(ctx, in); err != nil {
				t.Error(err)
			}
		})
		test(t, c, mem, in)
		cancel()
		work.Wait()
	})
}

// viewer is a terminal that looks.
type viewer struct {
	seen  chan ports.Glimpse
	leave func() error
}

func look(t *testing.T, c *Channel, back int) (*viewer, ports.Glimpse) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	v, ended := &viewer{seen: make(chan ports.Glimpse, 100)}, make(chan error, 1)
	go func() {
		ended <- c.Watch(ctx, back, func(g ports.Glimpse) error { v.seen <- g; return nil })
	}()
	v.leave = func() error { cancel(); return <-ended }
	synctest.Wait()
	return v, <-v.seen
}

func send(t *testing.T, c *Channel, chat, text, nonce string, choices ...ports.Choice) {
	t.Helper()
	_, err := c.Send(t.Context(), ports.Outgoing{In: ports.Conversation{Chat: chat}, Nonce: nonce, Content: ports.Content{Text: text, Choices: choices}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestATerminalHoldsTheFirstFreeConversation(t *testing.T) {
	bubble(t, func(t *testing.T, c *Channel, _ *memory, _ *inbox) {
		first, g1 := look(t, c, 0)
		second, g2 := look(t, c, 0)
		if g1.Chat != "1" || g2.Chat != "2" {
			t.Errorf("two terminals hold %q and %q", g1.Chat, g2.Chat)
		}
		if err := first.leave(); err != nil {
			t.Error(err)
		}
		third, g3 := look(t, c, 0)
		if g3.Chat != "1" {
			t.Errorf("once the first is free the next terminal holds %q", g3.Chat)
		}
		if err := errors.Join(second.leave(), third.leave()); err != nil {
			t.Error(err)
		}
	})
}

func TestAGatewayOfItsOwnLastsAsLongAsItsTerminals(t *testing.T) {
	bubble(t, func(t *testing.T, c *Channel, _ *memory, _ *inbox) {
		first, _ := look(t, c, 0)
		second, _ := look(t, c, 0)
		closed := make(chan struct{})
		go func() { defer close(closed); c.Close(t.Context()) }()
		_ = first.leave()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("it closes while a terminal looks")
		default:
		}
		_ = second.leave()
		<-closed
		if err := c.Watch(t.Context(), 0, func(ports.Glimpse) error { return nil }); !ports.IsKind(err, ports.KindUnavailable) {
			t.Errorf("a terminal that comes later is told %v", err)
		}
	})
	bubble(t, func(t *testing.T, c *Channel, _ *memory, _ *inbox) {
		v, _ := look(t, c, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c.Close(ctx) // the one who has the gateway waits no longer
		_ = v.leave()
	})
}

func TestWhatATerminalSees(t *testing.T) {
	bubble(t, func(t *testing.T, c *Channel, _ *memory, _ *inbox) {
		for _, text := range []string{"one", "two", "three"} { // nobody looks
			send(t, c, "1", text, text)
		}
		v, g := look(t, c, 2)
		if len(g.Past) != 2 || g.Past[0].Text != "two" || g.Past[1].Text != "three" {
			t.Errorf("the past is %+v", g.Past)
		}
		in := ports.Conversation{Chat: "1"}
		_ = c.Typing(t.Context(), in)
		synctest.Wait()
		if g := <-v.seen; !g.Typing {
			t.Errorf("typing shows as %+v", g)
		}
		_ = c.Draft(t.Context(), in, "so f")
		synctest.Wait()
		if g := <-v.seen; g.Draft == nil || *g.Draft != "so f" {
			t.Errorf("a draft shows as %+v", g)
		}
		_ = c.Draft(t.Context(), ports.Conversation{Chat: "2"}, "not yours")
		send(t, c, "1", "so far so good", "four")
		send(t, c, "1", "so far so good", "four") // tried again
		synctest.Wait()
		if g := <-v.seen; g.Line == nil || g.Line.Text != "so far so good" || g.Line.Own {
			t.Errorf("an answer shows as %+v", g)
		}
		synctest.Wait()
		if n := len(v.seen); n != 0 {
			t.Errorf("%d things more, the first is %+v", n, <-v.seen)
		}
		if err := v.leave(); err != nil {
			t.Error(err)
		}
		v, g = look(t, c, 0)
		if len(g.Past) != 0 {
			t.Errorf("no past was asked for, and it is %+v", g.Past)
		}
		synctest.Wait()
		if n := len(v.seen); n != 0 {
			t.Errorf("a terminal that asks for no past sees %d things", n)
		}
		_ = v.leave()
	})
}

func TestWhatMayBeSaid(t *testing.T) {
	bubble(t, func(t *testing.T, c *Channel, mem *memory, in *inbox) {
		yes := &ports.Choice{Question: "q", Field: "do", Value: "yes", Label: "Yes"}
		for name, c2 := range map[string]struct {
			s    ports.Saying
			kind ports.Kind
		}{
			"nothing":             {ports.Saying{ID: "a"}, ports.KindInvalid},
			"space":               {ports.Saying{ID: "a", Text: " \n\t"}, ports.KindInvalid},
			"no id":               {ports.Saying{Text: "x"}, ports.KindInvalid},
			"an id that is none":  {ports.Saying{ID: "a/b", Text: "x"}, ports.KindInvalid},
			"a choice of no line": {ports.Saying{ID: "a", Choice: yes}, ports.KindInvalid},
			"too much":            {ports.Saying{ID: "a", Text: strings.Repeat("x", maxText+1)}, ports.KindTooLarge},
		} {
			if _, err := c.Say(t.Context(), "1", c2.s); !ports.IsKind(err, c2.kind) {
				t.Errorf("%s gives %v", name, err)
			}
		}
		if len(in.got) > 0 || len(mem.feeds) > 0 {
			t.Fatalf("what is refused is kept: %+v %+v", in.got, mem.feeds)
		}
		for _, s := range []ports.Saying{{ID: "a", Text: "x\x00\xff"}, {ID: "a", Text: "x\x00\xff"}, {ID: "b", Choice: yes, Line: 7}, {ID: "c", Text: strings.Repeat("x", maxText)}} {
			if _, err := c.Say(t.Context(), "1", s); err != nil {
				t.Error(err)
			}
		}
		if got := in.got[0]; got.Text != "x\uFFFD\uFFFD" || !got.Private || got.Event != in.got[1].Event {
			t.Errorf("handed in %+v, then %+v", got, in.got[1])
		}
		if got := in.got[2]; got.ID != "1/7" || got.Choice == nil || got.Choice.Value != "yes" || got.Choice.Label != "" || got.Text != "" {
			t.Errorf("a choice is handed in as %+v", got)
		}
		if n := len(mem.feeds["1"]); n != 3 {
			t.Errorf("the conversation shows %d lines, want 3", n)
		}
	})
}

func TestWhatIsSaidBeforeTheChannelRunsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, in := newMemory(), new(inbox)
		c, _ := New(Deps{Feed: mem, Fates: mem, Log: slog.New(slog.DiscardHandler)})
		said := make(chan error, 1)
		go func() {
			_, err := c.Say(t.Context(), "1", ports.Saying{ID: "a", Text: "early"})
			said <- err
		}()
		<-time.After(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = c.Run(ctx, in) }()
		if err := <-said; err != nil || len(in.got) != 1 {
			t.Errorf("said %v, handed in %d", err, len(in.got))
		}
		cancel()
		<-done
		if _, err := c.Say(t.Context(), "1", ports.Saying{ID: "b", Text: "late"}); !ports.IsKind(err, ports.KindUnavailable) {
			t.Errorf("after the run it gives %v", err)
		}
	})
}

func TestAMessageIsSettledOnceAllIsSaid(t *testing.T) {
	const turn = "terminal.main:1#1"
	over := func(o ports.Outcome, unsent ...string) ports.Fate {
		return ports.Fate{Turn: ports.Turn{ID: turn, State: ports.TurnDone, Outcome: o}, Unsent: unsent}
	}
	open := &ports.Question{ID: "q", Turn: turn, Text: "May I?"}
	for name, c := range map[string]struct {
		fates []ports.Fate // one after another
		state ports.SettledState
		lines int
	}{
		"answered":       {[]ports.Fate{{}, {Turn: ports.Turn{ID: turn, State: ports.TurnRunning}}, over(ports.OutcomeAnswered, turn+"/1/0")}, ports.SettledAnswered, 1},
		"failed":         {[]ports.Fate{over(ports.OutcomeFailed, turn+"/1/0")}, ports.SettledFailed, 1},
		"stopped":        {[]ports.Fate{over(ports.OutcomeStopped, turn+"/1/0")}, ports.SettledStopped, 1},
		"superseded":     {[]ports.Fate{over(ports.OutcomeSuperseded, turn+"/1/0")}, ports.SettledSuperseded, 1},
		"given up":       {[]ports.Fate{over(ports.OutcomeAnswered, turn+"/9/0"), over(ports.OutcomeAnswered)}, ports.SettledAnswered, 0},
		"asked":          {[]ports.Fate{{Turn: ports.Turn{ID: turn, State: ports.TurnParked}, Open: open, Unsent: []string{turn + "/1/0"}}}, ports.SettledAsked, 1},
		"behind another": {[]ports.Fate{{}, {Open: open}}, ports.SettledAsked, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ch *Channel, mem *memory, _ *inbox) {
				send(t, ch, "1", "of this turn, before", "s"+turn+"/0/0")
				said, err := ch.Say(t.Context(), "1", ports.Saying{ID: "a", Text: "go"})
				if err != nil {
					t.Fatal(err)
				}
				mem.set(said.Event, ports.Fate{})
				done := make(chan ports.Settlement, 1)
				go func() {
					got, err := ch.Settled(t.Context(), "1", said)
					if err != nil {
						t.Error(err)
					}
					done <- got
				}()
				<-time.After(time.Second)
				send(t, ch, "1", "of another turn", "terminal.main:1#9/1/0")
				for _, f := range c.fates {
					if len(done) > 0 {
						t.Fatalf("settled too early: %+v", <-done)
					}
					mem.set(said.Event, f)
					<-time.After(100 * time.Millisecond) // it has not looked again
				}
				if c.lines > 0 {
					send(t, ch, "1", "of this turn", turn+"/1/0")
				}
				got := <-done
				if got.State != c.state || len(got.Lines) != c.lines || c.state == ports.SettledAsked && (got.Asked == nil || got.Asked.ID != "q") {
					t.Errorf("settled as %+v", got)
				}
			})
		})
	}
	bubble(t, func(t *testing.T, ch *Channel, _ *memory, _ *inbox) {
		got, err := ch.Settled(t.Context(), "1", ports.Said{Event: "never", Seq: 1})
		if err != nil || got.State != ports.SettledDropped {
			t.Errorf("what was not accepted is %+v, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ch.fates.(*memory).set("waits", ports.Fate{})
		if _, err := ch.Settled(ctx, "1", ports.Said{Event: "waits", Seq: 1}); !ports.IsKind(err, ports.KindTimeout) {
			t.Errorf("a wait that is given up gives %v", err)
		}
	})
}
