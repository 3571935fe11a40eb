package discord

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	fake "dragoman/tests/fake/discord"
)

// newIntake is the reading of a channel that has read all of what is older than a
// minute, without a gateway.
func (r *rig) newIntake() *intake {
	r.t.Helper()
	c, err := New(configOf(r.server), slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.api.http.CloseIdleConnections)
	known, err := newRooms(fmt.Sprintf(`{"since":"%d"}`, idAt(time.Now())))
	if err != nil {
		r.t.Fatal(err)
	}
	run := &runner{channel: c, in: r.inbox, log: slog.New(slog.DiscardHandler), rooms: known, me: user{ID: fake.BotID}, app: make(chan string, 1)}
	return &intake{runner: run, in: run.incoming()}
}

// told is what the gateway says of a guild with one room, in which this was said last.
func told(guild, room, last string) event {
	return event{kind: "GUILD_CREATE", data: json.RawMessage(fmt.Sprintf(
		`{"id":%q,"channels":[{"id":%q,"type":0,"last_message_id":%q}]}`, guild, room, last))}
}

func TestAGuildThatComesLateIsReadAllTheSame(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"to one session": false, "to the next one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fake.Options{})
			in, ann := r.newIntake(), r.server.User("Ann")
			first, second := r.server.Guild("first").Channel("general"), r.server.Guild("second").Channel("general")
			one, two := ann.SayIn(first, "one"), ann.SayIn(second, "two")
			ready := event{kind: "READY", data: json.RawMessage(`{"guilds":[{"id":"1"},{"id":"2"}]}`)}
			in.event(t.Context(), ready)
			in.heard = in.heard.Add(-guildsTimeout - time.Second) // reading the first took so long
			in.event(t.Context(), told("1", first, one))
			if in.late {
				t.Error("the cursor waits no more, and a guild just came")
			}
			in.heard = in.heard.Add(-guildsTimeout - time.Second)
			in.advance(t.Context())
			if text, _ := r.inbox.Cursor(t.Context()); text == "" || !in.late {
				t.Error("a guild that does not come holds the cursor for ever")
			}
			if again {
				in.event(t.Context(), ready)
				in.event(t.Context(), told("1", first, one))
			}
			in.event(t.Context(), event{kind: "GUILD_CREATE", data: json.RawMessage(`{"id":"2","unavailable":true}`)})
			in.event(t.Context(), told("2", second, two))
			if got := r.inbox.Messages(); len(got) != 2 || got[1].Text != "two" {
				t.Errorf("it heard %+v", got)
			}
		})
	}
}

func TestWhatIsSaidInARoomWithoutAHistoryIsHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	ann.Say("one")
	r.await(1)
	r.server.Fail(fake.ListMessages, -1, fake.Overloaded)
	r.down()
	r.server.GatewayUp(false)
	r.connected(1)
	r.until("the history is asked for", func() bool { return r.server.Calls(fake.ListMessages) > 0 })
	ann.Say("two") // its event comes; the history is owed by then
	bob := r.server.User("Bob")
	bob.Say("hello")
	r.await(2)
	r.server.Fail(fake.ListMessages, -1, fake.MissingAccess) // and may not be read
	if got := r.await(3)[2]; got.Text != "two" {
		t.Errorf("it heard %+v", got)
	}
}

func TestManyHistoriesThatCannotBeReadHoldUpNothing(t *testing.T) {
	t.Parallel()
	const people = 150
	r := newRig(t, fake.Options{})
	r.run()
	for i := range people {
		r.server.User(fmt.Sprint("person ", i)).Say("hello")
	}
	r.await(people)
	r.server.Fail(fake.ListMessages, -1, fake.Overloaded)
	r.down()
	r.server.GatewayUp(false)
	r.connected(1)
	began := time.Now()
	bob := r.server.User("Bob")
	for i := range 2 { // at the start, and beside the tries that follow
		bob.Say(fmt.Sprint("hello ", i))
		r.await(people + i + 1)
		r.until("it is tried again", func() bool { return time.Since(began) > time.Duration(i)*settleEvery })
	}
	if took := time.Since(began); took > settleEvery+2*historyPatience {
		t.Errorf("it was held up: all took %v", took)
	}
}

func TestAMessageThatCannotBeReadHoldsUpNoHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	in, room, now := r.newIntake(), r.server.Guild("Team").Channel("general"), idAt(time.Now())
	one := func(n uint64, more string) string {
		return fmt.Sprintf(`{"id":"%d","channel_id":%q,"author":{"id":"5","username":"ann"},"content":"text %d"%s}`, now+n, room, n, more)
	}
	r.server.Fail(fake.ListMessages, 1, fake.Response{Status: 200, Body: "[" + one(3, "") + "," + one(2, `,"flags":"many","guild_id":7`) + "," + one(1, "") + ",7]"})
	in.event(t.Context(), event{kind: "READY", data: json.RawMessage(`{"guilds":[{"id":"1"}]}`)})
	in.event(t.Context(), told("1", room, fmt.Sprint(now+3)))
	if got := r.inbox.Messages(); len(got) != 2 || got[0].Text != "text 1" || got[1].Text != "text 3" || in.debts.any() {
		t.Errorf("it heard %+v, and owes a history: %v", got, in.debts.any())
	}
}

func TestWhatIsEditedOrDeletedWhileItIsHeldIsNotHeardAsItWas(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	in, general := r.newIntake(), room{ID: r.server.Guild("Team").Channel("general"), Guild: "1"}
	in.rooms.learn(general)
	in.debts.owe(debt{room: general, since: time.Now()})
	for _, e := range []struct{ kind, id, more string }{
		{"MESSAGE_CREATE", "11", `"content":"one"`},
		{"MESSAGE_CREATE", "12", `"content":"two"`},
		{"MESSAGE_CREATE", "13", `"content":"three"`},
		{"MESSAGE_UPDATE", "12", `"content":"zwei","edited_timestamp":"2026-01-01T00:00:00Z"`},
		{"MESSAGE_DELETE", "11", `"author":null`},
	} {
		in.event(t.Context(), event{kind: e.kind, data: json.RawMessage(fmt.Sprintf(
			`{"id":%q,"channel_id":%q,"guild_id":"1","author":{"id":"5","username":"ann"},%s}`, e.id, general.ID, e.more))})
	}
	in.settle(t.Context())
	var got []string
	for _, m := range r.inbox.Messages() {
		got = append(got, m.Text)
	}
	if fmt.Sprint(got) != "[zwei three]" || in.debts.any() || in.debts.held != 0 {
		t.Errorf("it heard %q, and holds %d", got, in.debts.held)
	}
}
