package gateway_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// gated makes a model that waits for the gate before it replies for the first time.
func gated(gate <-chan struct{}, reply func(context.Context, ports.ModelRequest) (ports.ModelReply, error)) func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		select {
		case <-gate:
			return reply(ctx, r)
		case <-ctx.Done():
			return ports.ModelReply{}, ctx.Err()
		}
	}
}

func inGroup(from, text string) ports.Message {
	return ports.Message{From: from, Name: from, Text: text, In: ports.Conversation{Chat: "group"}}
}

func TestAStopThatComesJustBeforeTheQuestionStops(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a")
	f := w.startFailing(0, refused)
	f.beforePark = func() { w.chat.say(t, "ann", "/stop") }
	w.chat.say(t, "ann", "go")
	eventually(t, "the stop is heard", func() bool {
		texts := w.chat.texts()
		return len(texts) > 0 && texts[len(texts)-1] == "Stopped."
	})
}

func TestAMessageOfAnotherThatCameBeforeTheQuestionWaitsNoLonger(t *testing.T) {
	w := newWorld(t)
	w.opt.Ask.GroupWait = 10 * time.Millisecond
	gate := make(chan struct{})
	w.model.reply = gated(gate, func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if strings.Contains(r.Entries[len(r.Entries)-1].Text, "bob") {
			return says("hello bob")
		}
		return calls("srv__ask_a")(ctx, r)
	})
	w.start()
	w.chat.receive(t, inGroup("ann", "go"))
	eventually(t, "the model is asked", func() bool { return len(w.model.asked()) == 1 })
	w.chat.receive(t, inGroup("bob", "me too"))
	close(gate)
	eventually(t, "bob is answered though ann is silent", func() bool { return strings.Contains(strings.Join(w.chat.texts(), "\n"), "hello bob") })
}

func TestInAGroupTheMessageThatSupersedesJoins(t *testing.T) {
	w := newWorld(t)
	gate := make(chan struct{})
	w.model.reply = gated(gate, calls("srv__ask_a"))
	w.start()
	w.chat.receive(t, inGroup("ann", "go"))
	eventually(t, "the model is asked", func() bool { return len(w.model.asked()) == 1 })
	w.chat.receive(t, inGroup("bob", "me too")) // waits, before ann's
	close(gate)
	w.shown(1)
	w.chat.receive(t, inGroup("ann", "rather not"))
	eventually(t, "the turn goes on", func() bool { return len(w.chat.texts()) > 1 })
	if got := w.chat.texts()[1]; !strings.Contains(got, "rather not") {
		t.Errorf("ann's message did not join the turn whose question it ended: %q", got)
	}
}

func TestAnExpiredQuestionLosesItsButtons(t *testing.T) {
	w := newWorld(t)
	w.opt.Ask.Expires = 10 * time.Millisecond
	w.model.reply = calls("srv__ask_a")
	w.start()
	w.chat.say(t, "ann", "go")
	w.shown(2)
	w.settled()
	if c := w.chat.post(0).out.Content; len(c.Choices) > 0 || !strings.Contains(c.Text, "Not answered in time.") {
		t.Errorf("the expired question still shows %+v", c)
	}
}

func TestAnEmptyPieceOfTextHoldsNothingUp(t *testing.T) {
	w := newWorld(t)
	w.opt.Agents = []gateway.Agent{{Config: agent.Config{Models: []agent.Model{{Port: pieces{"", "hel", "lo"}}}}}}
	w.startFailing(0, refused)
	w.chat.say(t, "ann", "go")
	if got := w.shown(1)[0]; got != "hello" {
		t.Errorf("the answer is %q", got)
	}
}

// pieces is a model that says these, one after another.
type pieces []string

func (p pieces) Generate(_ context.Context, _ ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	for _, s := range p {
		onText(s)
	}
	return says(strings.Join(p, ""))
}

func TestArgumentsThatAreNoJSONAreAResultForTheModel(t *testing.T) {
	for name, args := range map[string]string{"cut off": `{"n": `, "empty": ``, "a word": `n`} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
				reply, err := calls("srv__write_a")(ctx, r)
				for i := range reply.Calls {
					reply.Calls[i].Arguments = json.RawMessage(args)
				}
				return reply, err
			}
			w.start()
			w.chat.say(t, "ann", "go")
			if got := w.shown(1)[0]; !strings.HasPrefix(got, "The arguments do not fit the tool's schema") {
				t.Errorf("the model got %q", got)
			}
		})
	}
}

func TestADenyHoldsForACallThatIsRunAgain(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__write_a")
	f := w.startFailing(3, killBefore) // after the start row, before the result
	w.chat.say(t, "ann", "go")
	<-f.died
	w.bury(f)
	w.opt.Tools.Policy["srv__write_a"] = ports.PolicyDeny
	w.start()
	w.shown(1)
	w.chat.press(t, "ann", 0, "again")
	w.shown(2)
	if n := w.tools.ran("write_a"); n != 1 {
		t.Errorf("the tool ran %d times: the admin denied it before it was run again", n)
	}
}

func TestAFailureAfterAQuestionIsTold(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a")
	w.start()
	w.chat.say(t, "ann", "go")
	w.shown(1)
	w.settled()
	w.end()
	w.exec(`UPDATE step SET body = '{"v":"from another time"}'`) // a row that this binary cannot read
	w.start()
	w.chat.press(t, "ann", 0, "yes")
	if got := w.shown(2)[1]; !strings.Contains(got, "Reference: ") {
		t.Errorf("the failure reads %q", got)
	}
}

func TestAResultIsNotForgottenForOneRefusedWrite(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__write_a")
	w.startFailing(3, refused) // of the commits, the one of the result
	w.chat.say(t, "ann", "go")
	if got := w.shown(1)[0]; got != "result of write_a" {
		t.Errorf("the chat shows %q", got)
	}
}

func TestAReplyIsNotPaidForAgainForOneRefusedWrite(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	w.startFailing(2, refused) // the commit of the answer
	w.chat.say(t, "ann", "go")
	w.shown(1)
	if n := len(w.model.asked()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestAReadThatFailsDoesNotCancelARunningTool(t *testing.T) {
	w := newWorld(t)
	w.tools.gate = make(chan struct{})
	w.model.reply = calls("srv__write_a")
	f := w.startFailing(0, refused)
	w.chat.say(t, "ann", "go")
	eventually(t, "the tool runs", func() bool { return w.tools.ran("write_a") == 1 })
	f.mu.Lock()
	f.loadFails = 1
	f.mu.Unlock()
	w.chat.say(t, "ann", "and?")
	eventually(t, "the turn looked", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.loadFails == 0 })
	close(w.tools.gate)
	if got := w.shown(2); got[0] != "result of write_a" { // the second answers "and?"
		t.Errorf("the chat shows %q", got)
	}
}

func TestADeliveryGoesOutAlsoWhereTheCommitThatStoredItWasUnsure(t *testing.T) {
	for _, at := range []int{2, 3} { // the commit of the answer; the mark that it was sent
		w := newWorld(t)
		w.model.reply = echo
		w.startFailing(at, unsure)
		w.chat.say(t, "ann", "go")
		eventually(t, "nothing is left to do", func() bool { return len(w.chat.texts()) == 1 && w.over() })
	}
}

func TestAPanicOfAChannelIsNotServed(t *testing.T) {
	w := newWorld(t)
	w.start()
	opt := w.opt
	opt.Store, opt.Log = w.store, slog.New(slog.DiscardHandler)
	opt.Channels = []gateway.Channel{{Name: "broken", Port: &panicking{chat: newChat()}, Agent: "main"}}
	g := gateway.New(opt)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx, ctx) }()
	defer func() { cancel(); <-done }()
	eventually(t, "the channel is degraded", func() bool { return g.Ready(t.Context()).Channels[0].State == "degraded" })
	if s := g.Ready(t.Context()).Channels[0].Err; strings.Contains(s, "goroutine ") || strings.Contains(s, ".go:") {
		t.Errorf("/readyz shows a stack trace: %.200q", s)
	}
}

// panicking is a channel whose Run panics.
type panicking struct{ *chat }

func (*panicking) Run(context.Context, ports.Receiver) error { panic("boom") }

func TestABadCallOfAnAdminIsAReport(t *testing.T) {
	w := newWorld(t)
	w.start()
	eventually(t, "the tools are there", func() bool { list, _ := w.g.Tools(t.Context()); return len(list) > 0 })
	got, err := w.g.CallTool(t.Context(), "srv__read_a", json.RawMessage(`{"n":`), 0)
	if err != nil || got.Outcome != ports.CallInvalidParams {
		t.Errorf("%+v, %v; want invalid_params", got, err)
	}
}

func TestAStrangersChatterInAGroupIsMetWithSilence(t *testing.T) {
	w := newWorld(t)
	rules := w.opt.Access.Channels["chat"]
	rules.Mode = "allowlist"
	w.opt.Access.Channels["chat"] = rules
	w.start()
	w.chat.mu.Lock()
	in := w.chat.in
	w.chat.mu.Unlock()
	m := inGroup("eve", "hi bob, lunch?")
	m.In.Channel, m.Event, m.ID = "chat", "e1", "in-e1"
	if err := in.Receive(t.Context(), ports.Batch{Messages: []ports.Message{m}}); err != nil {
		t.Fatal(err)
	}
	w.settled()
	if texts := w.chat.texts(); len(texts) > 0 {
		t.Errorf("the bot answers people who did not speak to it: %q", texts)
	}
}

func TestAPromptThatCannotBePostedDoesNotWaitForAnAnswer(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a")
	w.chat.fails = []error{ports.Errorf(ports.KindInvalid, "send", "400")}
	w.start()
	w.chat.say(t, "ann", "go")
	eventually(t, "the person hears something", func() bool { return len(w.chat.texts()) > 0 })
}

func TestAStopOfAnotherInAGroupWaitsNoLongerThanAMessage(t *testing.T) {
	w := newWorld(t)
	w.opt.Ask.GroupWait = 10 * time.Millisecond
	w.model.reply = calls("srv__ask_a")
	w.start()
	w.chat.receive(t, inGroup("ann", "go"))
	w.shown(1)
	w.chat.receive(t, inGroup("bob", "/stop"))
	eventually(t, "bob is answered though ann is silent", func() bool {
		return strings.Contains(strings.Join(w.chat.texts(), "\n"), "Only the person whose question I am working on can stop it.")
	})
}

func TestTheFirstAdminsCodeIsNotForTheModel(t *testing.T) {
	for _, say := range []string{"CODE", "/pair CODE", "/start CODE"} {
		w := newWorld(t)
		rules := w.opt.Access.Channels["chat"]
		rules.Mode = "pairing"
		w.opt.Access.Channels["chat"] = rules
		w.model.reply = echo
		w.start()
		code, err := w.g.FirstAdminCode(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.chat.say(t, "ann", strings.Replace(say, "CODE", code, 1))
		if got := w.shown(1)[0]; strings.Contains(got, code) || len(w.model.asked()) > 0 {
			t.Errorf("%s: the model was told the code, and answered %q", say, got)
		}
	}
}

func TestACallThatOutlivesItsTurnsTimeWasNotStoppedByThePerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.turnTimeout = 100 * time.Millisecond
		w.model.reply = calls("srv__slow")
		w.start()
		w.chat.say(t, "ann", "go")
		w.shown(1)
		w.settled()
		w.model.mu.Lock()
		w.model.reply = echo
		w.model.mu.Unlock()
		w.chat.say(t, "ann", "and?")
		w.shown(2)
		for _, e := range w.model.asked()[1].Entries {
			if e.Role == ports.RoleTool && strings.Contains(e.Text, "person stopped") {
				t.Errorf("the model is told %q of a turn whose time was over", e.Text)
			}
		}
		w.end()
	})
}
