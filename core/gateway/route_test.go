package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// twoAgents are main, which answers all but the chat "help", and support, which
// answers there: each with a model that says its name, and with tools of its own.
func twoAgents(w *world) (main, support *model) {
	main, support = &model{reply: named("main")}, &model{reply: named("support")}
	one := func(name string, filter toolbox.Filter, models ...agent.Model) gateway.Agent {
		return gateway.Agent{Tools: filter, Config: agent.Config{Name: name, Models: models, Instructions: "You are " + name + ".", MaxSteps: 5, TurnTimeout: time.Minute}}
	}
	w.agents = []gateway.Agent{
		one("main", toolbox.Filter{Allow: []string{"srv__read_*"}}, agent.Model{Name: "large", Port: main, ContextTokens: 32000}, agent.Model{Name: "small", Port: &model{reply: named("small")}, ContextTokens: 32000}),
		one("support", toolbox.Filter{Allow: []string{"srv__write_a", "srv__never"}}, agent.Model{Name: "tiny", Port: support, ContextTokens: 32000}),
	}
	w.chats = map[string]string{"help": "support"}
	return main, support
}

// named is echo by somebody who says who they are.
func named(name string) func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return func(_ context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		return says(name + ": " + r.Entries[len(r.Entries)-1].Text)
	}
}

// inChat is a message of a private chat with this id.
func inChat(chat, from, text string) ports.Message {
	m := said(from, text)
	m.In.Chat = chat
	return m
}

func TestAChatHasItsOwnAgentAndSeesNoOthersTools(t *testing.T) {
	w := newWorld(t)
	main, support := twoAgents(w)
	w.start()
	w.g.Reached(t.Context())
	w.chat.receive(t, inChat("ann", "ann", "one"))
	w.shown(1)
	w.chat.receive(t, inChat("help", "ann", "two"))
	if got, want := w.shown(2), []string{"main: one", "support: two"}; !slices.Equal(got, want) {
		t.Errorf("the chats show %q, want %q", got, want)
	}
	for _, c := range []struct {
		m     *model
		tools []string
		says  string
	}{{main, []string{"srv__read_a", "srv__read_b"}, "You are main."}, {support, []string{"srv__write_a"}, "You are support."}} {
		if n := len(c.m.asked()); n != 1 {
			t.Fatalf("%q was asked %d times", c.says, n)
		}
		r := c.m.asked()[0]
		var names []string
		for _, s := range r.Tools {
			names = append(names, s.Name)
		}
		if !slices.Equal(names, c.tools) || !strings.Contains(r.System, c.says) {
			t.Errorf("the model sees the tools %q under %q, want %q under %q", names, r.System, c.tools, c.says)
		}
	}
}

func TestAConversationGoesOnUnderTheAgentThatItsChatIsGiven(t *testing.T) {
	w := newWorld(t)
	main, support := twoAgents(w)
	w.chats = nil
	main.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if hasTool(r) {
			return named("main")(ctx, r)
		}
		return calls("srv__ask_a")(ctx, r)
	}
	w.agents[0].Tools = toolbox.Filter{}
	w.start()
	w.chat.receive(t, inChat("help", "ann", "a question"))
	w.shown(1)
	w.settled()
	w.end()
	w.chats = map[string]string{"help": "support"} // while the turn is parked
	w.start()
	w.chat.press(t, "ann", 0, "yes")
	eventually(t, "an answer", func() bool { return len(support.asked()) == 1 })
	w.settled()
	r := support.asked()[0]
	if !hasTool(r) || !slices.ContainsFunc(r.Entries, func(e ports.Entry) bool { return strings.Contains(e.Text, "a question") }) {
		t.Errorf("the new agent sees %+v", r.Entries)
	}
	if n := len(main.asked()); n != 1 {
		t.Errorf("the old agent was asked %d times", n)
	}
}
