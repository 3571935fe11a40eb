package storetest

import (
	"time"

	"dragoman/ports"
)

func deathRules() []Rule {
	a, b := room("a"), room("b")
	return []Rule{
		rule("deaths/a crash counts and a stop in order does not", "three deaths end a turn, and a deployment is none", func(t *trial) {
			t.begin(t.say(a, 1), 1)
			t.restart()
			t.charged("a graceful stop", charge{a, 0, 0})
			t.crash()
			t.charged("a crash", charge{a, 1, 1})
			t.restart()
			t.charged("a graceful stop", charge{a, 1, 1})
			t.restart()
			t.takeUp(a, false)
			t.crash()
			t.crash()
			t.charged("a crash, and one while nobody owned it", charge{a, 2, 2})
		}),
		rule("deaths/what saw one and only waits is not blamed", "a storm of crashes right after each start must not make suspects of all", func(t *trial) {
			t.begin(t.say(a, 1), 1)
			t.crash()
			t.claim()
			t.crash()
			t.charged("a crash before it was taken up again", charge{a, 1, 1})
			t.say(b, 1)
			t.crash()
			t.charged("a crash beside another that waits", charge{a, 1, 1}, charge{b, 1, 0})
		}),
		rule("deaths/they count before the turn has a row", "a message may kill before anything of its turn is written", func(t *trial) {
			t.say(a, 1)
			t.crash()
			t.charged("a crash", charge{a, 1, 1})
		}),
		rule("deaths/several share the blame", "whoever was only near must not pay for it", func(t *trial) {
			t.begin(t.say(a, 1), 1)
			t.say(b, 1)
			t.crash()
			t.charged("a crash", charge{a, 1, 0}, charge{b, 1, 0})
		}),
		rule("deaths/what is on trial was alone", "else a poisonous message among many is never found", func(t *trial) {
			t.begin(t.say(a, 1), 1)
			t.ok(t.Trial(t.ctx, t.say(b, 1), true), "trial")
			t.crash()
			t.charged("a crash while b was on trial", charge{a, 1, 0}, charge{b, 1, 1})
			t.restart()
			t.takeUp(b, false)
			t.crash()
			t.charged("a crash while nothing was on trial", charge{a, 1, 0}, charge{b, 2, 1})
		}),
		rule("deaths/a stop in order ends a trial", "the next crash is no fault of it", func(t *trial) {
			t.say(b, 1)
			t.ok(t.Trial(t.ctx, t.say(a, 1), true), "trial")
			t.restart()
			t.claim()
			t.crash()
			t.charged("a crash", charge{a, 1, 0}, charge{b, 1, 0})
		}),
		rule("deaths/a trial is fenced", "the dead must not speak for the living", func(t *trial) {
			l := t.say(a, 1)
			t.crash()
			t.claim()
			t.kind(t.Trial(t.ctx, l, true), ports.KindFenced, "a trial under an old lease")
		}),
		rule("deaths/a step makes them count from 0", "a turn that gets on is not what kills the process", func(t *trial) {
			turn := t.begin(t.say(a, 1), 1)
			t.say(b, 1)
			t.crash()
			for _, l := range t.claim() {
				t.ok(t.Trial(t.ctx, l, l.In == a), "trial")
				if l.In != a {
					continue
				}
				t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Steps: []ports.Step{{Index: 1, Kind: ports.StepStart, Body: body("start")}}}), "record")
				t.want(t.load(l).Deaths == ports.Deaths{}, "after a step it has %+v", t.load(l).Deaths)
			}
			t.crash()
			t.charged("the next crash", charge{a, 1, 0}, charge{b, 2, 0})
		}),
		rule("deaths/an end makes them count from 0", "what comes next is another message", func(t *trial) {
			turn := t.begin(t.say(a, 2), 1)
			t.crash()
			l := t.takeOver(a)
			t.finish(l, turn, 1)
			t.want(t.load(l).Deaths == ports.Deaths{}, "the next message has %+v", t.load(l).Deaths)
		}),
		rule("deaths/a parked turn survives crashes uncounted", "it was not running", func(t *trial) {
			t.parked(a, "q", time.Time{})
			t.crash()
			l := t.accept(settle(ports.RouteAnswer, ports.QuestionAnswered), t.message(a, "yes")).Leases[0]
			t.want(t.load(l).Deaths == ports.Deaths{}, "it has %+v", t.load(l).Deaths)
		}),
		rule("deaths/an undelivered answer is no suspect", "nothing of it runs", func(t *trial) {
			l := t.say(a, 1)
			t.finish(l, t.begin(l, 1), 1, "d1")
			t.say(b, 1)
			t.crash()
			t.charged("a crash", charge{a, 0, 0}, charge{b, 1, 0}) // what is sent may kill too
		}),
	}
}

// takeUp claims what there is and notes that the conversation runs again.
func (t *trial) takeUp(in ports.Conversation, alone bool) {
	t.ok(t.Trial(t.ctx, t.takeOver(in), alone), "trial")
}

// charge is what a conversation is charged with.
type charge struct {
	in         ports.Conversation
	all, alone int
}

// charged checks the charges in a life that has just begun.
func (t *trial) charged(after string, want ...charge) {
	leases := map[ports.Conversation]ports.Lease{}
	for _, l := range t.claim() {
		leases[l.In] = l
	}
	for _, c := range want {
		got := t.load(leases[c.in]).Deaths
		t.want(got == ports.Deaths{All: c.all, Alone: c.alone}, "after %s %s has %+v, want %d, %d of them alone", after, c.in, got, c.all, c.alone)
	}
}
