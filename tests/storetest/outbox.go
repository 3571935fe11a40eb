package storetest

import (
	"reflect"
	"time"

	"dragoman/ports"
)

func outboxRules() []Rule {
	return []Rule{
		rule("outbox/order is that of the commits", "a person reads the parts of an answer one below the other", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Deliveries: []ports.Delivery{delivery(l, "z"), delivery(l, "b")}}), "record")
			t.finish(l, turn, 1, "a", "y")
			t.accept(func(ports.Sight) ports.Route {
				return ports.Route{Drop: true, Deliveries: []ports.Delivery{delivery(l, "c"), delivery(l, "z")}}
			}, t.message(l.In, "x"))
			t.crash()
			p, err := t.Pending(t.ctx, t.takeOver(l.In))
			t.ok(err, "pending")
			got := ""
			for _, d := range p {
				got += d.ID
			}
			t.want(got == "zbayc", "the order is %q, want zbayc", got)
		}),
		rule("outbox/deliveries tell since when they are stored", "what may have been tried before it is looked for at the platform, from then on", func(t *trial) {
			before := time.Now().Truncate(time.Millisecond)
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Deliveries: []ports.Delivery{delivery(l, "one")}}), "record")
			after := time.Now()
			for range 2 {
				p, err := t.Pending(t.ctx, l)
				t.want(err == nil && len(p) == 1 && !p[0].Out.Since.Before(before) && !p[0].Out.Since.After(after), "stored between %s and %s, and read %+v %v", before, after, p, err)
			}
		}),
		rule("outbox/deliveries come back whole", "what is stored is what is sent", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			d := delivery(l, turn+"/1/0")
			d.Question, d.Edits, d.Optional, d.Tries = "q", "old", true, 2
			d.Out.ReplyTo, d.Out.Reply = "m1", []byte(`{"t":1}`)
			d.Out.Content = ports.Content{Text: "**hi** 😀", Body: []byte(`{"html":"x"}`), Choices: []ports.Choice{{Question: "q", Field: "f", Value: "v", Label: "Yes"}}}
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Deliveries: []ports.Delivery{d}}), "record")
			p, err := t.Pending(t.ctx, l)
			if len(p) == 1 {
				p[0].Out.Since = time.Time{} // of which there is a rule of its own
			}
			t.want(err == nil && len(p) == 1 && reflect.DeepEqual(p[0], d), "stored %+v\nread   %+v %v", d, p, err)
		}),
		rule("outbox/an edit knows what it replaces", "the platform's id is unknown when the edit is written", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			first, gone, edit, edit2 := delivery(l, "first"), delivery(l, "gone"), delivery(l, "edit"), delivery(l, "edit2")
			edit.Edits, edit2.Edits = "first", "gone"
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Deliveries: []ports.Delivery{first, gone, edit, edit2}}), "record")
			ids := func(want ...ports.MessageID) {
				p, err := t.Pending(t.ctx, l)
				t.want(err == nil && len(p) == len(want), "pending is %v %v", p, err)
				for i, d := range p {
					t.want(d.EditID == want[i], "%s replaces %q, want %q", d.ID, d.EditID, want[i])
				}
			}
			ids("", "", "", "")
			t.delivered(l, "first", ports.Receipt{ID: "77"})
			t.delivered(l, "gone", ports.Receipt{Failed: "no such chat"})
			ids("77", "")
		}),
		rule("outbox/a preview gets its row when it was posted", "the answer must replace it, also after a crash", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := ports.TurnID(l.In, 1)
			early := turn + "/0/preview"
			t.delivered(l, early, ports.Receipt{ID: "55"})
			preview := func(when string, want ports.Preview) {
				p := t.load(l).Preview
				t.want(p != nil && p.ID == want.ID && p.Posted == want.Posted, "%s the preview is %+v, want %+v", when, p, want)
			}
			preview("before the turn's row", ports.Preview{ID: early, Posted: "55"})
			t.begin(l, 1)
			preview("with the turn's row", ports.Preview{ID: early, Posted: "55"})
			t.delivered(l, turn+"/2/preview", ports.Receipt{ID: "56"})
			t.delivered(l, turn+"/3/preview", ports.Receipt{Failed: "blocked"})
			t.crash()
			l = t.takeOver(l.In)
			preview("after a crash", ports.Preview{ID: turn + "/2/preview", Posted: "56"})
			c := final(l, turn, 1, turn+"/1/0")
			c.Deliveries[0].Edits = turn + "/2/preview"
			t.ok(t.Finish(t.ctx, l, c, ports.OutcomeAnswered), "finish")
			p, err := t.Pending(t.ctx, l)
			t.want(err == nil && len(p) == 1 && p[0].EditID == "56", "pending is %+v %v", p, err)
		}),
		rule("outbox/what replaces a preview ends it", "else the next thing that is said would replace a question or an answer", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			t.delivered(l, turn+"/1/preview", ports.Receipt{ID: "55"})
			next := delivery(l, turn+"/2/0")
			next.Edits = turn + "/1/preview"
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Deliveries: []ports.Delivery{next}}), "record")
			p := t.load(l).Preview
			t.want(p == nil, "the preview is still %+v", p)
		}),
		rule("outbox/an unknown delivery", "a receipt for nothing is a fault of the sender", func(t *trial) {
			l := t.say(room("a"), 1)
			t.kind(t.Delivered(t.ctx, l, "nope", ports.Receipt{ID: "1"}), ports.KindNotFound, "a receipt of no delivery")
			other := ports.DeliveryID(ports.TurnID(room("b"), 1), 0, 0)
			t.kind(t.Delivered(t.ctx, l, other, ports.Receipt{ID: "1"}), ports.KindNotFound, "a preview of another conversation")
		}),
		rule("outbox/delivered twice", "a receipt of unknown outcome is made again; the first counts", func(t *trial) {
			l := t.say(room("a"), 2)
			turn := t.begin(l, 1)
			edit := delivery(l, "edit")
			edit.Edits = "d"
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Deliveries: []ports.Delivery{delivery(l, "d"), edit}}), "record")
			t.delivered(l, "d", ports.Receipt{ID: "1"})
			t.delivered(l, "d", ports.Receipt{ID: "2"})
			t.delivered(l, "d", ports.Receipt{Failed: "late"})
			p, err := t.Pending(t.ctx, l)
			t.want(err == nil && len(p) == 1 && p[0].EditID == "1", "pending is %+v %v", p, err)
		}),
		rule("outbox/an id is added once", "a commit made again must not post twice, nor bring back what was posted", func(t *trial) {
			l, other := t.say(room("a"), 2), t.say(room("b"), 1)
			t.finish(l, t.begin(l, 1), 1, "d")
			t.delivered(l, "d", ports.Receipt{ID: "1"})
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: ports.TurnID(l.In, 2), Person: ann, Take: []int64{2}, Deliveries: []ports.Delivery{delivery(l, "d")}}), "record")
			p, err := t.Pending(t.ctx, l)
			t.want(err == nil && len(p) == 0, "what was delivered is pending again: %v %v", p, err)
			t.finish(other, t.begin(other, 1), 1, "d")
			p, err = t.Pending(t.ctx, other)
			t.want(err == nil && len(p) == 1, "the same id in another conversation gave %v %v", p, err)
		}),
	}
}
