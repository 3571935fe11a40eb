package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/core/inbox"
	"dragoman/ports"
)

// command answers the commands that need no turn. See inbox.Parts: whoever writes
// was let in, and an answer is about their own conversation alone.
func (g *Gateway) command(ctx context.Context, m ports.Message, v inbox.Verdict) (inbox.Answer, error) {
	name, args, _ := ports.ParseCommand(m.Text)
	if v.Welcome {
		name = "start" // whatever it said, it let them in
	}
	switch name {
	case "start":
		return said(textStart(v.Role)), nil
	case "help":
		return said(g.help()), nil
	}
	answer := map[string]func(context.Context, request) (inbox.Answer, error){
		"tools": g.toolList, "model": g.model, "busy": g.busy, "status": g.status, "usage": g.usage,
	}[name]
	if answer == nil || name == "usage" && g.opt.Usage == nil {
		return nil, nil
	}
	a, err := g.agentOf(m.In)
	if err != nil {
		return nil, err
	}
	return answer(ctx, request{Message: m, Verdict: v, agent: a, args: strings.TrimSpace(args)})
}

// request is a command with who gave it, and the agent of the conversation.
type request struct {
	ports.Message
	inbox.Verdict
	agent Agent
	args  string
}

// mayChange reports whether its person may change how the conversation goes: their
// own, or as an admin one that others share.
func (r request) mayChange() bool { return r.Private || r.Role == ports.RoleAdmin }

const textAdminsOnly = "In a group only an admin can change that, for everybody here is concerned."

// said is an answer that needs nothing of what the commit sees.
func said(text string) inbox.Answer { return func(ports.Sight) string { return text } }

func textStart(role ports.Role) string {
	const how = "Write to me as you would to a person. I can use tools to help you: /tools lists them, /stop stops what I am doing, /help lists what else you can type."
	if role == ports.RoleAdmin {
		return "Hello! You are this bot's admin.\n\n" + how + " To let others in, use `dragoman pair list` and `dragoman pair approve CODE` on the machine I run on."
	}
	return "Hello! " + how
}

// commandLines are the commands that people can type, each with what it does.
func (g *Gateway) commandLines() []string {
	list := []string{
		"/stop stops what I am doing",
		"/new begins a new conversation: I no longer look at what was said before",
		"/forget, as a reply to a message of yours, has me forget what it says",
		"/compact makes a summary of what was said so far",
		"/status says what I am at, and how this conversation is set",
		"/tools lists the tools I can use here",
		"/model shows the models I can ask, `/model NAME` chooses one",
		"/busy says what becomes of messages while I work, `/busy MODE` changes it",
	}
	if g.opt.Usage != nil {
		list = append(list, "/usage says what was used here, and what is left")
	}
	return append(list, "/start greets you", "/help shows this")
}

// help is the answer to /help: the commands that there are.
func (g *Gateway) help() string {
	return "Write to me as you would to a person.\n\n- " + strings.Join(g.commandLines(), "\n- ")
}

// menu is the same for a platform's own list of commands.
func (g *Gateway) menu() (list []ports.Command) {
	for _, line := range g.commandLines() {
		name, says, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
		says = strings.ReplaceAll(says, "`", "")
		c := ports.Command{Name: strings.Trim(name, ","), Says: strings.ToUpper(says[:1]) + says[1:]}
		if _, takes, ok := strings.Cut(says, "/"+c.Name+" "); ok {
			takes, _, _ = strings.Cut(takes, " ")
			c.Takes = strings.ToLower(takes)
		}
		if c.Name == "start" {
			c.Takes = "code" // of who is let in by it; nobody else has one
		}
		list = append(list, c)
	}
	return list
}

// toolList is the answer to /tools: what the conversation's agent may use.
func (g *Gateway) toolList(_ context.Context, r request) (inbox.Answer, error) {
	var b strings.Builder
	for _, t := range g.views[r.agent.Name].Tools() {
		if t.Policy == ports.PolicyDeny {
			continue
		}
		line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
		fmt.Fprintf(&b, "- `%s`: %s", t.Name, line)
		switch {
		case t.State != "ready":
			b.WriteString(" (not connected now)")
		case t.Policy == ports.PolicyAsk:
			b.WriteString(" (asks first)")
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return said("I have no tools."), nil
	}
	return said("I can use these tools:\n\n" + b.String()), nil
}

// byDefault is what gives a setting back to the agent.
const byDefault = "default"

// model is the answer to /model: which models there are, or another one first.
func (g *Gateway) model(ctx context.Context, r request) (inbox.Answer, error) {
	names := modelsOf(r.agent)
	if r.args == "" {
		chosen, err := g.chosen(ctx, r.In)
		return said(modelList(r.agent, chosen.Model)), err
	}
	want := r.args
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, want) })
	if exact := slices.Index(names, want); exact >= 0 {
		i = exact
	}
	switch {
	case !r.mayChange():
		return said(textAdminsOnly), nil
	case i >= 0:
		want = names[i]
	case strings.EqualFold(want, byDefault):
		want = ""
	default:
		return said("I have no model of that name here. " + oneOf(names)), nil
	}
	if err := g.settings.change(ctx, r.In, r.Event, func(s *ports.Settings) { s.Model = want }); err != nil {
		return nil, err
	}
	if want == "" {
		return said(fmt.Sprintf("Back to the usual order: in this conversation I ask `%s` first.", usualModel(r.agent))), nil
	}
	return said(fmt.Sprintf("From now on I ask `%s` first in this conversation. `/model default` goes back.", want)), nil
}

func modelList(a Agent, chosen string) string {
	names := modelsOf(a)
	var b strings.Builder
	b.WriteString("I ask these models here, each if those before it fail:\n\n")
	order := names
	if chosen != "" {
		order = append([]string{chosen}, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == chosen })...)
	}
	for i, name := range order {
		fmt.Fprintf(&b, "%d. `%s`", i+1, name)
		if name == chosen {
			b.WriteString(", chosen for this conversation")
		}
		b.WriteString(a.trouble(name) + "\n")
	}
	b.WriteString("\n`/model NAME` puts one first in this conversation, `/model default` goes back to the usual order.")
	return b.String()
}

// usualModel is the model that an agent asks first by itself.
func usualModel(a Agent) string {
	if len(a.Models) == 0 {
		return "none"
	}
	return a.Models[0].Name
}

// trouble is what is wrong with a model of the agent now, "" if nothing is known.
func (a Agent) trouble(model string) string {
	for _, m := range a.Models {
		if m.Name == model && m.Health.Failing() {
			return " (it keeps failing, and is left alone for now)"
		}
	}
	return ""
}

type busyMode struct {
	mode ports.Busy
	does string
}

// busyModes are the modes in the order that people read them in, in their words.
var busyModes = []busyMode{
	{ports.BusyQueue, "what you write while I work waits for its turn"},
	{ports.BusySteer, "what you write while I work joins it, at my next step"},
	{ports.BusyInterrupt, "what you write while I work ends that, and I begin anew"},
	{ports.BusyCollect, "what you write waits for its turn, and that begins when you were silent for a second"},
}

// busy is the answer to /busy: what becomes of messages while a turn runs.
func (g *Gateway) busy(ctx context.Context, r request) (inbox.Answer, error) {
	if r.args == "" {
		chosen, err := g.chosen(ctx, r.In)
		var b strings.Builder
		fmt.Fprintf(&b, "The mode here is %s.\n\n", busyHere(r.agent, chosen))
		for _, m := range busyModes {
			fmt.Fprintf(&b, "- `%s`: %s\n", m.mode, m.does)
		}
		b.WriteString("\n`/busy MODE` changes it for this conversation, `/busy default` goes back.")
		return said(b.String()), err
	}
	want := ports.Busy(strings.ToLower(r.args))
	var words []string
	for _, m := range busyModes {
		words = append(words, string(m.mode))
	}
	switch {
	case !r.mayChange():
		return said(textAdminsOnly), nil
	case want == byDefault:
		want = ""
	case !slices.Contains(words, string(want)):
		return said("I know no such mode. " + oneOf(words)), nil
	}
	if err := g.settings.change(ctx, r.In, r.Event, func(s *ports.Settings) { s.Busy = want }); err != nil {
		return nil, err
	}
	now := cmp.Or(want, r.agent.Busy, ports.BusyQueue)
	i := slices.IndexFunc(busyModes, func(m busyMode) bool { return m.mode == now })
	return said(fmt.Sprintf("The mode of this conversation is `%s` from now on: %s.", now, busyModes[i].does)), nil
}

// busyHere is the mode of a conversation, and whose word it is.
func busyHere(a Agent, chosen ports.Settings) string {
	if chosen.Busy != "" {
		return fmt.Sprintf("`%s`, chosen for this conversation", chosen.Busy)
	}
	return fmt.Sprintf("`%s`, as usual", cmp.Or(a.Busy, ports.BusyQueue))
}

func oneOf(words []string) string { return "There are: `" + strings.Join(words, "`, `") + "`." }
