package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// slowly makes the model take its time over "slow", kill at "poison", and answer
// anything else at once.
func slowly(d *deadly, slow time.Duration) {
	d.calm = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if !strings.Contains(lastSaid(r), "slow") {
			return echo(ctx, r)
		}
		select {
		case <-time.After(slow):
			return echo(ctx, r)
		case <-ctx.Done():
			return ports.ModelReply{}, ctx.Err()
		}
	}
	close(d.armed)
}

func (d *deadly) deaths(chat string) (all, alone int) {
	d.w.t.Helper()
	d.w.query(`SELECT deaths, alone FROM conv WHERE chat = '`+chat+`'`, func(scan func(...any) error) error { return scan(&all, &alone) })
	return all, alone
}

// A slow conversation that saw two deaths by chance is on trial when somebody
// else's poison comes in. It must not pay for what ran beside it.
func TestWhoeverIsOnTrialIsNotConvictedOfWhatRanBesideIt(t *testing.T) {
	d := newDeadly(t)
	slowly(d, 3*time.Second)
	seen, slow := make(chan struct{}), d.calm
	d.calm = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		select {
		case <-seen: // bob does not get to an end before his trial is seen
			return slow(ctx, r)
		case <-ctx.Done():
			return ports.ModelReply{}, ctx.Err()
		}
	}
	d.w.chat.say(t, "bob", "slow")
	eventually(t, "the model is asked", func() bool { return len(d.w.model.asked()) == 1 })
	d.w.exec(`UPDATE conv SET deaths = 2 WHERE chat = 'bob'`) // two, with others beside it
	f := <-d.lives
	f.die()
	<-f.died
	d.w.exec(`UPDATE conv SET owner = NULL`) // not counted: the test begins here
	d.w.bury(f)
	d.begin()
	eventually(t, "bob is on trial", func() bool { return d.w.count(`SELECT COUNT(*) FROM conv WHERE chat = 'bob' AND trial = 2`) == 1 })
	close(seen)
	d.w.chat.say(t, "ann", "poison")
	d.lived(d.shows("Reference: "))
	bobAll, bobAlone := d.deaths("bob")
	annAll, annAlone := d.deaths("ann")
	if n := d.w.count(`SELECT COUNT(*) FROM turn t JOIN conv c ON c.id = t.conv WHERE c.chat = 'bob' AND t.outcome = 'failed'`); n != 0 {
		t.Errorf("the innocent was given up (bob: deaths %d alone %d; ann, the poison: deaths %d alone %d)", bobAll, bobAlone, annAll, annAlone)
	}
}

// A suspect that has the court and waits for a slot has not run an instruction.
func TestASuspectThatWaitsForASlotIsNotBlamed(t *testing.T) {
	d := newDeadly(t)
	d.w.opt.Turns = 1
	f := <-d.lives
	d.w.bury(f)
	d.begin()
	slowly(d, time.Hour)
	d.w.exec(`INSERT INTO conv (id, channel, chat, thread, deaths) VALUES ('` + (ports.Conversation{Channel: "chat", Chat: "bob"}).String() + `', 'chat', 'bob', '', 2)`)
	d.w.chat.say(t, "carl", "slow") // holds the only slot
	eventually(t, "the model is asked", func() bool { return len(d.w.model.asked()) == 1 })
	d.w.chat.say(t, "bob", "hello")
	tick := time.NewTimer(300 * time.Millisecond)
	<-tick.C
	if n := d.w.count(`SELECT COUNT(*) FROM conv WHERE chat = 'bob' AND trial = 2`); n != 0 {
		t.Error("bob waits for a slot and is down as on trial: he alone is blamed for what carl's turn does")
	}
	f = <-d.lives
	f.die()
	d.w.bury(f)
	d.begin()
	if _, alone := d.deaths("bob"); alone != 0 {
		t.Errorf("bob, who never ran, is blamed alone %d times", alone)
	}
}

// A stop needs no model and kills nobody: it does not wait for the court.
func TestAStopOfASuspectThatWaitsForItsTrialIsHeard(t *testing.T) {
	d := newDeadly(t)
	slowly(d, time.Hour)
	for _, who := range []string{"bob", "carl"} {
		d.w.exec(`INSERT INTO conv (id, channel, chat, thread, deaths) VALUES ('` + (ports.Conversation{Channel: "chat", Chat: who}).String() + `', 'chat', '` + who + `', '', 30)`)
	}
	d.w.chat.say(t, "bob", "slow")
	eventually(t, "bob is on trial", func() bool { return d.w.count(`SELECT COUNT(*) FROM conv WHERE chat = 'bob' AND trial = 2`) == 1 })
	d.w.chat.say(t, "carl", "slow")
	d.w.chat.say(t, "carl", "/stop")
	eventually(t, "carl's stop is heard", d.shows("Stopped."))
}

// A poison beside one slow conversation: as long as the slow one goes on past its
// probation, both are on trial when the poison's time comes, and neither is alone.
func TestPoisonIsFoundBesideASlowConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeadly(t)
		d.w.model.turnTimeout = 10 * time.Minute
		slowly(d, 3*time.Second)
		d.w.chat.say(t, "bob", "slow")
		d.w.chat.say(t, "zed", "poison")
		n := d.lived(d.shows("Reference: "))
		t.Logf("%d deaths", n)
		if n > 8 {
			t.Errorf("the process died %d times", n)
		}
		if n := d.w.count(`SELECT COUNT(*) FROM turn t JOIN conv c ON c.id = t.conv WHERE c.chat = 'bob' AND t.outcome = 'failed'`); n != 0 {
			t.Error("the slow one was given up")
		}
		d.w.end()
	})
}

// After two crashes with 60 turns in flight everybody is a suspect. A model that
// takes 300 ms answers them one after the other: nobody is that patient.
func TestACrowdOfSuspectsIsAnsweredSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeadly(t)
		f := <-d.lives
		d.w.bury(f)
		d.begin()
		d.w.model.becomes(func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
			}
			return echo(ctx, r)
		})
		for i := range 60 {
			who := fmt.Sprintf("p%d", i)
			d.w.exec(`INSERT INTO conv (id, channel, chat, thread, deaths) VALUES ('` + (ports.Conversation{Channel: "chat", Chat: who}).String() + `', 'chat', '` + who + `', '', 2)`)
			d.w.chat.say(t, who, "hello")
		}
		eventually(t, "all are answered", func() bool { return len(d.w.chat.texts()) >= 60 })
		d.w.end()
	})
}
