package storetest

import (
	"slices"
	"time"

	"dragoman/ports"
)

func fateRules() []Rule {
	in := room("followed")
	fate := func(t *trial, event string) ports.Fate {
		f, err := t.Fates(channel).Fate(t.ctx, event)
		t.ok(err, "fate")
		return f
	}
	return []Rule{
		rule("fate/a message is followed to its end", "a chat in a pipe must know when it is answered, and how it ended", func(t *trial) {
			_, err := t.Fates(channel).Fate(t.ctx, "e1")
			t.kind(err, ports.KindNotFound, "the fate of what never came")
			l := t.say(in, 1)
			_, err = t.Fates("another").Fate(t.ctx, "e1")
			t.kind(err, ports.KindNotFound, "the fate on another channel")
			f := fate(t, "e1")
			t.want(f.Turn.ID == "" && f.Open == nil && len(f.Unsent) == 0, "while it waits its fate is %+v", f)
			turn := t.begin(l, 1)
			f = fate(t, "e1")
			t.want(f.Turn.ID == turn && f.Turn.State == ports.TurnRunning && f.Turn.In == in, "while its turn runs its fate is %+v", f)

			end := final(l, turn, 1, turn+"/1/0", turn+"/1/1")
			end.Deliveries[1].Optional = true
			t.ok(t.Finish(t.ctx, l, end, ports.OutcomeFailed), "finish")
			f = fate(t, "e1")
			t.want(f.Turn.State == ports.TurnDone && f.Turn.Outcome == ports.OutcomeFailed, "after its turn its fate is %+v", f)
			t.want(slices.Equal(f.Unsent, []string{turn + "/1/0"}), "what is not sent yet, and may not be dropped, is %v", f.Unsent)
			t.delivered(l, turn+"/1/0", ports.Receipt{ID: "m"})
			f = fate(t, "e1")
			t.want(len(f.Unsent) == 0, "after it was sent there is left to send %v", f.Unsent)
		}),
		rule("fate/what was given up is waited for no more", "a chat in a pipe must end", func(t *trial) {
			l := t.say(in, 1)
			turn := t.begin(l, 1)
			t.finish(l, turn, 1, turn+"/1/0")
			t.delivered(l, turn+"/1/0", ports.Receipt{Failed: "the disk is full"})
			f := fate(t, "e1")
			t.want(f.Turn.State == ports.TurnDone && len(f.Unsent) == 0, "its fate is %+v", f)
		}),
		rule("fate/an open question is told", "whoever waits for an answer must learn that one is waited for", func(t *trial) {
			turn := t.parked(in, "q1", time.Now().Add(time.Hour))
			f := fate(t, "e1")
			t.want(f.Turn.ID == turn && f.Turn.State == ports.TurnParked && f.Open != nil && f.Open.ID == "q1", "its fate is %+v", f)
			t.accept(settle(ports.RouteAnswer, ports.QuestionAnswered), t.message(in, "yes"))
			for _, event := range []string{"e1", "e2"} {
				f = fate(t, event)
				t.want(f.Turn.ID == turn && f.Turn.State == ports.TurnRunning && f.Open == nil, "after the answer the fate of %s is %+v", event, f)
			}
		}),
	}
}
