package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/ports"
)

func TestWithoutASummaryTheOldestTurnsAreLeftOutUntilOneCanBeHad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, leftOutForASummary)
}

// leftOutForASummary is the test in a bubble: its waits take no time.
func leftOutForASummary(t *testing.T) {
	k := newTalk(t, 8000)
	k.clerk.keep = true
	k.clerk.dumb = func() (ports.ModelReply, error) {
		return ports.ModelReply{}, ports.Errorf(ports.KindRefused, "clerk", "the filter spoke")
	}
	fact := k.plant(5)
	for i := 0; k.clerk.asked == 0; i++ {
		k.chatter(1)
		if i > 200 {
			t.Fatal("no summary is ever wanted")
		}
	}
	k.prompts()
	for i := range 3 {
		<-time.After(6 * time.Minute) // until it is tried again
		k.says("Look up order 77, please.")
		list := k.prompts()
		if len(list) != 3 || !isSummary(list[0]) || isSummary(list[1]) || isSummary(list[2]) {
			t.Fatalf("turn %d asks the model %d times", i, len(list))
		}
		if !tells(list[1], "turns before this are left out") || tells(list[1], fact.answer) {
			t.Errorf("turn %d is not told that something is left out: %+v", i, list[1].Entries[0])
		}
		if !begins(written(t, list[2]), written(t, list[1])) {
			t.Errorf("turn %d leaves out something else in its second prompt", i)
		}
	}
	k.clerk.dumb = nil
	<-time.After(6 * time.Minute)
	if got := k.says(fact.ask); got != "It is "+fact.answer+"." {
		t.Errorf("once there is a summary it says %q", got)
	}
	k.sane()
}

func TestAProviderThatCountsMoreThanItsWindowIsHeard(t *testing.T) {
	k := newTalk(t, 6000)
	k.agent = func(c *agent.Config) { c.Models[0].ContextTokens = 32000 }
	k.rebirth()
	fact := k.plant(5)
	for range 5 {
		k.chatter(15)
		if got := k.says(fact.ask); got != "It is "+fact.answer+"." {
			t.Fatalf("asked for what was told it says %q", got)
		}
	}
	if k.clerk.refused == 0 || len(k.clerk.faults) > 0 || k.count(`SELECT COUNT(*) FROM step WHERE kind = 'memo'`) == 0 {
		t.Errorf("%d prompts were refused; %q", k.clerk.refused, k.clerk.faults)
	}
	if n := k.count(`SELECT COUNT(*) FROM turn WHERE outcome <> 'answered'`); n != 0 {
		t.Errorf("%d turns were not answered", n)
	}
	k.clerk.keep = true
	k.clerk.hook = func(ports.ModelRequest) error { return ports.Errorf(ports.KindTooLarge, "clerk", "prompt is too long") }
	k.prompts()
	if got := k.says("hello"); !strings.Contains(got, "too long for the language model") || !strings.Contains(got, "/new") {
		t.Errorf("where nothing helps it says %q", got)
	}
	replies := 0
	for _, r := range k.prompts() {
		if !isSummary(r) {
			replies++
		}
	}
	if replies != 3 {
		t.Errorf("it asks for the reply %d times, want 3: as it was, with a summary, with all left out", replies)
	}
}

func TestALongTurnMakesRoomInsideItself(t *testing.T) {
	k := newTalk(t, 9000)
	sized := k.agent
	k.agent = func(c *agent.Config) { sized(c); c.MaxSteps = 40 }
	k.rebirth()
	k.clerk.keep = true
	fact := k.plant(5)
	k.chatter(4)
	for range 2 {
		if got := k.says("Survey 25 orders."); got != "Surveyed: 25" {
			t.Errorf("it says %q", got)
		}
	}
	k.sane()
	list := k.prompts()
	last := list[len(list)-1]
	if !tells(last, "bytes of this result are left out") || !tells(last, trackingOf("20024")) {
		t.Error("the last prompt has all results, or not the last")
	}
	changed := 0
	for i := 1; i < len(list); i++ {
		if !isSummary(list[i]) && !isSummary(list[i-1]) && !begins(written(t, list[i]), written(t, list[i-1])) {
			changed++
		}
	}
	if changed > 16 {
		t.Errorf("of %d prompts %d do not begin as the one before: results go one at a time", len(list), changed)
	}
	if got := k.says(fact.ask); got != "It is "+fact.answer+"." {
		t.Errorf("asked for what was told before it says %q", got)
	}
	k.sane()
}

func TestAMessageLargerThanTheWindowIsCutInTheMiddle(t *testing.T) {
	k := newTalk(t, 6000)
	k.clerk.keep = true
	fact := k.plant(5)
	for range 2 {
		k.says("The beginning. " + strings.Repeat("It was a dark and stormy night, and no end of it. ", 2000) + " The end.")
		list := k.prompts()
		r := list[len(list)-1]
		if !tells(r, "The beginning.") || !tells(r, "The end.") || !tells(r, "bytes are left out here") {
			t.Errorf("of the message the model sees neither beginning nor end, or no note")
		}
	}
	if got := k.says(fact.ask); got != "It is "+fact.answer+"." {
		t.Errorf("asked for what was told before it says %q", got)
	}
	k.sane()
}
