package storetest

import (
	"reflect"
	"time"

	"dragoman/ports"
)

// spent is a request of a round price: n dollars, for n tokens of each kind but
// for the input, which the others are parts of.
func spent(step int, agent, model string, n int) ports.Spent {
	return ports.Spent{Step: step, Agent: agent, Model: model, Cost: ports.Money(n) * 1e9, Priced: n > 0,
		Tokens: ports.Tokens{Input: 4 * n, CachedInput: n, CacheWrite: n, Output: n}}
}

// used is what a group of requests used that cost so many dollars together.
func used(key string, requests, dollars int) ports.Used {
	s := spent(0, "", "", dollars)
	return ports.Used{Key: key, Requests: requests, Tokens: s.Tokens, Cost: s.Cost}
}

// spend is a turn of its person in a conversation that begins with this message
// and has one step, a reply that used this, and another, its end, that used nothing.
func (t *trial) spend(in ports.Conversation, person ports.PersonID, of ...ports.Spent) {
	l := t.say(in, 1)
	seq := t.load(l).Waiting[0].Seq
	c := final(l, ports.TurnID(in, seq), 1)
	c.Person, c.Take, c.Usage = person, []int64{seq}, of
	c.Steps = append([]ports.Step{{Index: 0, Kind: ports.StepReply, Body: body("reply")}}, c.Steps...)
	t.ok(t.Finish(t.ctx, l, c, ports.OutcomeAnswered), "finish")
}

// sums ends the rule unless the store sums up what was used to just this.
func (t *trial) sums(q ports.UsageQuery, want ...ports.Used) {
	got, err := t.Used(t.ctx, q)
	t.want(err == nil && len(got) == len(want) && (len(want) == 0 || reflect.DeepEqual(got, want)), "%+v is summed up to %+v (%v), want %+v", q, got, err, want)
}

func usageRules() []Rule {
	return []Rule{
		rule("usage/is summed by each word", "an admin asks whose money it was, and what for", func(t *trial) {
			thread := ports.Conversation{Channel: channel, Chat: "a", Thread: "1"}
			t.spend(room("a"), ann, spent(0, "main", "m", 1), spent(1, "main", "m", 2))
			t.spend(thread, "bob", spent(0, "main", "big", 8))
			t.spend(room("b"), ann, spent(0, "other", "m", 4))
			t.crash()
			t.sums(ports.UsageQuery{}, used("", 4, 15))
			t.sums(ports.UsageQuery{By: ports.UsageByPerson}, used("bob", 1, 8), used("ann", 3, 7))
			t.sums(ports.UsageQuery{By: ports.UsageByChat}, used(ports.ChatKey(thread), 3, 11), used(ports.ChatKey(room("b")), 1, 4))
			t.sums(ports.UsageQuery{By: ports.UsageByAgent}, used("main", 3, 11), used("other", 1, 4))
			t.sums(ports.UsageQuery{By: ports.UsageByModel}, used("big", 1, 8), used("m", 3, 7))
			t.sums(ports.UsageQuery{By: ports.UsageByTurn}, used(ports.TurnID(thread, 1), 1, 8), used(ports.TurnID(room("b"), 1), 1, 4), used(ports.TurnID(room("a"), 1), 2, 3))
			_, err := t.Used(t.ctx, ports.UsageQuery{By: "moon"})
			t.kind(err, ports.KindInvalid, "usage by what there is not")
		}),
		rule("usage/is summed of what is asked for", "a cap on one person must not count another's money", func(t *trial) {
			other := ports.Conversation{Channel: "other", Chat: "a"}
			t.spend(room("a"), ann, spent(0, "main", "m", 1))
			t.spend(room("a"), "bob", spent(0, "main", "m", 2))
			t.spend(room("b"), ann, spent(0, "second", "m", 4))
			got, err := t.Accept(t.ctx, ports.Source{Channel: "other"}, ports.Batch{Messages: []ports.Message{t.message(other, "hello")}}, always(ports.RouteLane))
			t.want(err == nil && len(got.Leases) == 1, "accept gave %+v %v", got, err)
			c := final(got.Leases[0], ports.TurnID(other, 1), 0)
			c.Take, c.Usage = []int64{1}, []ports.Spent{spent(0, "main", "m", 8)}
			t.ok(t.Finish(t.ctx, got.Leases[0], c, ports.OutcomeAnswered), "finish")
			t.sums(ports.UsageQuery{Person: ann}, used("", 3, 13))
			t.sums(ports.UsageQuery{Channel: channel, Chat: "a"}, used("", 2, 3))
			t.sums(ports.UsageQuery{Channel: channel, Chat: "a", Person: "bob"}, used("", 1, 2))
			t.sums(ports.UsageQuery{Channel: channel}, used("", 3, 7))
			t.sums(ports.UsageQuery{Agent: "second"}, used("", 1, 4))
			t.sums(ports.UsageQuery{Person: "nobody"}, ports.Used{})
			t.sums(ports.UsageQuery{Person: "nobody", By: ports.UsageByModel})
			t.sums(ports.UsageQuery{Person: "bob", By: ports.UsageByAgent}, used("main", 1, 2))
		}),
		rule("usage/counts from a moment on", "a day's cap must not count the day before", func(t *trial) {
			begin, first := time.Now().Add(-time.Second), spent(0, "main", "m", 1)
			first.At = time.Now()
			t.spend(room("a"), ann, first)
			t.sums(ports.UsageQuery{Since: begin, Person: ann}, used("", 1, 1))
			t.sums(ports.UsageQuery{Since: time.Now().Add(time.Hour), Person: ann}, ports.Used{})
			late := spent(0, "main", "m", 2)
			late.At = time.Now().Add(-48 * time.Hour) // its commit came late
			t.spend(room("b"), ann, late)
			t.sums(ports.UsageQuery{Since: begin}, used("", 1, 1))
			t.sums(ports.UsageQuery{Since: late.At}, used("", 2, 3))
			t.sums(ports.UsageQuery{Since: late.At.Add(-time.Hour), By: ports.UsageByDay}, used(late.At.Format(time.DateOnly), 1, 2), used(first.At.Format(time.DateOnly), 1, 1))
			// What is booked at a moment is booked after it, to the millisecond.
			t.sums(ports.UsageQuery{Since: time.Now().Add(10 * time.Millisecond)}, ports.Used{})
		}),
		rule("usage/days are those of a time zone", "the day of a cap is the admin's, not Greenwich's", func(t *trial) {
			t.spend(room("a"), ann, spent(0, "main", "m", 1))
			for _, hours := range []int{-12, 14} { // no moment has one date in both
				in := time.FixedZone("zone", hours*3600)
				before := time.Now().In(in)
				got, err := t.Used(t.ctx, ports.UsageQuery{Since: before.Add(-time.Hour), By: ports.UsageByDay})
				t.ok(err, "used")
				first, last := before.Add(-time.Minute).Format(time.DateOnly), time.Now().In(in).Format(time.DateOnly) // a minute ago it was not booked yet
				t.want(len(got) == 1 && (got[0].Key == first || got[0].Key == last) && got[0].Cost == 1e9, "by day, %d hours from Greenwich, there is %+v, want that of %s", hours, got, last)
			}
		}),
		rule("usage/what has no price is counted apart", "a sum that lacks something must say so", func(t *trial) {
			free := spent(0, "main", "free", 0)
			free.Priced = true
			unknown := spent(0, "main", "unknown", 3)
			unknown.Cost, unknown.Priced, unknown.Estimated = 0, false, true
			t.spend(room("a"), ann, spent(0, "main", "m", 1), free, unknown)
			want := used("", 3, 4)
			want.Cost, want.Unpriced = 1e9, 1
			t.sums(ports.UsageQuery{}, want)
		}),
		rule("usage/a write made again books nothing twice", "a commit of unknown outcome is made again, and nobody pays twice", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := ports.TurnID(l.In, 1)
			failed, reply := spent(0, "main", "big", 1), spent(0, "main", "m", 2) // one row had two requests
			c := ports.Change{Turn: turn, Person: ann, Take: []int64{1}, Usage: []ports.Spent{failed, reply},
				Steps: []ports.Step{{Index: 0, Kind: ports.StepReply, Body: body("r")}}}
			for range 3 {
				t.ok(t.Record(t.ctx, l, c), "record")
			}
			t.sums(ports.UsageQuery{}, used("", 2, 3))
			c.Steps = append(c.Steps, ports.Step{Index: 1, Kind: ports.StepMemo, Body: body("m")})
			c.Usage = append(c.Usage, spent(1, "main", "m", 4))
			for range 2 { // the old and more
				t.ok(t.Record(t.ctx, l, c), "record")
			}
			t.sums(ports.UsageQuery{}, used("", 3, 7))
			ask := question(l, turn, "q", time.Time{})
			p := ports.Change{Turn: turn, Person: ann, Ask: ask, Usage: []ports.Spent{spent(2, "main", "m", 8)}, Deliveries: []ports.Delivery{delivery(l, ask.Prompt)},
				Steps: []ports.Step{{Index: 2, Kind: ports.StepReply, Body: body("calls")}}}
			for range 2 {
				t.ok(t.Park(t.ctx, l, p), "park")
			}
			end := final(l, turn, 3, turn+"/3/0")
			end.Usage = []ports.Spent{spent(3, "main", "m", 16), spent(3, "main", "m", 16)} // two that are alike
			for range 2 {
				t.ok(t.Finish(t.ctx, l, end, ports.OutcomeAnswered), "finish")
			}
			t.sums(ports.UsageQuery{}, used("", 6, 47))
			t.crash()
			t.ok(t.Finish(t.ctx, t.takeOver(l.In), end, ports.OutcomeAnswered), "finish after a crash")
			t.sums(ports.UsageQuery{}, used("", 6, 47))
		}),
		rule("usage/comes with its step", "usage of no row could be booked once more and nobody would know", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			for _, step := range []int{1, 2, -1} {
				t.kind(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Usage: []ports.Spent{spent(step, "main", "m", 1)}}), ports.KindInvalid, "book without a step")
			}
			c := final(l, turn, 1, "d")
			c.Usage = []ports.Spent{spent(1, "main", "m", 1), spent(2, "main", "m", 1)}
			t.kind(t.Finish(t.ctx, l, c, ports.OutcomeAnswered), ports.KindInvalid, "book beyond the last step")
			t.want(len(t.load(l).Steps) == 1, "part of a refused change is stored")
			t.kind(t.Record(t.ctx, ports.Lease{In: l.In, Epoch: l.Epoch + 1}, ports.Change{Turn: turn, Person: ann, Steps: c.Steps, Usage: c.Usage[:1]}), ports.KindFenced, "book with another epoch")
			t.sums(ports.UsageQuery{}, ports.Used{})
		}),
	}
}
