package discord

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	fake "dragoman/tests/fake/discord"
)

// out is a message to post, as an answer to m.
func out(m ports.Message, text string, choices ...ports.Choice) ports.Outgoing {
	return ports.Outgoing{
		In: m.In, ReplyTo: m.ID, Reply: m.Reply, Nonce: string(m.ID) + text, Content: ports.Content{Text: text, Choices: choices},
	}
}

func (r *rig) send(o ports.Outgoing) ports.MessageID {
	r.t.Helper()
	id, err := r.channel.Send(r.t.Context(), o)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// shows checks what a room shows of the bot.
func (r *rig) shows(room string, want ...string) {
	r.t.Helper()
	var got []string
	for _, m := range r.server.Sent(room) {
		got = append(got, seen(m.Text))
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		r.t.Errorf("the room shows %q, want %q", got, want)
	}
}

// command has a person give a slash command, once Discord knows it.
func (r *rig) command(who *fake.User, room, name string, options map[string]any) *fake.Interaction {
	r.t.Helper()
	r.until("the commands are registered", func() bool { names, _ := r.server.Commands(""); return len(names) > 0 })
	i, err := who.Command(room, name, options)
	if err != nil {
		r.t.Fatal(err)
	}
	return i
}

func TestACommandIsAnsweredInItsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	i := r.command(ann, ann.DM(), "ask", map[string]any{"text": "what time is it"})
	m := r.await(1)[0]
	if m.Text != "what time is it" || !m.Private || m.From != ann.ID() || len(m.Reply) == 0 {
		t.Fatalf("it came as %+v", m)
	}
	r.until("it is acknowledged", i.Acknowledged)
	first := r.send(out(m, "noon"))
	r.send(out(m, "and a second part"))
	if again := r.send(out(m, "noon")); again != first {
		t.Errorf("a send that is tried again gave %q, then %q", first, again)
	}
	r.shows(ann.DM(), "noon", "and a second part")
	if err := r.channel.Edit(t.Context(), first, out(m, "one o'clock")); err != nil {
		t.Fatal(err)
	}
	r.shows(ann.DM(), "one o'clock", "and a second part")
	if i.Failed() {
		t.Error("the person was told that it failed")
	}
}

func TestAPartThatSaysTheSameAsTheOneBeforeItIsPosted(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	i := r.command(ann, ann.DM(), "ask", map[string]any{"text": "say a lot of a"})
	m := r.await(1)[0]
	r.until("it is acknowledged", i.Acknowledged)
	first, second := out(m, "aaaa"), out(m, "aaaa")
	second.Nonce += "/2"
	one, two := r.send(first), r.send(second)
	r.shows(ann.DM(), "aaaa", "aaaa")
	if one == two || r.send(first) != one || r.send(second) != two {
		t.Errorf("the parts are %s and %s", one, two)
	}
	r.shows(ann.DM(), "aaaa", "aaaa")
}

func TestACommandOfAGuildComesAsItIsTyped(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann, room := r.server.User("Ann"), r.server.Guild("Team").Channel("general")
	r.menu = []ports.Command{{Name: "model", Says: "Shows them", Takes: "name"}}
	r.run()
	r.command(ann, room, "model", map[string]any{"name": "gpt"})
	m := r.await(1)[0]
	if m.Text != "/model gpt" || m.Private || !m.Addressed || m.In.Chat != room {
		t.Errorf("it came as %+v", m)
	}
}

func TestALateAnswerToACommandIsAMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	i := r.command(ann, ann.DM(), "ask", map[string]any{"text": "think long"})
	m := r.await(1)[0]
	r.until("it is acknowledged", i.Acknowledged)
	r.server.Advance(16 * time.Minute)
	r.send(out(m, "42"))
	got := r.server.Sent(ann.DM())
	if last := got[len(got)-1]; last.Text != "42" || last.Thinking {
		t.Errorf("the answer is %+v", last)
	}
}

func TestAPressIsAcknowledgedOnceItIsStored(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	ann.Say("hello")
	m := r.await(1)[0]
	id := r.send(out(m, "May I?", ports.Choice{Question: "q", Field: "ok", Value: "yes", Label: "Yes"}))
	r.inbox.Refuse(-1)
	_, message, _ := splitID(id)
	i, err := ann.Press(ann.DM(), message, "Yes")
	if err != nil {
		t.Fatal(err)
	}
	r.until("the press is refused", func() bool {
		refused, _ := r.inbox.Refused()
		return slices.ContainsFunc(refused, func(m ports.Message) bool { return m.Choice != nil })
	})
	if i.Acknowledged() {
		t.Error("it was acknowledged before it was stored")
	}
	r.inbox.Refuse(0)
	r.await(2)
	r.until("it is acknowledged", i.Acknowledged)
	if i.Failed() {
		t.Error("the person was told that it failed")
	}
}

func TestPressesDoNotWaitForHistories(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	c := r.crowd()
	r.run()
	c.talk(6)
	c.hears(c.said)
	m := r.inbox.Messages()[0]
	_, message, _ := splitID(r.send(out(m, "May I?", ports.Choice{Question: "q", Field: "ok", Value: "yes", Label: "Yes"})))
	r.server.Hang(fake.ListMessages, 4)
	r.down()
	c.talk(30)
	r.server.GatewayUp(false)
	r.until("the channel listens", func() bool { return r.server.Gateway().Connected > 0 })
	i, err := c.people[0].Press(c.rooms[0], message, "Yes")
	if err != nil {
		t.Fatal(err)
	}
	r.until("it is acknowledged", i.Acknowledged)
	if i.Failed() {
		t.Error("the person was told that it failed")
	}
}

// Commands that one answer is for show no "thinking…" any more, those after them do.
func TestNothingGoesOnThinkingOnceItIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann, bob := r.server.User("Ann"), r.server.User("Bob")
	r.run()
	var asked []ports.Message
	for n, who := range []*fake.User{ann, ann, bob, ann} {
		i := r.command(who, who.DM(), "ask", map[string]any{"text": "a part of it"})
		asked = append(asked, r.await(n + 1)[n])
		r.until("it is acknowledged", i.Acknowledged)
		r.channel.defers.wait(t.Context(), i.ID()) // and the channel knows
	}
	thinking := func(want ...bool) {
		t.Helper()
		var got []bool
		for _, m := range r.server.Sent(ann.DM()) {
			got = append(got, m.Thinking)
		}
		if !slices.Equal(got, want) || !r.server.Sent(bob.DM())[0].Thinking {
			t.Errorf("%v, want %v:\n%s", got, want, r.server.Transcript(ann.DM()))
		}
	}
	thinking(true, true, true)
	id := r.send(out(asked[1], "both of them"))
	thinking(false, true)
	// An answer that takes the place of an earlier message is one, too.
	if err := r.channel.Edit(t.Context(), id, out(asked[3], "and the last")); err != nil {
		t.Fatal(err)
	}
	thinking(false)
}

func TestAnEditThatOvertakesAnAcknowledgementLeavesNothingThinking(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	ann.Say("hello")
	id := r.send(out(r.await(1)[0], "hi"))
	r.server.Delay(fake.Callback, 500*time.Millisecond)
	i := r.command(ann, ann.DM(), "ask", map[string]any{"text": "and more"})
	m := r.await(2)[1]
	r.until("Discord has the acknowledgement", i.Acknowledged)
	if err := r.channel.Edit(t.Context(), id, out(m, "hi, and more")); err != nil {
		t.Fatal(err)
	}
	r.shows(ann.DM(), "hi, and more")
}

func TestAStopByCommandIsAcknowledgedInWords(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	r.menu = []ports.Command{{Name: "stop", Says: "Stops it"}}
	ann := r.server.User("Ann")
	r.run()
	i := r.command(ann, ann.DM(), "stop", nil)
	if m := r.await(1)[0]; m.Text != "/stop" || m.Reply != nil {
		t.Errorf("it came as %+v", m)
	}
	r.until("it is acknowledged", i.Acknowledged)
	if m, ok := i.Response(); !ok || m.Thinking || m.OnlyFor != "Ann" || m.Text == "" {
		t.Errorf("Ann sees %+v", m)
	}
}
