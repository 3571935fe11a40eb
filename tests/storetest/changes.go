package storetest

import (
	"reflect"
	"slices"
	"time"

	"dragoman/ports"
)

func changeRules() []Rule {
	return []Rule{
		rule("change/every verb is fenced", "a process that was frozen and comes back must not write into a turn that another one has", func(t *trial) {
			l := t.say(room("a"), 2)
			turn := t.begin(l, 1)
			for _, epoch := range []int64{l.Epoch - 1, l.Epoch + 1} {
				z := ports.Lease{In: l.In, Epoch: epoch}
				_, load := t.Load(t.ctx, z)
				_, history := t.History(t.ctx, z, 1)
				_, pending := t.Pending(t.ctx, z)
				ask := ports.Change{Turn: turn, Person: ann, Take: []int64{2}, Ask: question(z, turn, "q", time.Time{})}
				for verb, err := range map[string]error{
					"load": load, "history": history, "pending": pending,
					"record":    t.Record(t.ctx, z, final(z, turn, 1, "d")),
					"park":      t.Park(t.ctx, z, ask),
					"finish":    t.Finish(t.ctx, z, final(z, turn, 1, "d"), ports.OutcomeAnswered),
					"delivered": t.Delivered(t.ctx, z, turn+"/0/0", ports.Receipt{ID: "1"}),
				} {
					t.kind(err, ports.KindFenced, verb+" with another epoch")
				}
			}
			w := t.load(l)
			t.want(w.Turn != nil && w.Turn.State == ports.TurnRunning && len(w.Steps) == 1 && len(w.Waiting) == 1 && w.Preview == nil, "a fenced write left a trace: %+v", w)
			_, err := t.Question(t.ctx, "q")
			t.kind(err, ports.KindNotFound, "the question of a fenced park")
		}),
		rule("change/a lease that was given up writes nothing", "who lost the conversation by its own last write has the right epoch still", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			t.finish(l, turn, 1)
			t.accept(func(ports.Sight) ports.Route { return ports.Route{Drop: true} }, t.message(l.In, "x"))
			for verb, do := range map[string]func() error{
				"record":    func() error { return t.Record(t.ctx, l, final(l, turn, 1, "d")) },
				"finish":    func() error { return t.Finish(t.ctx, l, final(l, turn, 1, "d"), ports.OutcomeAnswered) },
				"delivered": func() error { return t.Delivered(t.ctx, l, turn+"/0/preview", ports.Receipt{ID: "1"}) },
				"pending":   func() error { _, err := t.Pending(t.ctx, l); return err },
				"history":   func() error { _, err := t.History(t.ctx, l, 1); return err },
			} {
				t.kind(do(), ports.KindFenced, verb+" under a lease that was given up")
			}
			t.want(len(t.claim()) == 0, "it gave the conversation work")
		}),
		rule("change/the first one makes the turn", "the turn's id must be the same before and after a crash", func(t *trial) {
			l := t.say(room("a"), 3)
			turn := t.begin(l, 1, 2)
			w := t.load(l)
			t.want(w.Turn != nil && w.Turn.ID == turn && w.Turn.State == ports.TurnRunning && w.Turn.Person == ann && w.Turn.In == l.In && !w.Turn.Started.IsZero(), "the turn is %+v", w.Turn)
			t.want(slices.Equal(seqs(w.Taken), []int64{1, 2}) && slices.Equal(seqs(w.Waiting), []int64{3}), "taken %v, waiting %v", seqs(w.Taken), seqs(w.Waiting))
			t.want(w.Taken[0].Turn == turn && w.Waiting[0].Turn == "", "the rows name the turns %q and %q", w.Taken[0].Turn, w.Waiting[0].Turn)
			join := ports.Change{Turn: turn, Person: ann, Take: []int64{3}, Steps: []ports.Step{{Index: 1, Kind: ports.StepInput, Body: body("joined")}}}
			t.ok(t.Record(t.ctx, l, join), "join a message")
			w = t.load(l)
			t.want(len(w.Taken) == 3 && len(w.Waiting) == 0 && len(w.Steps) == 2, "after joining: %+v", w)
		}),
		rule("change/a turn begins with a message that waits", "a message belongs to exactly one turn", func(t *trial) {
			l, other := t.say(room("a"), 2), t.say(room("b"), 1)
			turn := t.begin(l, 1)
			t.finish(l, turn, 1, "d")
			reuse := ports.Change{Turn: ports.TurnID(l.In, 2), Person: ann, Take: []int64{2, 1}}
			t.want(t.Record(t.ctx, l, reuse) != nil, "a turn took a message of a finished one")
			t.want(t.Record(t.ctx, l, ports.Change{Turn: ports.TurnID(l.In, 7), Person: ann, Take: []int64{7}}) != nil, "a turn began with a message that is not there")
			t.want(t.Record(t.ctx, l, ports.Change{Turn: ports.TurnID(other.In, 1), Person: ann, Take: []int64{2}}) != nil, "a turn of another conversation was begun")
			w := t.load(l)
			t.want(w.Turn == nil && slices.Equal(seqs(w.Waiting), []int64{2}), "a refused change left a trace: %+v", w)
		}),
		rule("change/one unfinished turn", "two turns side by side answer out of order", func(t *trial) {
			l := t.say(room("a"), 2)
			t.begin(l, 1)
			err := t.Record(t.ctx, l, ports.Change{Turn: ports.TurnID(l.In, 2), Person: ann, Take: []int64{2}})
			t.want(err != nil, "a second turn began")
			t.want(len(t.load(l).Waiting) == 1, "the refused turn took its message")
		}),
		rule("change/the same again is left as it is", "a commit of unknown outcome is made again", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := ports.TurnID(l.In, 1)
			c := ports.Change{
				Turn: turn, Person: ann, Take: []int64{1},
				Steps:      []ports.Step{{Index: 0, Kind: ports.StepReply, Body: body("r")}, {Index: 1, Kind: ports.StepStart, Call: 2, Body: body("s")}},
				Deliveries: []ports.Delivery{delivery(l, turn+"/0/0")},
				Usage:      []ports.Spent{{Step: 0, Model: "m", Tokens: ports.Tokens{Input: 1}}},
				Audit:      []ports.AuditEntry{{Actor: "ann", What: "tool_call", Ref: turn}},
			}
			for range 3 {
				t.ok(t.Record(t.ctx, l, c), "record")
			}
			w := t.load(l)
			t.want(reflect.DeepEqual(w.Steps, c.Steps), "the journal is %v, want %v", w.Steps, c.Steps)
			p, err := t.Pending(t.ctx, l)
			t.want(err == nil && len(p) == 1, "pending is %v %v, want one delivery", p, err)
			a, err := t.Entries(t.ctx, 10)
			t.want(err == nil && len(a) == 1, "the audit has %d entries (%v), want 1", len(a), err)
			for range 2 {
				t.finish(l, turn, 2, turn+"/2/0")
			}
			p, err = t.Pending(t.ctx, l)
			t.want(err == nil && len(p) == 2, "pending is %v %v, want two deliveries", p, err)
		}),
		rule("change/a step is never rewritten", "a recorded effect must not be forgotten", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			for _, st := range []ports.Step{
				{Index: 0, Kind: ports.StepReply, Body: body("other")},
				{Index: 0, Kind: ports.StepFinal, Body: body("reply")},
				{Index: 0, Kind: ports.StepReply, Call: 1, Body: body("reply")},
			} {
				t.kind(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Steps: []ports.Step{st}}), ports.KindInternal, "rewrite a step")
			}
			w := t.load(l)
			t.want(reflect.DeepEqual(w.Steps, []ports.Step{{Index: 0, Kind: ports.StepReply, Body: body("reply")}}), "the journal is %v", w.Steps)
		}),
		rule("change/steps leave no gap", "a journal with a gap cannot be resumed", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			for _, at := range []int{2, -1} {
				err := t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Steps: []ports.Step{{Index: at, Kind: ports.StepStart, Body: body("x")}}})
				t.want(err != nil, "step %d after one step was taken", at)
			}
			t.want(len(t.load(l).Steps) == 1, "a refused step was stored")
		}),
		rule("change/all or nothing", "half a commit is a message taken without its step, or an answer without its end", func(t *trial) {
			l := t.say(room("a"), 2)
			turn := t.begin(l, 1)
			c := final(l, turn, 1, turn+"/1/0")
			c.Take = []int64{2}
			c.Steps = append(c.Steps, ports.Step{Index: 7, Kind: ports.StepStart, Body: body("gap")})
			c.Audit = []ports.AuditEntry{{Actor: "ann", What: "tool_call"}}
			t.want(t.Finish(t.ctx, l, c, ports.OutcomeAnswered) != nil, "a change with a gap was taken")
			w := t.load(l)
			t.want(w.Turn != nil && w.Turn.State == ports.TurnRunning && len(w.Steps) == 1 && len(w.Waiting) == 1, "part of it is stored: %+v", w)
			p, err := t.Pending(t.ctx, l)
			t.want(err == nil && len(p) == 0, "its delivery is stored: %v %v", p, err)
			a, err := t.Entries(t.ctx, 1)
			t.want(err == nil && len(a) == 0, "its audit is stored: %v %v", a, err)
		}),
		rule("change/a finish keeps all that it adds", "the last words of a turn, and what was done for them, have no later commit", func(t *trial) {
			l := t.say(room("a"), 2)
			turn := t.begin(l, 1)
			c := final(l, turn, 1, turn+"/1/0", turn+"/1/1")
			c.Audit = []ports.AuditEntry{{Actor: "ann", What: "tool_call", Ref: turn}}
			for range 2 { // the second one is a commit made again
				t.ok(t.Finish(t.ctx, l, c, ports.OutcomeAnswered), "finish")
			}
			p, err := t.Pending(t.ctx, l)
			t.want(err == nil && len(p) == 2 && p[0].ID == turn+"/1/0" && p[1].ID == turn+"/1/1", "pending is %v %v", p, err)
			h, err := t.History(t.ctx, l, 1)
			t.want(err == nil && len(h) == 1 && len(h[0].Steps) == 2 && reflect.DeepEqual(h[0].Steps[1], c.Steps[0]), "the journal is %+v %v", h, err)
			a, err := t.Entries(t.ctx, 10)
			t.want(err == nil && len(a) == 1 && a[0].Ref == turn && a[0].What == "tool_call", "the audit is %+v %v", a, err)
		}),
		rule("change/a finished turn is over", "a late write must not reopen what its person was told", func(t *trial) {
			l := t.say(room("a"), 2)
			turn := t.begin(l, 1)
			t.finish(l, turn, 1, "d")
			t.want(t.Record(t.ctx, l, final(l, turn, 2)) != nil, "record after finish succeeded")
			t.want(t.Finish(t.ctx, l, final(l, turn, 1, "d"), ports.OutcomeFailed) != nil, "finish with another outcome succeeded")
			h, err := t.History(t.ctx, l, 1)
			t.want(err == nil && len(h) == 1 && h[0].Turn.Outcome == ports.OutcomeAnswered && len(h[0].Steps) == 2, "the turn is %+v %v", h, err)
		}),
		rule("change/park needs a question", "a turn that waits for nothing waits for ever", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			t.kind(t.Park(t.ctx, l, ports.Change{Turn: turn, Person: ann}), ports.KindInvalid, "park without a question")
			t.kind(t.Park(t.ctx, l, ports.Change{Turn: turn, Person: ann, Ask: question(l, "another", "q", time.Time{})}), ports.KindInvalid, "park with another turn's question")
			t.want(t.load(l).Turn.State == ports.TurnRunning, "the turn is parked")
		}),
		rule("change/the journal outlives a crash", "nothing in memory is needed to go on", func(t *trial) {
			l := t.say(room("a"), 2)
			turn := t.begin(l, 1)
			before := t.load(l)
			t.crash()
			next := t.takeOver(l.In)
			after := t.load(next)
			t.want(after.Turn.ID == turn && reflect.DeepEqual(before.Steps, after.Steps) && len(after.Taken) == 1 && len(after.Waiting) == 1, "before %+v\nafter %+v", before, after)
			t.finish(next, turn, 1, "d")
		}),
	}
}

func historyRules() []Rule {
	return []Rule{
		rule("load/a flood comes in pieces", "one chat must not take all the memory", func(t *trial) {
			l := t.say(room("a"), 300)
			w := t.load(l)
			t.want(len(w.Waiting) == 256 && w.Waiting[255].Seq == 256, "%d messages wait", len(w.Waiting))
			t.finish(l, t.begin(l, seqs(w.Waiting)...), 1, "d")
			t.want(len(t.load(l).Waiting) == 44, "then %d wait, want 44", len(t.load(l).Waiting))
		}),
		rule("history/finished turns of the lane, oldest first", "the prompt is made of it", func(t *trial) {
			in := room("a")
			for i := range 5 {
				l := t.say(in, 2)
				first := t.load(l).Waiting[0].Seq
				turn := t.begin(l, first, first+1)
				if i < 4 {
					t.finish(l, turn, 1)
				}
				if i == 2 {
					t.accept(always(ports.RouteReply), t.message(in, "/help"))
					got := t.accept(always(ports.RouteControl), t.message(in, "/stop"))
					t.finish(got.Leases[0], t.begin(got.Leases[0], t.load(got.Leases[0]).Waiting[0].Seq), 1)
				}
			}
			l := t.accept(always(ports.RouteLane), t.message(in, "x")).Leases[0]
			h, err := t.History(t.ctx, l, 10)
			t.ok(err, "history")
			var ids []string
			for _, p := range h {
				ids = append(ids, p.Turn.ID)
				t.want(p.Turn.State == ports.TurnDone && p.Turn.In == in && p.Turn.Outcome == ports.OutcomeAnswered && len(p.Inbox) == 2 && len(p.Steps) == 2 &&
					p.Inbox[0].Seq < p.Inbox[1].Seq && p.Steps[1].Kind == ports.StepFinal, "turn %+v", p)
			}
			want := []string{ports.TurnID(in, 1), ports.TurnID(in, 3), ports.TurnID(in, 5), ports.TurnID(in, 9)}
			t.want(slices.Equal(ids, want), "the history is %v, want %v", ids, want)
			t.want(t.load(l).Last == want[3], "the last finished turn is %q, want %q", t.load(l).Last, want[3])
			h, err = t.History(t.ctx, l, 2)
			t.want(err == nil && len(h) == 2 && h[0].Turn.ID == want[2] && h[1].Turn.ID == want[3], "the last two are %v %v", h, err)
		}),
		rule("history/stays in its conversation", "what is said in a conversation is visible to nobody else", func(t *trial) {
			a, b := t.say(room("a"), 1), t.say(ports.Conversation{Channel: channel, Chat: "a", Thread: "1"}, 1)
			t.finish(a, t.begin(a, 1), 1)
			h, err := t.History(t.ctx, b, 10)
			t.want(err == nil && len(h) == 0 && t.load(b).Last == "", "the thread's history has the chat's turns: %v %q %v", h, t.load(b).Last, err)
		}),
	}
}
