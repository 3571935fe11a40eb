package storetest

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"dragoman/ports"
)

func acceptRules() []Rule {
	return []Rule{
		rule("accept/redelivery is seen", "a platform sends an update again until it is acknowledged, and one message must not have two answers", func(t *trial) {
			in := room("a")
			m := t.message(in, "hello")
			first := t.accept(always(ports.RouteLane), m)
			t.want(first.Stored == 1 && first.Seen == 0 && len(first.Leases) == 1, "first delivery gave %+v", first)
			again := t.accept(func(s ports.Sight) ports.Route {
				t.fail("route was called for a message that was seen")
				return ports.Route{}
			}, m)
			t.want(again.Seen == 1 && again.Stored == 0, "redelivery gave %+v", again)
			twice := t.accept(always(ports.RouteLane), t.message(in, "2"), m)
			t.want(twice.Seen == 1 && twice.Stored == 1, "redelivery beside a new message gave %+v", twice)
			t.restart()
			l := t.takeOver(in)
			t.want(t.accept(always(ports.RouteLane), m).Seen == 1, "after a restart the message is no longer known")
			t.want(len(t.load(l).Waiting) == 2, "a message is stored twice")
		}),
		rule("accept/what is seen again is told again", "who stored it may not have heard that it did, and nobody else would be told", func(t *trial) {
			m := t.message(room("a"), "hello")
			l := t.accept(always(ports.RouteLane), m).Leases[0]
			again := t.accept(always(ports.RouteLane), m).Leases
			t.want(len(again) == 1 && again[0] == l, "redelivery while it waits gave the leases %v, want %v", again, l)
			t.finish(l, t.begin(l, 1), 1)
			idle := t.accept(always(ports.RouteLane), m).Leases
			t.want(len(idle) == 0, "redelivery when all is done gave the leases %v", idle)
		}),
		rule("accept/twice in one batch", "a batch may hold an update twice", func(t *trial) {
			m := t.message(room("a"), "hello")
			got := t.accept(always(ports.RouteLane), m, m)
			t.want(got.Stored == 1 && got.Seen == 1, "got %+v", got)
		}),
		rule("accept/events are per channel", "update ids of two bots are the same numbers", func(t *trial) {
			m := t.message(room("a"), "hello")
			t.accept(always(ports.RouteLane), m)
			m.In.Channel = "other"
			got, err := t.Accept(t.ctx, ports.Source{Channel: "other"}, ports.Batch{Messages: []ports.Message{m}}, always(ports.RouteLane))
			t.ok(err, "accept on another channel")
			t.want(got.Stored == 1, "the same event on another channel gave %+v", got)
		}),
		rule("accept/the event tells messages apart", "an edit and each press of a button come with the id of the message that they are about", func(t *trial) {
			m := t.message(room("a"), "hello")
			t.accept(always(ports.RouteLane), m)
			m.Event = "another"
			got := t.accept(always(ports.RouteLane), m)
			t.want(got.Stored == 1 && got.Seen == 0, "another event of the same message gave %+v", got)
		}),
		rule("accept/what is unsent is told", "a message may give a process a conversation in which an earlier one left something to send", func(t *trial) {
			in := room("a")
			m := t.message(in, "1")
			got := t.accept(always(ports.RouteLane), m)
			t.want(!got.Unsent, "a message with nothing unsent gave %+v", got)
			l := got.Leases[0]
			turn := t.begin(l, 1)
			t.ok(t.Record(t.ctx, l, ports.Change{Turn: turn, Person: ann, Deliveries: []ports.Delivery{delivery(l, "one")}}), "record")
			t.crash()
			got = t.accept(always(ports.RouteLane), m)
			t.want(got.Unsent && len(got.Leases) == 1, "a message seen again in a conversation with something unsent gave %+v", got)
			t.ok(t.Delivered(t.ctx, got.Leases[0], "one", ports.Receipt{ID: "x"}), "delivered")
			got = t.accept(always(ports.RouteLane), t.message(in, "2"))
			t.want(!got.Unsent, "a message with all sent gave %+v", got)
		}),
		rule("accept/seqs are gapless and in order", "a conversation's order is its seqs, and a turn's id is made of one", func(t *trial) {
			a, b := room("a"), ports.Conversation{Channel: channel, Chat: "b", Thread: "9"}
			var at []int64
			got := t.accept(func(s ports.Sight) ports.Route {
				at = append(at, s.Seq)
				return ports.Route{Kind: ports.RouteLane, Person: ann, Drop: s.Message.Text == "drop"}
			}, t.message(a, "1"), t.message(b, "1"), t.message(a, "drop"), t.message(a, "2"), t.message(b, "2"), t.message(a, "3"))
			t.want(slices.Equal(at, []int64{1, 1, 2, 2, 2, 3}), "route saw the seqs %v", at)
			t.want(got.Stored == 5 && got.Dropped == 1 && len(got.Leases) == 2, "got %+v", got)
			for _, l := range got.Leases {
				for i, m := range t.load(l).Waiting {
					t.want(m.Seq == int64(i+1) && m.Text == []string{"1", "2", "3"}[i] && m.Person == ann && m.Route == ports.RouteLane && !m.Received.IsZero(),
						"message %d of %v is %+v", i+1, l.In, m)
				}
			}
		}),
		rule("accept/messages come back whole", "Reply, attachments and the press are needed days later", func(t *trial) {
			m := t.message(ports.Conversation{Channel: channel, Chat: "a:b/c", Thread: "ü #1"}, "text\x00 with 😀 <b>")
			m.Private, m.Addressed, m.ReplyTo, m.Reply = true, true, "m0", json.RawMessage(`{"token":"x","n":[1,2]}`)
			m.Attachments = []ports.Attachment{{ID: "f", Name: "n.png", MIME: "image/png", Size: 12}}
			m.Choice = &ports.Choice{Question: "none", Field: "f", Value: "v"}
			got := t.load(t.accept(always(ports.RouteLane), m).Leases[0]).Waiting[0].Message
			t.want(got.At.Equal(m.At), "At is %v, want %v", got.At, m.At)
			got.At = m.At
			t.want(reflect.DeepEqual(got, m), "stored %+v\nread   %+v", m, got)
		}),
		rule("accept/drop stores nothing", "a stranger's message must leave no trace but the refusal", func(t *trial) {
			in := room("stranger")
			m := t.message(in, "let me in")
			calls := 0
			refuse := func(ports.Sight) ports.Route {
				calls++
				return ports.Route{Drop: true, Deliveries: []ports.Delivery{delivery(ports.Lease{In: in}, "refusal")}}
			}
			got := t.accept(func(ports.Sight) ports.Route { return ports.Route{Drop: true} }, t.message(room("silent"), "x"))
			t.want(got.Dropped == 1 && len(got.Leases) == 0, "a drop without deliveries gave %+v", got)
			got = t.accept(refuse, m)
			t.want(got.Dropped == 1 && got.Stored == 0 && len(got.Leases) == 1, "a drop with a delivery gave %+v", got)
			got = t.accept(refuse, m)
			t.want(calls == 2 && got.Seen == 0 && len(got.Leases) == 0, "the same dropped message again gave %+v after %d calls", got, calls)
			l := t.accept(always(ports.RouteLane), t.message(in, "x")).Leases[0]
			w := t.load(l)
			t.want(slices.Equal(seqs(w.Waiting), []int64{1}), "waiting are the seqs %v, want only the message that was not dropped", seqs(w.Waiting))
			p, err := t.Pending(t.ctx, l)
			t.ok(err, "pending")
			t.want(len(p) == 1 && p[0].ID == "refusal", "pending is %v, want the refusal once", p)
		}),
		rule("accept/cursor moves with its batch", "a cursor ahead of its messages loses them, one behind repeats them", func(t *trial) {
			cursor := func(want string) {
				got, err := t.Cursor(t.ctx, channel)
				t.ok(err, "cursor")
				t.want(got == want, "the cursor is %q, want %q", got, want)
			}
			put := func(c string, route func(ports.Sight) ports.Route, m ...ports.Message) error {
				_, err := t.Accept(t.ctx, source(), ports.Batch{Messages: m, Cursor: c}, route)
				return err
			}
			cursor("")
			t.ok(put("1", always(ports.RouteLane), t.message(room("a"), "x")), "accept")
			cursor("1")
			t.ok(put("", always(ports.RouteLane), t.message(room("a"), "y")), "accept without a cursor")
			cursor("1")
			t.ok(put("2", nil), "accept of a cursor alone")
			cursor("2")
			t.want(put("3", func(ports.Sight) ports.Route { panic("boom") }, t.message(room("a"), "z")) != nil, "a panic in route gave no error")
			cursor("2")
			t.crash()
			cursor("2")
		}),
		rule("accept/a failing route stores nothing", "half a batch without its cursor is delivered again and stored twice, or lost", func(t *trial) {
			in := room("a")
			good, bad := t.message(in, "good"), t.message(in, "bad")
			for name, route := range map[string]func(ports.Sight) ports.Route{
				"panic": func(s ports.Sight) ports.Route {
					return map[string]ports.Route{"good": {Kind: ports.RouteLane}}[mustNotBe(s, "bad")]
				},
				"answer": func(s ports.Sight) ports.Route {
					return ports.Route{Kind: ports.RouteAnswer, Drop: s.Message.Text == "good"}
				},
				"kind": func(s ports.Sight) ports.Route { return ports.Route{Kind: "sideways"} },
			} {
				_, err := t.Accept(t.ctx, source(), ports.Batch{Messages: []ports.Message{good, bad}, Cursor: "9"}, route)
				t.want(err != nil, "%s: accept succeeded", name)
				c, err := t.Cursor(t.ctx, channel)
				t.want(err == nil && c == "", "%s: the cursor is %q (%v)", name, c, err)
				b, err := t.Backlog(t.ctx)
				t.want(err == nil && b == ports.Backlog{}, "%s: part of the batch waits: %+v %v", name, b, err)
				t.want(len(t.claim()) == 0, "%s: a conversation has work", name)
			}
			got := t.accept(always(ports.RouteLane), good, bad)
			t.want(got.Stored == 2 && got.Seen == 0, "later the same batch gave %+v", got)
		}),
		rule("accept/refuses what it cannot keep apart", "a message without an event is stored anew at each delivery; one of another channel breaks that one's order", func(t *trial) {
			m := t.message(room("a"), "x")
			for _, bad := range []ports.Message{{Event: "", In: m.In}, {Event: "y", In: ports.Conversation{Channel: "other", Chat: "a"}}} {
				_, err := t.Accept(t.ctx, source(), ports.Batch{Messages: []ports.Message{m, bad}}, always(ports.RouteLane))
				t.kind(err, ports.KindInvalid, "accept")
			}
			t.want(t.accept(always(ports.RouteLane), m).Stored == 1, "part of a refused batch was stored")
		}),
		rule("accept/sight shows earlier messages of the batch", "an answer and the next message often come in one poll; the second must not answer again", func(t *trial) {
			in := room("a")
			turn := t.parked(in, "q1", time.Time{})
			press := t.message(in, "")
			press.Choice = &ports.Choice{Question: "q1", Value: "yes"}
			unknown := t.message(in, "")
			unknown.Choice = &ports.Choice{Question: "q2", Value: "yes"}
			var saw []ports.Sight
			route := func(s ports.Sight) ports.Route {
				saw = append(saw, s)
				if len(saw) == 1 {
					return settle(ports.RouteAnswer, ports.QuestionAnswered)(s)
				}
				return ports.Route{Kind: ports.RouteLane, Person: ann}
			}
			t.accept(route, press, press, t.message(in, "more"), unknown)
			t.want(len(saw) == 3, "route was called %d times", len(saw))
			t.want(saw[0].Open != nil && saw[0].Open.ID == "q1" && saw[0].Pressed != nil && saw[0].Pressed.Posted == "posted-q1" && saw[0].Pressed.Person == ann, "the press saw %+v", saw[0])
			t.want(saw[0].Turn != nil && saw[0].Turn.ID == turn && saw[0].Turn.State == ports.TurnParked && saw[0].Turn.In == in, "the press saw the turn %+v", saw[0].Turn)
			t.want(saw[1].Open == nil && saw[1].Seq == 3 && saw[1].Turn != nil && saw[1].Turn.State == ports.TurnRunning, "the second saw %+v", saw[1])
			t.want(saw[2].Pressed == nil, "a press of no question saw %+v", saw[2].Pressed)
		}),
		rule("accept/sight counts what waits", "whoever asks how things stand is told of messages that nobody works on as if they were worked on", func(t *trial) {
			l := t.say(room("a"), 4)
			t.begin(l, 1, 2)
			t.say(room("b"), 3)
			var counts []int
			t.accept(func(s ports.Sight) ports.Route {
				counts = append(counts, s.Waiting(), s.Waiting())
				return ports.Route{Kind: ports.RouteLane, Person: ann}
			}, t.message(l.In, "x"), t.message(l.In, "y"), t.message(room("c"), "z"))
			t.want(slices.Equal(counts, []int{2, 2, 3, 3, 0, 0}), "so many waited: %v", counts)
			t.say(l.In, ports.MaxCounted)
			t.accept(func(s ports.Sight) ports.Route {
				counts = []int{s.Waiting()}
				return ports.Route{Kind: ports.RouteLane, Person: ann}
			}, t.message(l.In, "x"))
			t.want(counts[0] == ports.MaxCounted, "of a flood %d were counted", counts[0])
		}),
		rule("accept/a source that lost its lease is fenced", "two pollers of one bot would move the cursor past each other's messages", func(t *trial) {
			epoch, err := t.Acquire(t.ctx, channel)
			t.ok(err, "acquire")
			try := func(e int64) error {
				_, err := t.Accept(t.ctx, ports.Source{Channel: channel, Epoch: e}, ports.Batch{Messages: []ports.Message{t.message(room("a"), "x")}, Cursor: "c"}, always(ports.RouteLane))
				return err
			}
			t.ok(try(epoch), "accept under the lease")
			t.kind(try(epoch+1), ports.KindFenced, "accept with another epoch")
			t.ok(t.Release(t.ctx, channel, epoch), "release")
			t.kind(try(epoch), ports.KindFenced, "accept after the release")
			t.want(len(t.load(ports.Lease{In: room("a"), Epoch: 1}).Waiting) == 1, "a fenced accept stored something")
		}),
		rule("accept/reply at receipt is a finished turn", "a command answered at once belongs to exactly one turn, like every message", func(t *trial) {
			in := room("a")
			got := t.accept(func(s ports.Sight) ports.Route {
				id := ports.DeliveryID(ports.TurnID(in, s.Seq), 0, 0)
				return ports.Route{Kind: ports.RouteReply, Person: ann, Deliveries: []ports.Delivery{delivery(ports.Lease{In: in}, id)}}
			}, t.message(in, "/help"))
			t.want(len(got.Leases) == 1, "its delivery gave the leases %v", got.Leases)
			l := got.Leases[0]
			w := t.load(l)
			t.want(w.Turn == nil && len(w.Waiting) == 0, "there is work for the lane: %+v", w)
			h, err := t.History(t.ctx, l, 10)
			t.want(err == nil && len(h) == 0, "a command is in the history: %v %v", h, err)
			t.delivered(l, ports.DeliveryID(ports.TurnID(in, 1), 0, 0), ports.Receipt{ID: "1"})
			t.unowned(l, "the reply's delivery")
		}),
		rule("accept/owned conversations are told again", "a running turn looks at news (a stop) only if it hears of it", func(t *trial) {
			in := room("a")
			l := t.say(in, 1)
			t.begin(l, 1)
			got := t.accept(always(ports.RouteControl), t.message(in, "/stop"))
			t.want(len(got.Leases) == 1 && got.Leases[0] == l, "news in an owned conversation gave %v, want its lease %v", got.Leases, l)
			t.want(len(t.claim()) == 0, "claim tells of what accept told of")
		}),
		rule("accept/a context that ended stores nothing", "the caller is told that nothing was stored, so nothing may be", func(t *trial) {
			ctx, cancel := context.WithCancel(t.ctx)
			cancel()
			m := t.message(room("a"), "x")
			_, err := t.Accept(ctx, source(), ports.Batch{Messages: []ports.Message{m}}, always(ports.RouteLane))
			t.kind(err, ports.KindCancelled, "accept with an ended context")
			t.want(t.accept(always(ports.RouteLane), m).Stored == 1, "it was stored all the same")
		}),
		rule("accept/a context that ends midway leaves all or nothing", "a shutdown comes at any moment, and the platform sends again what the cursor has not passed", func(t *trial) {
			ctx, cancel := context.WithCancel(t.ctx)
			defer cancel()
			m := t.message(room("a"), "x")
			_, err := t.Accept(ctx, source(), ports.Batch{Messages: []ports.Message{m}, Cursor: "1"}, func(s ports.Sight) ports.Route {
				cancel()
				return always(ports.RouteLane)(s)
			})
			cursor, read := t.Cursor(t.ctx, channel)
			t.ok(read, "cursor")
			stored := t.accept(always(ports.RouteLane), m).Seen == 1
			t.want(stored == (cursor == "1"), "a message and its cursor came apart: the message is stored: %v, the cursor is %q", stored, cursor)
			t.want(stored == (err == nil), "accept gave the error %v, but the message is stored: %v", err, stored)
		}),
	}
}

// mustNotBe panics at a message of this text, as a broken route function would.
func mustNotBe(s ports.Sight, text string) string {
	if s.Message.Text == text {
		panic("boom")
	}
	return s.Message.Text
}
