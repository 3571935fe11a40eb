package storetest

import (
	"slices"
	"time"

	"dragoman/ports"
)

// edit is a change of what m says, with an event of its own.
func (t *trial) edit(m ports.Message, text string) ports.Message {
	e := t.message(m.In, text)
	e.ID, e.Change = m.ID, ports.ChangeEdit
	return e
}

// replaces routes an edit of a message that waits.
func replaces(ports.Sight) ports.Route {
	return ports.Route{Kind: ports.RouteReply, Person: ann, Replace: true}
}

// forgets routes a deletion.
func forgets(ports.Sight) ports.Route {
	return ports.Route{Kind: ports.RouteReply, Person: ann, Forget: true}
}

func earlierRules() []Rule {
	return []Rule{
		rule("earlier/sight shows the message that is changed or replied to", "what becomes of an edit hangs on what became of its message", func(t *trial) {
			in := room("a")
			first, second := t.message(in, "first"), t.message(in, "second")
			l := t.accept(always(ports.RouteLane), first, second).Leases[0]
			turn := t.begin(l, 1)
			var saw []*ports.Earlier
			look := func(s ports.Sight) ports.Route {
				saw = append(saw, s.Earlier)
				return ports.Route{Kind: ports.RouteReply, Person: ann}
			}
			reply, press := t.message(in, "a reply"), t.edit(second, "")
			reply.ReplyTo, press.Change, press.Choice = second.ID, "", &ports.Choice{Question: "q"}
			elsewhere := t.message(room("b"), "a reply from elsewhere")
			elsewhere.ReplyTo = first.ID
			unknown := t.message(in, "x")
			unknown.Change = ports.ChangeEdit
			t.accept(look, t.edit(first, "first!"), t.edit(first, "first!!"), reply, press, elsewhere, unknown, t.message(in, "no reply"))
			t.finish(l, turn, 1)
			t.accept(look, t.edit(first, "first!!!"))
			t.want(len(saw) == 8, "route was called %d times", len(saw))
			for i, now := range []string{"first", "first!", "second"} {
				e := saw[i]
				t.want(e != nil && e.Now.Text == now && e.Last == []int64{1, 3, 2}[i] && e.Person == ann && (i == 2) == (e.Turn == "") && (i < 2) == e.Running, "change %d saw %+v", i+1, e)
			}
			t.want(saw[0].Seq == 1 && saw[1].Text == "first" && saw[2].Seq == 2, "it saw the messages %+v, %+v, %+v", saw[0], saw[1], saw[2])
			for i, e := range saw[3:7] {
				t.want(e == nil, "what is about no message of its conversation (%d) saw %+v", i, e)
			}
			t.want(saw[7] != nil && saw[7].Turn == turn && !saw[7].Running, "a change behind the end of the turn saw %+v", saw[7])
		}),
		rule("earlier/a change is where its message is", "a platform may tell of an edit without the thread that the message is in", func(t *trial) {
			in := ports.Conversation{Channel: channel, Chat: "a", Thread: "7"}
			m := t.message(in, "first")
			l := t.accept(always(ports.RouteLane), m).Leases[0]
			e := t.edit(m, "second")
			e.In.Thread = ""
			got := t.accept(replaces, e)
			t.want(len(got.Leases) == 1 && got.Leases[0] == l, "the edit gave the leases %v, want %v", got.Leases, l)
			t.want(t.load(l).Waiting[0].Text == "second", "the message reads %q", t.load(l).Waiting[0].Text)
		}),
		rule("earlier/what waits can be replaced", "a person who mends a word before anybody read it is answered to what they meant", func(t *trial) {
			in := room("a")
			m, n := t.message(in, "first"), t.message(in, "second")
			t.accept(always(ports.RouteLane), m, n)
			e := t.edit(m, "mended")
			e.Attachments = []ports.Attachment{{ID: "f"}}
			t.want(len(t.accept(replaces, e).Leases) == 1, "nobody is told of the change")
			t.accept(func(ports.Sight) ports.Route { t.fail("an edit that was seen is routed"); return ports.Route{} }, e)
			t.crash()
			l := t.takeOver(in)
			w := t.load(l)
			t.want(slices.Equal(seqs(w.Waiting), []int64{1, 2}), "waiting are %v, want both messages in their order and not the edit", seqs(w.Waiting))
			got := w.Waiting[0]
			t.want(got.Text == "mended" && slices.Equal(got.Attachments, e.Attachments) && got.Event == m.Event && got.Changed == 3 && w.Changed == 3, "the message is %+v (the last change is %d)", got, w.Changed)
			t.want(w.Waiting[1].Text == "second" && w.Waiting[1].Changed == 0, "another message is %+v", w.Waiting[1])
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: ports.TurnID(in, 1), Person: ann, Take: []int64{1}, Changed: 3}), "take it")
			_, err := t.Accept(t.ctx, source(), ports.Batch{Messages: []ports.Message{t.edit(m, "too late")}}, replaces)
			t.kind(err, ports.KindInvalid, "replace a message that a turn has")
			t.want(t.load(l).Taken[0].Text == "mended", "a message of a turn was replaced")
		}),
		rule("earlier/nobody takes what was changed since they read it", "the answer would be to words that are not there any more", func(t *trial) {
			in := room("a")
			m, second := t.message(in, "first"), t.message(in, "second")
			l := t.accept(always(ports.RouteLane), m, second).Leases[0]
			t.accept(replaces, t.edit(m, "mended"))
			c := ports.Change{Turn: ports.TurnID(in, 1), Person: ann, Take: []int64{1, 2}, Steps: []ports.Step{{Kind: ports.StepReply, Body: body("r")}}}
			t.kind(t.Record(t.ctx, l, c), ports.KindConflict, "take a message that was changed since")
			w := t.load(l)
			t.want(w.Turn == nil && len(w.Waiting) == 2 && len(w.Steps) == 0, "what was refused left a trace: %+v", w)
			c.Changed = w.Changed
			t.ok(t.Record(t.ctx, l, c), "take it as it is now")
			c.Changed = 0
			t.ok(t.Record(t.ctx, l, c), "the same again, whatever it goes by")
			stops := func(ports.Sight) ports.Route {
				return ports.Route{Kind: ports.RouteControl, Person: ann, Forget: true}
			}
			d, f := t.message(in, ""), t.message(in, "/forget")
			d.ID, d.Change = m.ID, ports.ChangeDelete
			f.ReplyTo, f.Quote = second.ID, &ports.Quote{Text: "second"}
			t.accept(stops, d)
			t.accept(stops, f)
			c = ports.Change{Turn: c.Turn, Person: ann, Take: []int64{4, 5}, Changed: w.Changed}
			t.ok(t.Record(t.ctx, l, c), "take the deletions, which nothing changed")
		}),
		rule("earlier/what is deleted is gone in all its forms", "a person deletes what nobody shall read any more, whatever became of it before", func(t *trial) {
			in := room("a")
			m := t.message(in, "secret")
			m.Attachments, m.Quote = []ports.Attachment{{ID: "secret"}}, &ports.Quote{Text: "secret"}
			l := t.accept(always(ports.RouteLane), m, t.message(in, "second")).Leases[0]
			turn := t.begin(l, 1)
			t.accept(always(ports.RouteLane), t.edit(m, "secret edit"))
			d := t.message(in, "")
			d.ID, d.From, d.Change = m.ID, "", ports.ChangeDelete
			t.want(len(t.accept(forgets, d).Leases) == 1, "nobody is told of the deletion")
			w := t.load(l)
			t.want(len(w.Taken) == 1 && slices.Equal(seqs(w.Waiting), []int64{2, 3}) && w.Changed == 4, "after it the work is %+v", w)
			for _, got := range []ports.Inbox{w.Taken[0], w.Waiting[1]} {
				t.want(got.Text == "" && got.Attachments == nil && got.Quote == nil && got.Change == ports.ChangeDelete && got.Changed == 4 && got.ID == m.ID && got.From == "7", "what was deleted is %+v", got)
			}
			t.want(w.Waiting[0].Text == "second", "what was not deleted is %+v", w.Waiting[0])
			t.finish(l, turn, 1)
			h, err := t.History(t.ctx, l, 10)
			t.want(err == nil && len(h) == 1 && h[0].Inbox[0].Change == ports.ChangeDelete && h[0].Inbox[0].Text == "", "the history is %+v (%v)", h, err)
			again := t.edit(m, "secret again")
			t.accept(func(s ports.Sight) ports.Route {
				t.want(s.Earlier != nil && s.Earlier.Change == ports.ChangeDelete, "an edit of what was deleted saw %+v", s.Earlier)
				return ports.Route{Drop: true}
			}, again)
			stray := t.message(in, "x")
			stray.Change = ports.ChangeDelete
			_, err = t.Accept(t.ctx, source(), ports.Batch{Messages: []ports.Message{stray}}, forgets)
			t.kind(err, ports.KindInvalid, "delete what was never there")
		}),
		rule("earlier/a turn knows who lost a message since", "a summary that tells of what is deleted by now must be found out, however far back that is", func(t *trial) {
			in := room("a")
			m := []ports.Message{t.message(in, "1"), t.message(in, "2"), t.message(in, "3")}
			l := t.accept(always(ports.RouteLane), m...).Leases[0]
			for seq := range int64(3) {
				t.begin(l, seq+1)
				if seq < 2 {
					t.finish(l, ports.TurnID(in, seq+1), 1)
				}
			}
			gone := func(want ...int64) {
				h, err := t.History(t.ctx, l, 10)
				t.ok(err, "history")
				var got []int64
				for _, p := range h {
					got = append(got, p.Gone)
				}
				got = append(got, t.load(l).Gone)
				t.want(slices.Equal(got, want), "the turns, and the one that runs, know of %v, want %v", got, want)
			}
			gone(0, 0, 0)
			for i, first := range []int64{2, 1} {
				d := t.message(in, "")
				d.ID, d.Change = m[1-i].ID, ports.ChangeDelete
				t.accept(forgets, d)
				gone(first, first, first)
			}
			t.finish(l, ports.TurnID(in, 3), 1)
			l = t.say(in, 1)
			t.begin(l, 6)
			gone(1, 1, 1, 0)
		}),
		rule("earlier/an offer waits for nobody and is pressed days later", "a button to do something again must not look like a question that is open", func(t *trial) {
			in := room("a")
			m := t.message(in, "first")
			l := t.accept(always(ports.RouteLane), m).Leases[0]
			turn := t.begin(l, 1)
			t.finish(l, turn, 1)
			offer := func(text string) func(ports.Sight) ports.Route {
				q := question(l, turn, "o1", time.Time{})
				q.State, q.About, q.Text = ports.QuestionOffered, m.ID, text
				return func(ports.Sight) ports.Route { return ports.Route{Kind: ports.RouteReply, Person: ann, Offer: q} }
			}
			t.accept(offer("once"), t.edit(m, "second"))
			t.accept(offer("twice"), t.edit(m, "third"))
			t.restart()
			press := t.message(in, "")
			press.ID, press.Choice = "m-offer", &ports.Choice{Question: "o1", Field: "ok", Value: "yes"}
			t.accept(func(s ports.Sight) ports.Route {
				t.want(s.Open == nil, "an offer is open: %+v", s.Open)
				t.want(s.Pressed != nil && s.Pressed.State == ports.QuestionOffered && s.Pressed.Text == "twice", "the press saw %+v", s.Pressed)
				t.want(s.Earlier != nil && s.Earlier.Turn == turn && s.Earlier.Text == "first" && s.Earlier.Now.Text == "third", "the press saw the message %+v", s.Earlier)
				t.want(s.Question("nothing") == nil, "there is a question that nobody asked")
				q := s.Question("o1")
				t.want(q != nil && q.State == ports.QuestionOffered && q.Text == "twice", "asked for, the offer is %+v", q)
				q.State = ports.QuestionAnswered
				return ports.Route{Kind: ports.RouteLane, Person: ann, Question: q, Redo: true}
			}, press)
			q, err := t.Question(t.ctx, "o1")
			t.want(err == nil && q.State == ports.QuestionAnswered, "the offer that was taken is %+v (%v)", q, err)
			t.accept(offer("thrice"), t.edit(m, "fourth"))
			q, err = t.Question(t.ctx, "o1")
			t.want(err == nil && q.State == ports.QuestionAnswered && q.Text == "twice", "the offer that was taken is offered again: %+v (%v)", q, err)
		}),
		rule("earlier/a redo stands in the place of what it undoes", "who has something done again does not want what came of it the first time remembered", func(t *trial) {
			in := room("a")
			m := []ports.Message{t.message(in, "1"), t.message(in, "2"), t.message(in, "2b"), t.message(in, "3"), t.message(in, "4")}
			l := t.accept(always(ports.RouteLane), m...).Leases[0]
			t.finish(l, t.begin(l, 1), 1)
			t.finish(l, t.begin(l, 2, 3), 1)
			t.finish(l, t.begin(l, 4), 1)
			t.accept(always(ports.RouteReply), t.edit(m[2], "2c"))
			again := t.message(in, "")
			again.Choice, again.ReplyTo = nil, m[2].ID
			redo := func(s ports.Sight) ports.Route {
				return ports.Route{Kind: ports.RouteLane, Person: ann, Redo: true}
			}
			got := t.accept(redo, again)
			t.want(got.Stored == 1 && len(got.Leases) == 1, "the redo gave %+v", got)
			t.want(t.accept(redo, again).Seen == 1, "a redo that comes again is routed")
			w := t.load(l)
			t.want(slices.Equal(seqs(w.Waiting), []int64{5, 7, 8}) && w.Last == ports.TurnID(in, 1) && w.Changed == 7, "after it the work is %+v", w)
			for i, text := range []string{"4", "2", "2c"} {
				t.want(w.Waiting[i].Text == text && (w.Waiting[i].Undoes == 2) == (i == 1), "message %d of them is %+v", i, w.Waiting[i])
			}
			t.want(w.Waiting[2].ID == m[2].ID && w.Waiting[2].Change == "", "what is done again is %+v", w.Waiting[2])
			t.finish(l, t.begin(l, 5), 1)
			turn := ports.TurnID(in, 7)
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Take: []int64{7, 8}, Changed: 7, Steps: []ports.Step{{Kind: ports.StepReply, Body: body("r")}}}), "begin the redo")
			past := func(want ...int64) {
				h, err := t.History(t.ctx, l, 10)
				t.ok(err, "history")
				var got []string
				for _, p := range h {
					got = append(got, p.Turn.ID)
				}
				var ids []string
				for _, seq := range want {
					ids = append(ids, ports.TurnID(in, seq))
				}
				t.want(slices.Equal(got, ids), "the history is %v, want %v", got, ids)
			}
			past(1)
			t.finish(l, turn, 1, "d")
			past(1, 7)

			again = t.message(in, "") // of what is out of the history already
			again.ReplyTo = m[3].ID
			t.accept(redo, again)
			w = t.load(l)
			t.want(len(w.Waiting) == 1 && w.Waiting[0].Text == "3" && w.Waiting[0].Undoes > 0, "a redo of what was undone is %+v", w.Waiting)
			t.finish(l, t.begin(l, 9), 1)
			past(1, 7, 9)

			t.accept(always(ports.RouteLane), t.message(in, "5"))
			stopped := t.begin(l, 10)
			again = t.message(in, "")
			again.ReplyTo = m[3].ID
			t.accept(redo, again) // and is taken back by a stop of the turn before it
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: stopped, Person: ann, Take: []int64{11}, Changed: 11, Steps: []ports.Step{{Index: 1, Kind: ports.StepReply, Body: body("r")}}}), "take the redo back")
			t.finish(l, stopped, 2)
			past(1, 7, 9, 10)
		}),
		rule("earlier/what is deleted is quoted no more", "a reply brings the words of what it replies to along", func(t *trial) {
			in := room("a")
			m := t.message(in, "secret")
			l := t.accept(always(ports.RouteLane), m, t.message(in, "second")).Leases[0]
			turn := t.begin(l, 1)
			t.finish(l, turn, 1, turn+"/1/0")
			t.ok(t.Delivered(t.ctx, l, turn+"/1/0", ports.Receipt{ID: "a1"}), "delivered")
			quote := func(to ports.MessageID) ports.Message {
				r := t.message(in, "reply")
				r.ReplyTo, r.Quote = to, &ports.Quote{Text: "secret"}
				return r
			}
			t.accept(always(ports.RouteLane), quote(m.ID), quote("a1"), quote("other"))
			d := t.message(in, "")
			d.ID, d.Change = m.ID, ports.ChangeDelete
			t.accept(forgets, d)
			w := t.load(l)
			t.want(slices.Equal(seqs(w.Waiting), []int64{2, 3, 4, 5}), "waiting are %v", seqs(w.Waiting))
			for i, got := range w.Waiting[1:] {
				kept := i == 2 // what another message says
				t.want((got.Quote != nil) == kept && got.Text == "reply" && got.Change == "" && (got.Changed == 0) == kept, "reply %d is %+v", i+1, got)
			}
			c := final(l, ports.TurnID(in, 2), 0)
			c.Take, c.Changed = []int64{2, 3, 4, 5}, w.Changed
			t.ok(t.Finish(t.ctx, l, c, ports.OutcomeAnswered), "a turn of the replies")
			l = t.say(in, 1)
			h, err := t.History(t.ctx, l, 10)
			t.want(err == nil && len(h) == 2 && h[1].Gone == 1, "the history is %+v (%v)", h, err)
			t.accept(always(ports.RouteLane), quote(m.ID), quote("a1"), quote("other"))
			w = t.load(l)
			for i, got := range w.Waiting[len(w.Waiting)-3:] {
				t.want((got.Quote != nil) == (i == 2), "of those that come later, reply %d is %+v", i, got)
			}
		}),
		rule("earlier/an album is forgotten whole", "people see one message in it, and a platform tells of the deletion of each", func(t *trial) {
			in := room("a")
			list := []ports.Message{t.message(in, "1"), t.message(in, "2"), t.message(in, "3"), t.message(in, "4")}
			list[0].Album, list[1].Album, list[2].Album, list[3].Album = "7", "7", "77", "77"
			l := t.accept(always(ports.RouteLane), list...).Leases[0]
			said := func(want ...string) {
				var got []string
				for _, m := range t.load(l).Waiting {
					if m.Change != ports.ChangeDelete {
						got = append(got, m.Text)
					}
				}
				t.want(slices.Equal(got, want), "what is left is %q, want %q", got, want)
			}
			f := t.message(in, "/forget")
			f.ReplyTo = list[1].ID
			t.accept(forgets, f)
			said("3", "4")
			d := t.message(in, "")
			d.ID, d.Change = list[2].ID, ports.ChangeDelete
			t.accept(forgets, d)
			said("4")
		}),
		rule("earlier/two questions end at once", "who takes an offer does not answer what is open", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			open, offered := question(l, turn, "q1", time.Time{}), question(l, turn, "o1", time.Time{})
			offered.State = ports.QuestionOffered
			t.ok(t.Park(t.ctx, l, ports.Change{Turn: turn, Person: ann, Ask: open}), "park")
			t.accept(func(ports.Sight) ports.Route { return ports.Route{Kind: ports.RouteReply, Person: ann, Offer: offered} }, t.message(l.In, "x"))
			t.accept(func(s ports.Sight) ports.Route {
				one, other := *s.Question("o1"), *s.Open
				one.State, other.State = ports.QuestionAnswered, ports.QuestionSuperseded
				return ports.Route{Kind: ports.RouteLane, Person: ann, Question: &one, Also: &other}
			}, t.message(l.In, "y"))
			for id, state := range map[string]ports.QuestionState{"o1": ports.QuestionAnswered, "q1": ports.QuestionSuperseded} {
				q, err := t.Question(t.ctx, id)
				t.want(err == nil && q.State == state, "%s is %+v (%v)", id, q, err)
			}
		}),
	}
}
