package storetest

import (
	"fmt"
	"reflect"
	"time"

	"dragoman/ports"
)

func questionRules() []Rule {
	return []Rule{
		rule("question/an answer wakes its turn", "the answer, the turn's wake-up and the claim are one commit, or a crash between them loses the answer", func(t *trial) {
			in := room("a")
			turn := t.parked(in, "q", time.Time{})
			got := t.accept(settle(ports.RouteAnswer, ports.QuestionAnswered), t.message(in, "yes"))
			t.want(got.Stored == 1 && len(got.Leases) == 1, "the answer gave %+v", got)
			w := t.load(got.Leases[0])
			t.want(w.Turn != nil && w.Turn.ID == turn && w.Turn.State == ports.TurnRunning, "the turn is %+v", w.Turn)
			t.want(len(w.Taken) == 2 && w.Taken[1].Route == ports.RouteAnswer && w.Taken[1].Turn == turn && len(w.Waiting) == 0, "the answer is not the turn's: %+v", w)
			t.want(w.Question != nil && w.Question.State == ports.QuestionAnswered && w.Question.Answers["ok"] == "yes", "its question is %+v", w.Question)
			t.crash()
			t.want(t.load(t.takeOver(in)).Question.State == ports.QuestionAnswered, "the answer is gone after a crash")
		}),
		rule("question/another message may supersede it", "the turn must end visibly and the message must wait for its own", func(t *trial) {
			in := room("a")
			t.parked(in, "q", time.Time{})
			l := t.accept(settle(ports.RouteLane, ports.QuestionSuperseded), t.message(in, "never mind")).Leases[0]
			w := t.load(l)
			t.want(w.Turn.State == ports.TurnRunning && w.Question.State == ports.QuestionSuperseded && len(w.Waiting) == 1 && len(w.Taken) == 1, "work is %+v", w)
		}),
		rule("question/a press elsewhere wakes its turn's conversation", "a prompt may be shown in another chat than the turn's, and its press need not be kept", func(t *trial) {
			in := room("a")
			t.parked(in, "q", time.Time{})
			press := t.message(room("b"), "")
			press.Choice = &ports.Choice{Question: "q", Value: "yes"}
			got := t.accept(func(s ports.Sight) ports.Route {
				r := settle(ports.RouteAnswer, ports.QuestionAnswered)(s)
				r.Drop = true
				return r
			}, press)
			t.want(len(got.Leases) == 1 && got.Leases[0].In == in, "the press gave %+v, want a lease of %v", got, in)
			t.want(t.load(got.Leases[0]).Turn.State == ports.TurnRunning, "the turn still waits")
		}),
		rule("question/comes back whole", "its buttons must still mean the same after a restart", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			q := question(l, turn, "q", time.Now().Add(time.Hour).Truncate(time.Millisecond))
			q.Kind, q.Step, q.Call, q.Reply = ports.QuestionForm, 3, 2, []byte(`{"token":1}`)
			q.Fields = []ports.Field{{Name: "size", Label: "Size", Required: true, Schema: []byte(`{"type":"string"}`), Choices: []ports.Choice{{Question: "q", Field: "size", Value: "s", Label: "small"}}}}
			t.ok(t.Park(t.ctx, l, ports.Change{Turn: turn, Person: ann, Ask: q}), "park")
			got, err := t.Question(t.ctx, "q")
			t.ok(err, "question")
			t.want(got.Expires.Equal(q.Expires), "it expires at %v, want %v", got.Expires, q.Expires)
			got.Expires = q.Expires
			t.want(reflect.DeepEqual(got, *q), "stored %+v\nread   %+v", *q, got)
		}),
		rule("question/a prompt that is given up expires it", "nobody answers what nobody saw: without it the turn waits in silence, for a day", func(t *trial) {
			in := room("a")
			l := t.say(in, 1)
			turn := t.begin(l, 1)
			prompt := t.park(l, turn, "q", time.Now().Add(time.Hour))
			t.claim() // everything so far is known
			t.delivered(l, prompt, ports.Receipt{Failed: "blocked"})
			w := t.load(t.takeOver(in))
			t.want(w.Turn.State == ports.TurnRunning && w.Question.State == ports.QuestionExpired, "work is %+v with %+v", w.Turn, w.Question)
		}),
		rule("question/somebody who waits already brings its end near", "a message that came before the question must not wait longer than one that came after", func(t *trial) {
			for person, hurried := range map[ports.PersonID]bool{ann: false, "bob": true} {
				l := t.say(room(string(person)), 1)
				turn := t.begin(l, 1)
				t.accept(func(ports.Sight) ports.Route { return ports.Route{Kind: ports.RouteLane, Person: person} }, t.message(l.In, "me too"))
				q := question(l, turn, "q-"+string(person), time.Now().Add(time.Hour))
				q.GroupWait = time.Minute
				t.ok(t.Park(t.ctx, l, ports.Change{Turn: turn, Person: ann, Ask: q}), "park")
				got, err := t.Question(t.ctx, q.ID)
				t.ok(err, "question")
				t.want((time.Until(got.Expires) < 2*time.Minute) == hurried, "with a message of %s waiting it expires in %s", person, time.Until(got.Expires))
			}
		}),
		rule("question/unknown", "a press of an old message must be told from a fault", func(t *trial) {
			_, err := t.Question(t.ctx, "nope")
			t.kind(err, ports.KindNotFound, "question")
		}),
		rule("question/knows what its prompt was posted as", "the buttons of that message are taken off later", func(t *trial) {
			t.parked(room("a"), "q", time.Time{})
			q, err := t.Question(t.ctx, "q")
			t.want(err == nil && q.Posted == "posted-q" && q.State == ports.QuestionOpen, "it is %+v %v", q, err)
		}),
		rule("question/a prompt that failed was not posted", "there is no message to take buttons off", func(t *trial) {
			l := t.say(room("a"), 1)
			t.delivered(l, t.park(l, t.begin(l, 1), "q", time.Time{}), ports.Receipt{Failed: "blocked"})
			q, err := t.Question(t.ctx, "q")
			t.want(err == nil && q.Posted == "", "it is %+v %v", q, err)
		}),
		rule("question/one is open in a conversation", "free text could answer either", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			t.park(l, turn, "q1", time.Time{})
			err := t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Ask: question(l, turn, "q2", time.Time{})})
			t.want(err != nil, "a second question was opened")
			_, err = t.Question(t.ctx, "q2")
			t.kind(err, ports.KindNotFound, "the second question")
		}),
		rule("question/the next one may follow", "several approvals of a round are asked one after another", func(t *trial) {
			in := room("a")
			turn := t.parked(in, "q1", time.Time{})
			l := t.accept(settle(ports.RouteAnswer, ports.QuestionAnswered), t.message(in, "yes")).Leases[0]
			t.ok(t.Park(t.ctx, l, ports.Change{Turn: turn, Person: ann, Ask: question(l, turn, "q2", time.Time{})}), "park again")
			t.unowned(l, "the second park")
			l = t.accept(settle(ports.RouteAnswer, ports.QuestionAnswered), t.message(in, "yes")).Leases[0]
			w := t.load(l)
			t.want(w.Question.ID == "q2" && w.Question.State == ports.QuestionAnswered, "the last question is %+v", w.Question)
		}),
		rule("question/parking again does not undo an answer", "the park may be made again after its outcome was unknown, when the answer is in already", func(t *trial) {
			l := t.say(room("a"), 1)
			turn := t.begin(l, 1)
			t.park(l, turn, "q", time.Time{})
			t.accept(settle(ports.RouteAnswer, ports.QuestionAnswered), t.message(l.In, "yes"))
			t.park(l, turn, "q", time.Time{})
			w := t.load(l)
			t.want(w.Turn.State == ports.TurnRunning && w.Question.State == ports.QuestionAnswered, "the turn is %+v, its question %+v", w.Turn, w.Question)
		}),
		rule("question/settled is final", "of answer, supersede and expiry one wins", func(t *trial) {
			in := room("a")
			t.parked(in, "q", time.Now().Add(-time.Second))
			l := t.accept(settle(ports.RouteAnswer, ports.QuestionAnswered), t.message(in, "yes")).Leases[0]
			got, err := t.Expire(t.ctx, 10)
			t.want(err == nil && len(got.Leases) == 0, "an answered question expired: %+v %v", got, err)
			press := t.message(in, "")
			press.Choice = &ports.Choice{Question: "q", Value: "no"}
			t.accept(func(s ports.Sight) ports.Route {
				t.want(s.Pressed != nil && s.Pressed.State == ports.QuestionAnswered, "a late press saw %+v", s.Pressed)
				q := *s.Pressed
				q.State = ports.QuestionOpen
				return ports.Route{Drop: true, Question: &q}
			}, press)
			q := t.load(l).Question
			t.want(q.State == ports.QuestionAnswered && q.Answers["ok"] == "yes", "it is %+v", q)
		}),
		rule("question/expired is final", "its person was told that it is over: a call must not run on a press that comes after", func(t *trial) {
			in := room("a")
			t.parked(in, "q", time.Now().Add(-time.Second))
			got, err := t.Expire(t.ctx, 10)
			t.want(err == nil && len(got.Leases) == 1, "expire gives %+v %v", got, err)
			press := t.message(room("b"), "")
			press.Choice = &ports.Choice{Question: "q", Value: "yes"}
			late := t.accept(func(s ports.Sight) ports.Route {
				t.want(s.Pressed != nil && s.Pressed.State == ports.QuestionExpired, "a late press saw %+v", s.Pressed)
				q := *s.Pressed
				q.State = ports.QuestionAnswered
				return ports.Route{Drop: true, Question: &q}
			}, press)
			t.want(len(late.Leases) == 0, "a late answer woke its turn again: %+v", late)
			q, err := t.Question(t.ctx, "q")
			t.want(err == nil && q.State == ports.QuestionExpired, "a late answer made it %s (%v)", q.State, err)
		}),
		rule("question/may be given a nearer end", "in a group another person's message waits for it only so long", func(t *trial) {
			in := room("a")
			t.parked(in, "q", time.Now().Add(time.Hour))
			got := t.accept(func(s ports.Sight) ports.Route {
				q := *s.Open
				q.Expires = time.Now().Add(-time.Millisecond)
				return ports.Route{Kind: ports.RouteLane, Person: "bob", Question: &q}
			}, t.message(in, "hello?"))
			t.want(len(got.Leases) == 0, "a question that is still open woke its turn: %+v", got)
			got, err := t.Expire(t.ctx, 10)
			t.want(err == nil && len(got.Leases) == 1, "it did not expire: %+v %v", got, err)
			t.want(len(t.load(got.Leases[0]).Waiting) == 1, "the message is gone")
		}),
		rule("question/expiry wakes its turn", "a turn must end in something its person sees", func(t *trial) {
			for i, at := range []time.Time{time.Now().Add(-2 * time.Second), time.Now().Add(-time.Second), time.Now().Add(time.Hour), {}} {
				t.parked(room(fmt.Sprint(i)), fmt.Sprintf("q%d", i), at)
			}
			for i := range 2 {
				got, err := t.Expire(t.ctx, 1)
				t.want(err == nil && len(got.Leases) == 1 && got.Leases[0].In == room(fmt.Sprint(i)), "expire gives %+v %v, want conversation %d", got, err, i)
				w := t.load(got.Leases[0])
				t.want(w.Turn.State == ports.TurnRunning && w.Question.State == ports.QuestionExpired, "work is %+v", w)
			}
			got, err := t.Expire(t.ctx, 10)
			t.want(err == nil && len(got.Leases) == 0, "questions expired early: %+v %v", got, err)
		}),
		rule("question/ends with its turn", "an open question of a turn that is over blocks the conversation's next one", func(t *trial) {
			l := t.say(room("a"), 2)
			turn := t.begin(l, 1)
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Ask: question(l, turn, "q", time.Time{})}), "ask while the call is live")
			t.want(t.load(l).Turn.State == ports.TurnRunning, "a live question parked the turn")
			t.finish(l, turn, 1)
			q, err := t.Question(t.ctx, "q")
			t.want(err == nil && q.State != ports.QuestionOpen, "it is %s %v", q.State, err)
			next := t.begin(l, 2)
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: next, Person: ann, Ask: question(l, next, "q2", time.Time{})}), "ask in the next turn")
		}),
	}
}
