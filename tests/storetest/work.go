package storetest

import (
	"fmt"
	"time"

	"dragoman/ports"
)

func workRules() []Rule {
	return []Rule{
		rule("work/released with the last delivery", "an owner without work is a lane that never ends, and a message that nobody picks up elsewhere", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			t.finish(l, turn, 1, turn+"/1/0", turn+"/1/1")
			t.load(l)
			t.delivered(l, turn+"/1/0", ports.Receipt{ID: "1"})
			t.load(l)
			t.delivered(l, turn+"/1/1", ports.Receipt{Failed: "the chat is gone"})
			t.unowned(l, "the last delivery")
		}),
		rule("work/released at the end of a silent turn", "a turn without a delivery has no later commit to release it", func(t *trial) {
			l := t.say(room("a"), 1)
			t.finish(l, t.begin(l, 1), 1)
			t.unowned(l, "a finish without deliveries")
		}),
		rule("work/kept while a message waits", "released with a message waiting, it would wait for the next one", func(t *trial) {
			l := t.say(room("a"), 2)
			turn := t.begin(l, 1)
			t.finish(l, turn, 1, "d")
			t.delivered(l, "d", ports.Receipt{ID: "1"})
			t.want(len(t.load(l).Waiting) == 1, "the second message is gone")
			t.finish(l, t.begin(l, 2), 1)
			t.unowned(l, "the second turn")
		}),
		rule("work/a new owner has a new epoch", "the epoch is what tells an owner from its ghost", func(t *trial) {
			in := room("a")
			var last int64
			for i := range 3 {
				l := t.say(in, 1)
				t.want(l.Epoch > last, "life %d has epoch %d after %d", i, l.Epoch, last)
				last = l.Epoch
				t.finish(l, t.begin(l, t.load(l).Waiting[0].Seq), 1)
			}
			t.say(in, 1)
			for _, end := range []func(){t.restart, t.crash} {
				end()
				l := t.takeOver(in)
				t.want(l.Epoch > last+1, "the next process has epoch %d after %d", l.Epoch, last+1)
				last = l.Epoch - 1
			}
		}),
		rule("work/parked is unowned once its prompt is delivered", "a question may stay open for days: it must hold nothing", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			prompt := t.park(l, turn, "q", time.Time{})
			w := t.load(l)
			t.want(w.Turn.State == ports.TurnParked && w.Turn.Question == "q" && w.Question != nil && w.Question.State == ports.QuestionOpen, "parked: %+v", w)
			t.delivered(l, prompt, ports.Receipt{ID: "77"})
			t.unowned(l, "the prompt's delivery")
			t.crash()
			t.want(len(t.claim()) == 0, "after a crash a parked turn is claimed")
		}),
		rule("work/parking without a prompt releases", "the prompt may have been shown by other means", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			t.ok(t.Park(t.ctx, l, ports.Change{Turn: turn, Person: ann, Ask: question(l, turn, "q", time.Time{})}), "park")
			t.unowned(l, "a park without a prompt")
		}),
		rule("work/messages wait while a turn is parked", "a lane that is woken for a message that may not run spins", func(t *trial) {
			in := room("a")
			t.parked(in, "q", time.Time{})
			got := t.accept(always(ports.RouteLane), t.message(in, "and?"))
			t.want(got.Stored == 1 && len(got.Leases) == 0, "a message that may not run gave %+v", got)
			t.want(len(t.claim()) == 0, "claim gives a conversation whose message may not run")
			t.crash()
			t.want(len(t.claim()) == 0, "after a crash claim gives it")
			got = t.accept(settle(ports.RouteAnswer, ports.QuestionAnswered), t.message(in, "yes"))
			t.want(len(got.Leases) == 1, "the answer gave %+v", got)
			w := t.load(got.Leases[0])
			t.want(w.Turn != nil && w.Turn.State == ports.TurnRunning && len(w.Waiting) == 1 && len(w.Taken) == 2, "after the answer: %+v", w)
		}),
		rule("work/a message beside an undelivered prompt is told", "the lane that delivers the prompt is alive and may want to know", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			prompt := t.park(l, turn, "q", time.Time{})
			got := t.accept(always(ports.RouteLane), t.message(l.In, "and?"))
			t.want(len(got.Leases) == 1 && got.Leases[0] == l, "got %+v", got)
			t.delivered(l, prompt, ports.Receipt{ID: "1"})
			t.unowned(l, "the prompt's delivery, with a message that may not run")
		}),
		rule("work/a control message runs while a turn is parked", "a stop must reach a turn that waits", func(t *trial) {
			in := room("a")
			turn := t.parked(in, "q", time.Time{})
			got := t.accept(always(ports.RouteControl), t.message(in, "/stop"))
			t.want(len(got.Leases) == 1, "a control message gave %+v", got)
			l := got.Leases[0]
			w := t.load(l)
			t.want(len(w.Waiting) == 1 && w.Waiting[0].Route == ports.RouteControl && w.Turn.ID == turn, "work is %+v", w)
			c := final(l, turn, 1)
			c.Take = []int64{w.Waiting[0].Seq}
			t.ok(t.Finish(t.ctx, l, c, ports.OutcomeStopped), "finish")
			t.unowned(l, "the stop")
			q, err := t.Question(t.ctx, "q")
			t.want(err == nil && q.State != ports.QuestionOpen, "the stopped turn's question is %s %v", q.State, err)
		}),
		rule("work/claimed after a crash", "what a dead process left must go on, and the dead must not write", func(t *trial) {
			var old []ports.Lease
			for i := range 5 {
				l := t.say(room(fmt.Sprint(i)), 1)
				if i > 0 {
					turn := t.begin(l, 1)
					if i > 1 {
						t.finish(l, turn, 1, "d")
					}
				}
				old = append(old, l)
			}
			t.crash()
			got := t.claim()
			t.want(len(got) == 5, "claim gives %d conversations, want 5", len(got))
			for _, l := range got {
				t.load(l)
			}
			for _, l := range old {
				_, err := t.Load(t.ctx, l)
				t.kind(err, ports.KindFenced, "load under the dead process's lease")
			}
			t.want(len(t.claim()) == 0, "what is owned is claimed again")
		}),
		rule("work/claim keeps to its limit", "a restart must not start a thousand turns at once", func(t *trial) {
			for i := range 10 {
				t.say(room(fmt.Sprint(i)), 1)
			}
			t.crash()
			for _, want := range []int{4, 4, 2, 0} {
				got, err := t.Claim(t.ctx, 4)
				t.want(err == nil && len(got) == want, "claim gives %d (%v), want %d", len(got), err, want)
			}
		}),
		rule("work/nothing idle is claimed", "a restart must not wake every conversation there ever was", func(t *trial) {
			l := t.say(room("a"), 1)
			t.finish(l, t.begin(l, 1), 1)
			t.crash()
			t.want(len(t.claim()) == 0, "an idle conversation is claimed")
		}),
		rule("work/backlog counts what waits", "an admin must see that it grows", func(t *trial) {
			backlog := func(want ports.Backlog) {
				got, err := t.Backlog(t.ctx)
				t.want(err == nil && got == want, "the backlog is %+v (%v), want %+v", got, err, want)
			}
			backlog(ports.Backlog{})
			l := t.say(room("a"), 3)
			backlog(ports.Backlog{Inbox: 3})
			turn := t.begin(l, 1, 2)
			t.finish(l, turn, 1, "d1", "d2")
			backlog(ports.Backlog{Inbox: 1, Outbox: 2})
			t.delivered(l, "d1", ports.Receipt{ID: "1"})
			t.delivered(l, "d2", ports.Receipt{Failed: "gone"})
			backlog(ports.Backlog{Inbox: 1})
		}),
	}
}
