package gateway_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// takes is a model that answers after this time.
func takes(d time.Duration) func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		select {
		case <-time.After(d):
			return echo(ctx, r)
		case <-ctx.Done():
			return ports.ModelReply{}, ctx.Err()
		}
	}
}

// A stop lets the turns that run come to their end and says what they have to say;
// a turn that waits for a slot, or whose message came too late, is the next life's.
func TestADrainEndsWhatRunsAndBeginsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opt.Turns = 1
		w.model.reply = takes(3 * time.Second)
		w.start()
		w.chat.say(t, "ann", "hello")
		time.Sleep(time.Second)
		w.chat.say(t, "bob", "hello") // waits for the slot
		time.Sleep(time.Second)
		w.chat.mu.Lock()
		in := w.chat.in
		w.chat.mu.Unlock()
		time.AfterFunc(500*time.Millisecond, func() {
			late := said("eve", "hello")
			late.Event, late.In.Chat = "late", "eve"
			if err := in.Receive(context.Background(), ports.Batch{Messages: []ports.Message{late}}); err != nil {
				t.Errorf("a message during the drain: %v", err)
			}
			more := said("ann", "and?")
			more.Event, more.In.Chat = "more", "ann"
			if err := in.Receive(context.Background(), ports.Batch{Messages: []ports.Message{more}}); err != nil {
				t.Errorf("a message during the drain: %v", err)
			}
		})
		began := time.Now()
		w.end()
		if took := time.Since(began); took != time.Second {
			t.Errorf("the stop took %s, and the turn that ran a second", took)
		}
		w.within(0, "ann", "you said: hello")
		w.within(0, "bob")
		if n := len(w.model.asked()); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
		w.start()
		w.within(20*time.Second, "bob", "you said: hello")
		w.within(20*time.Second, "eve", "you said: hello")
		w.within(20*time.Second, "ann", "you said: hello", "you said: and?")
		w.comesToRest()
		w.sound(4)
		w.end()
	})
}

// What is not done when the drain's time is over is left to the journal: nobody is
// told of it, and the next life goes on as if nothing had been.
func TestADrainThatIsOverLeavesTheRestToTheJournal(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"slow", "read_a", "write_a"} {
		t.Run(tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.tools.gate = make(chan struct{})
				w.model.reply = calls("srv__" + tool)
				w.start()
				w.chat.say(t, "ann", "go")
				time.Sleep(time.Second)
				for range 5 { // no such stop counts as a death
					began := time.Now()
					w.end()
					if took := time.Since(began); took != w.opt.Drain {
						t.Errorf("the stop took %s, with a drain of %s", took, w.opt.Drain)
					}
					if tool == "read_a" {
						w.within(0, "ann")
					}
					w.start()
					time.Sleep(2 * time.Second)
					if tool != "read_a" {
						break // its person is asked about it
					}
				}
				if tool != "read_a" {
					w.within(0, "ann", "I was interrupted")
					w.chat.batch(t, w.chat.post(0).pressed("ann", ports.AnswerSkip))
					w.within(time.Second, "ann", "You said: Skip it", "The gateway was interrupted")
					if n := w.tools.ran(tool); n != 1 {
						t.Errorf("the tool ran %d times", n)
					}
				} else {
					close(w.tools.gate)
					w.within(time.Second, "ann", "result of read_a")
					if n := w.tools.ran(tool); n != 6 {
						t.Errorf("the tool ran %d times in 6 lives", n)
					}
				}
				w.comesToRest()
				w.sound(w.count(`SELECT COUNT(*) FROM inbox`))
				w.end()
			})
		})
	}
}

// A drain waits for the answers too: each is posted and marked before the end, and
// none is posted again by the next life.
func TestADrainWaitsForTheAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := &slowSends{chat: w.chat, takes: time.Second}
		w.plug = c
		w.model.reply = echo
		w.start()
		for i := range 20 { // with 8 in flight that is 3 seconds
			w.chat.say(t, fmt.Sprint("p", i), "hello")
		}
		synctest.Wait()
		began := time.Now()
		w.end()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the stop took %s, the answers 3s", took)
		}
		if n := len(w.chat.texts()); n != 20 {
			t.Errorf("%d of 20 answers were posted", n)
		}
		w.start()
		time.Sleep(time.Minute)
		if n := len(w.chat.texts()); n != 20 {
			t.Errorf("in the end %d answers were posted, want 20", n)
		}
		w.comesToRest()
		w.sound(20)
		w.end()
	})
}

// slowSends is a chat whose sends take a while.
type slowSends struct {
	*chat
	takes time.Duration
}

func (c *slowSends) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	select {
	case <-time.After(c.takes):
		return c.chat.Send(ctx, m)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
