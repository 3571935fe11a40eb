package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/ports"
)

// moment is where a turn is when its person writes again.
type moment string

const (
	inStream   moment = "during a model's stream"
	inRead     moment = "during a tool that reads"
	inWrite    moment = "during a tool that changes things"
	inQuestion moment = "during an open question"
)

// busyCase is what comes of a message in a moment. The journals are those of the
// first and the second turn; "" = there is no second.
type busyCase struct {
	mode     ports.Busy // "" = the message is a stop
	at       moment
	chat     []string // what the chat shows in the end
	turns    []string // outcome and messages of each turn
	journals []string
	told     string // what the model is told in its last request, from the first message on
	ran      int    // how often the tool ran
	cut      bool   // the tool's server is told to stop
}

const (
	cutByStop      = "The person stopped the turn while this ran. It is not known whether it had an effect."
	cutByInterrupt = "The person wrote something new while this ran, which ended it. It is not known whether it had an effect."
	interrupted    = "Interrupted: I go on with your next message."
)

// What comes of a message that a person writes while their turn is at work, in
// each mode and in each moment of a turn. Collect waits as queue does: that its
// turns also wait for silence shows before them, not in them.
var busyCases = []busyCase{
	{mode: ports.BusySteer, at: inStream, ran: 0,
		chat: []string{"answer to first", "answer to second"}, turns: []string{"answered first", "answered second"},
		journals: []string{"reply final", "reply final"}, told: "user first|assistant answer to first|user second"},
	{mode: ports.BusySteer, at: inRead, ran: 1,
		chat: []string{"answer to second"}, turns: []string{"answered first+second"},
		journals: []string{"reply start0 result0:ok input reply final"}, told: "user first|assistant Let me see.|tool result of read_a|user second"},
	{mode: ports.BusySteer, at: inWrite, ran: 1,
		chat: []string{"answer to second"}, turns: []string{"answered first+second"},
		journals: []string{"reply start0 result0:ok input reply final"}, told: "user first|assistant Let me see.|tool result of write_a|user second"},
	{mode: ports.BusySteer, at: inQuestion, ran: 0,
		chat: []string{"May I", "answer to second"}, turns: []string{"answered first+second"},
		journals: []string{"reply result0:denied input reply final"}, told: "user first|assistant Let me see.|tool Not run: the person did not answer|user second"},

	{mode: ports.BusyInterrupt, at: inStream, ran: 0,
		chat: []string{interrupted, "answer to second"}, turns: []string{"superseded first", "answered second"},
		journals: []string{"final", "reply final"}, told: "user first|assistant " + interrupted + "|user second"},
	{mode: ports.BusyInterrupt, at: inRead, ran: 1, cut: true,
		chat: []string{interrupted, "answer to second"}, turns: []string{"superseded first", "answered second"},
		journals: []string{"reply start0 result0:cancelled final", "reply final"},
		told:     "user first|assistant Let me see.|tool " + cutByInterrupt + "|assistant " + interrupted + "|user second"},
	{mode: ports.BusyInterrupt, at: inWrite, ran: 1, cut: true,
		chat: []string{interrupted, "answer to second"}, turns: []string{"superseded first", "answered second"},
		journals: []string{"reply start0 result0:cancelled final", "reply final"},
		told:     "user first|assistant Let me see.|tool " + cutByInterrupt + "|assistant " + interrupted + "|user second"},
	{mode: ports.BusyInterrupt, at: inQuestion, ran: 0,
		chat: []string{"May I", interrupted, "answer to second"}, turns: []string{"superseded first", "answered second"},
		journals: []string{"reply result0:cancelled final", "reply final"},
		told:     "user first|assistant Let me see.|tool Not run: the person wrote something new.|assistant " + interrupted + "|user second"},

	{at: inStream, ran: 0, chat: []string{"Stopped."}, turns: []string{"stopped first+/stop"}, journals: []string{"final"}, told: "user first"},
	{at: inRead, ran: 1, cut: true, chat: []string{"Stopped."}, turns: []string{"stopped first+/stop"},
		journals: []string{"reply start0 result0:cancelled final"}, told: "user first"},
	{at: inWrite, ran: 1, cut: true, chat: []string{"Stopped."}, turns: []string{"stopped first+/stop"},
		journals: []string{"reply start0 result0:cancelled final"}, told: "user first"},
	{at: inQuestion, ran: 0, chat: []string{"May I", "Stopped."}, turns: []string{"stopped first+/stop"},
		journals: []string{"reply result0:cancelled final"}, told: "user first"},

	{mode: ports.BusyCollect, at: inStream, ran: 0,
		chat: []string{"answer to first", "answer to second"}, turns: []string{"answered first", "answered second"},
		journals: []string{"reply final", "reply final"}, told: "user first|assistant answer to first|user second"},
	{mode: ports.BusyCollect, at: inRead, ran: 1,
		chat: []string{"answer to first", "answer to second"}, turns: []string{"answered first", "answered second"},
		journals: []string{"reply start0 result0:ok reply final", "reply final"},
		told:     "user first|assistant Let me see.|tool result of read_a|assistant answer to first|user second"},
	{mode: ports.BusyCollect, at: inWrite, ran: 1,
		chat: []string{"answer to first", "answer to second"}, turns: []string{"answered first", "answered second"},
		journals: []string{"reply start0 result0:ok reply final", "reply final"},
		told:     "user first|assistant Let me see.|tool result of write_a|assistant answer to first|user second"},
	{mode: ports.BusyCollect, at: inQuestion, ran: 0,
		chat: []string{"May I", "answer to second"}, turns: []string{"answered first+second"},
		journals: []string{"reply result0:denied input reply final"}, told: "user first|assistant Let me see.|tool Not run: the person did not answer|user second"},
}

// tool is the tool that is called in a moment.
func (m moment) tool() string {
	return map[moment]string{inRead: "read_a", inWrite: "write_a", inQuestion: "ask_a"}[m]
}

// answering calls the moment's tool for the first message, and answers what it
// was asked last.
func (m moment) answering(_ context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
	var asked string
	called := m.tool() == ""
	for _, e := range r.Entries {
		if e.Role == ports.RoleUser {
			asked = e.Text
		}
		called = called || len(e.Calls) > 0
	}
	if asked == "first" && !called {
		return ports.ModelReply{Text: "Let me see.", Model: "m", Stop: ports.StopCalls,
			Calls: []ports.Call{{ID: "c0", Name: "srv__" + m.tool(), Arguments: json.RawMessage(`{"n":0}`)}}}, nil
	}
	return says("answer to " + asked)
}

func TestWhatComesOfAMessageWhileATurnRuns(t *testing.T) {
	t.Parallel()
	for _, c := range busyCases {
		t.Run(fmt.Sprintf("%s %s", cmp.Or(string(c.mode), "stop"), c.at), func(t *testing.T) {
			var recorded []ports.Recording
			synctest.Test(t, func(t *testing.T) { recorded = c.play(t) })
			for _, rec := range recorded {
				replayed(t, rec, 0)
			}
		})
	}
}

// play is the case in a bubble: its waits take no time.
func (c busyCase) play(t *testing.T) []ports.Recording {
	w := newWorld(t)
	w.agent = func(a *agent.Config) { a.Busy = c.mode }
	w.model.reply = c.at.answering
	var there, told atomic.Bool
	await := func(ctx context.Context) {
		there.Store(true)
		select { // until its server is told to stop, or it is done
		case <-ctx.Done():
			told.Store(true)
		case <-time.After(5 * time.Second):
		}
	}
	switch c.at {
	case inStream:
		w.model.dwell = func(ctx context.Context) {
			if !there.Load() {
				await(ctx)
			}
		}
	case inRead, inWrite:
		w.tools.onCall = func(ctx context.Context, _ string) {
			if await(ctx); told.Load() {
				<-time.After(2 * time.Second) // and heeds it late
			}
		}
	}
	w.start()
	w.chat.say(t, "ann", "first")
	<-time.After(2 * time.Second)
	if c.at != inQuestion && !there.Load() {
		t.Fatal("the turn is not where it should be")
	}
	began := time.Now()
	w.chat.say(t, "ann", cmp.Or(map[bool]string{true: "/stop"}[c.mode == ""], "second"))
	w.within(30*time.Second, "ann", c.chat...)
	if took := time.Since(began); c.mode == "" && took > time.Second {
		t.Errorf("the stop took %s", took)
	}
	w.comesToRest()
	<-time.After(2 * time.Second) // the tool is home
	if (told.Load() && c.at != inStream) != c.cut {
		t.Errorf("the tool's server was told to stop: %v, want %v", told.Load(), c.cut)
	}
	if n := w.tools.ran(cmp.Or(c.at.tool(), "none")); n != c.ran {
		t.Errorf("the tool ran %d times, want %d", n, c.ran)
	}
	c.compare(t, w)
	w.sound(2)
	w.end()
	return w.recordings()
}

// compare looks at the rows, and at what the model was told last.
func (c busyCase) compare(t *testing.T, w *world) {
	turns := w.column(`SELECT t.outcome || ' ' || (SELECT group_concat(text, '+') FROM (SELECT body ->> '$.text' AS text FROM inbox WHERE turn = t.id ORDER BY seq)) FROM turn t ORDER BY t.seq`)
	if !slices.Equal(turns, c.turns) {
		t.Errorf("the turns are %q, want %q", turns, c.turns)
	}
	journals := w.column(`SELECT (SELECT group_concat(line, ' ') FROM (SELECT kind ||
		CASE kind WHEN 'start' THEN call WHEN 'result' THEN call || ':' || (body ->> '$.outcome') ELSE '' END AS line FROM step WHERE turn = t.id ORDER BY idx)) FROM turn t ORDER BY t.seq`)
	if !slices.Equal(journals, c.journals) {
		t.Errorf("the journals are %q, want %q", journals, c.journals)
	}
	asked := w.model.asked()
	var told []string
	for _, e := range asked[len(asked)-1].Entries {
		told = append(told, string(e.Role)+" "+e.Text)
	}
	want := strings.Split(c.told, "|")
	same := len(told) == len(want)
	for i := range want {
		same = same && strings.HasPrefix(told[i], want[i])
	}
	if !same {
		t.Errorf("the model was told %q, want %q", told, want)
	}
}

// In a group that waits for several people each message has its turn: what waited
// behind somebody else's when a turn began does not end it.
func TestAnInterruptIsOfWhatIsWrittenWhileATurnRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agent = func(a *agent.Config) { a.Busy = ports.BusyInterrupt }
		w.model.reply = byTheirWord
		w.model.dwell = func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
		}
		w.start()
		in := ports.Conversation{Chat: "room"}
		w.chat.receive(t, ports.Message{From: "ann", Name: "ann", Text: "say a0", In: in})
		time.Sleep(time.Second)
		var list []ports.Message
		for i, who := range []string{"bob", "ann", "bob", "ann"} {
			list = append(list, ports.Message{From: who, Name: who, Text: fmt.Sprint("say ", i), In: in})
		}
		w.chat.batch(t, list...)
		time.Sleep(time.Minute)
		w.comesToRest()
		got := w.column(`SELECT outcome FROM turn ORDER BY seq`)
		if want := []string{"superseded", "answered", "answered", "answered", "answered"}; !slices.Equal(got, want) {
			t.Errorf("the turns ended as %q, want %q", got, want)
		}
		w.sound(5)
	})
}

// What is written while a tool runs joins the turn, though a question is put and
// answered before the model is asked again.
func TestWhatWasWrittenBeforeAnAnswerJoinsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agent = func(a *agent.Config) { a.Busy = ports.BusySteer }
		w.model.reply = calls("srv__read_a", "srv__ask_a")
		w.tools.onCall = func(ctx context.Context, name string) {
			if name == "read_a" {
				idle(ctx, 5*time.Second)
			}
		}
		w.start()
		w.chat.say(t, "ann", "first")
		<-time.After(2 * time.Second)
		w.chat.say(t, "ann", "second")
		w.within(10*time.Second, "ann", "May I run")
		w.chat.press(t, "ann", 0, "yes")
		<-time.After(2 * time.Second)
		w.comesToRest()
		if got := w.column(`SELECT (SELECT group_concat(COALESCE(body ->> '$.text', 'press'), '+') FROM (SELECT body FROM inbox WHERE turn = t.id ORDER BY seq)) FROM turn t ORDER BY t.seq`); len(got) != 1 {
			t.Errorf("the turns have %q", got)
		}
		w.sound(3)
		w.end()
	})
}
