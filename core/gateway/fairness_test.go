package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// floor is a model that takes a second for each reply and writes down in which
// order the chats were asked for.
type floor struct {
	mu    sync.Mutex
	asked []string // the person who spoke last
}

func (f *floor) Generate(ctx context.Context, r ports.ModelRequest, _ func(string)) (ports.ModelReply, error) {
	who, _, _ := strings.Cut(r.Entries[len(r.Entries)-1].Text, " ")
	f.mu.Lock()
	f.asked = append(f.asked, who)
	f.mu.Unlock()
	return takes(time.Second)(ctx, r)
}

// before is how many turns began before this person's first, from the i-th on.
func (f *floor) before(who string, from int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Index(f.asked[from:], who)
}

func (f *floor) turns() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// In a conversation of hundreds of people who each say something, another
// conversation has its turn after one of the noisy one, at most, for each slot.
func TestANoisyConversationDoesNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 2} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, f := onTheFloor(t, slots)
				for i := range 300 {
					m := inGroup(fmt.Sprint("noisy", i), fmt.Sprintf("noisy %d", i))
					m.Name = ""
					w.chat.receive(t, m)
				}
				time.Sleep(4500 * time.Millisecond)
				for _, who := range []string{"bob", "eve"} {
					from := f.turns()
					began := time.Now()
					w.chat.say(t, who, who+" hello")
					w.within(4*time.Second, who, "you said: "+who+" hello")
					if n := f.before(who, from); n > 1 {
						t.Errorf("%d turns began before %s's", n, who)
					}
					if took := time.Since(began); took > 2600*time.Millisecond { // what runs, one turn, their own
						t.Errorf("%s was answered after %s, with turns of a second", who, took)
					}
				}
				w.opt.Drain = time.Millisecond
				w.end()
			})
		})
	}
}

// onTheFloor is a world whose model takes a second, with this many slots.
func onTheFloor(t *testing.T, slots int) (*world, *floor) {
	w, f := newWorld(t), &floor{}
	w.opt.Turns, w.opt.Drain = slots, time.Millisecond
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		return f.Generate(ctx, r, nil)
	}
	w.start()
	return w, f
}

// One person's flood in one chat is few turns, and holds nobody up.
func TestOnePersonsFloodIsFewTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, f := onTheFloor(t, 1)
		for i := range 600 {
			w.chat.say(t, "noisy", fmt.Sprintf("noisy %d", i))
		}
		time.Sleep(500 * time.Millisecond)
		w.chat.say(t, "bob", "bob hello")
		w.within(4*time.Second, "bob", "you said: bob hello")
		if n := f.before("bob", 0); n > 2 {
			t.Errorf("%d turns began before bob's", n)
		}
		time.Sleep(10 * time.Second)
		w.comesToRest()
		if n := f.turns(); n > 6 {
			t.Errorf("600 messages of one burst made %d turns", n)
		}
		w.sound(601)
		w.end()
	})
}

// One person who speaks in many conversations has one turn in each before somebody
// who came later, and never a second one.
func TestOneWithManyConversationsTakesTheirTurnsLikeAnybody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, f := onTheFloor(t, 2)
		const rooms = 40
		say := func(i int, text string) {
			m := said("ann", text)
			m.In.Thread, m.In.Chat = fmt.Sprint(i), "ann"
			w.chat.batch(t, m)
		}
		for i := range rooms {
			say(i, "ann first")
		}
		time.Sleep(500 * time.Millisecond)
		w.chat.say(t, "bob", "bob hello")
		for i := range rooms {
			say(i, "ann second")
		}
		time.Sleep(time.Minute)
		w.comesToRest()
		if n := f.before("bob", 0); n > rooms+1 { // one begins at the same moment, in the other slot
			t.Errorf("%d turns began before bob's; ann had %d conversations before them", n, rooms)
		}
		if n := f.turns(); n != 2*rooms+1 {
			t.Errorf("%d turns were run, want %d", n, 2*rooms+1)
		}
		w.sound(2*rooms + 1)
		w.end()
	})
}

// After a kill the first sweep takes every conversation that has work, however
// many there are, and what waits to be sent as well.
func TestTheFirstSweepTakesAllThatWasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const chats = 700
		w.model.reply = takes(time.Hour)
		f := w.startFailing(0, refused)
		list := make([]ports.Message, chats)
		for i := range list {
			list[i] = said(fmt.Sprint("p", i), "hello")
		}
		w.chat.batch(t, list...)
		synctest.Wait()
		f.die()
		w.opt.Drain = time.Millisecond
		w.bury(f)
		w.model.becomes(echo)
		if n := w.count(`SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL`); n != chats {
			t.Fatalf("the dead left %d conversations, want %d", n, chats)
		}
		began := time.Now()
		w.start()
		for n := 0; n < chats && time.Since(began) < time.Minute; n = len(w.chat.texts()) {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("%d of %d were answered %s after the start: not by the first sweep", len(w.chat.texts()), chats, took)
		}
		w.comesToRest()
		w.sound(chats)
		w.end()
	})
}

// So many questions expire at once that one sweep does not take them all: the next
// ones do.
func TestManyQuestionsExpireTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const chats = 300
		w.opt.Ask.Expires = 10 * time.Second
		w.model.reply = byWord
		w.start()
		list := make([]ports.Message, chats)
		for i := range list {
			list[i] = said(fmt.Sprint("p", i), "srv__ask_a")
		}
		w.chat.batch(t, list...)
		time.Sleep(15 * time.Second)
		w.comesToRest()
		if n := len(w.chat.texts()); n != 2*chats {
			t.Errorf("%d messages are shown, want %d", n, 2*chats)
		}
		w.sound(chats)
		w.end()
	})
}
