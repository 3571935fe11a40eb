package gateway_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/ask"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// otherTool is a tool with another schema.
type otherTool struct {
	ports.ToolPort
	spec func(*ports.ToolSpec)
	call func(ports.ToolCall)
}

func (o otherTool) Spec() ports.ToolSpec {
	s := o.ToolPort.Spec()
	if o.spec != nil {
		o.spec(&s)
	}
	return s
}

func (o otherTool) Call(ctx context.Context, c ports.ToolCall, h ports.Host) (ports.ToolResult, error) {
	if o.call != nil {
		o.call(c)
	}
	return o.ToolPort.Call(ctx, c, h)
}

// source is a tool source with what a test makes of its tools.
type source struct {
	*tools
	change func([]ports.ToolPort) []ports.ToolPort // nil: they never come
}

func (s source) Run(ctx context.Context, reg ports.Registrar) error {
	return s.tools.Run(ctx, changedRegistrar{reg, s})
}

type changedRegistrar struct {
	ports.Registrar
	s source
}

func (r changedRegistrar) Register(c ports.Catalog) {
	if r.s.change != nil {
		r.Registrar.Register(ports.Catalog{Tools: r.s.change(c.Tools)})
	}
}

func (r changedRegistrar) State(s ports.State) {
	if r.s.change != nil {
		r.Registrar.State(s)
	}
}

func each(f func(ports.ToolPort) ports.ToolPort) func([]ports.ToolPort) []ports.ToolPort {
	return func(list []ports.ToolPort) []ports.ToolPort {
		for i := range list {
			list[i] = f(list[i])
		}
		return list
	}
}

func policy(p ports.Policy) func(*world, *gateway.Options) {
	return func(_ *world, o *gateway.Options) {
		o.Tools.Policy = map[string]ports.Policy{"srv__ask_*": p}
	}
}

// What the admin, or the server, changes while a turn waits counts when it goes on.
func TestAYesIsWeighedAgainstWhatHoldsNow(t *testing.T) {
	t.Parallel()
	from := func(change func([]ports.ToolPort) []ports.ToolPort) func(*world, *gateway.Options) {
		return func(w *world, o *gateway.Options) { o.Sources[0].Port = source{w.tools, change} }
	}
	for name, c := range map[string]struct {
		change func(*world, *gateway.Options)
		want   string
		runs   int
	}{
		"nothing changed":   {func(*world, *gateway.Options) {}, "result of ask_a", 1},
		"it is denied now":  {policy(ports.PolicyDeny), "The admin does not allow this tool.", 0},
		"it is allowed now": {policy(ports.PolicyAllow), "result of ask_a", 1},
		"the tool is gone": {from(func(list []ports.ToolPort) []ports.ToolPort {
			return slices.DeleteFunc(list, func(p ports.ToolPort) bool { return p.Spec().Name == "ask_a" })
		}), `There is no tool named "srv__ask_a".`, 0},
		"the server is gone":        {func(_ *world, o *gateway.Options) { o.Sources = nil }, `There is no tool named "srv__ask_a".`, 0},
		"the server does not start": {from(nil), `The server "srv" is not connected.`, 0},
		"its arguments are others now": {from(each(func(p ports.ToolPort) ports.ToolPort {
			return otherTool{ToolPort: p, spec: func(s *ports.ToolSpec) {
				s.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}`)
			}}
		})), "The arguments do not fit the tool's schema", 0},
		"it needs more arguments now": {from(each(func(p ports.ToolPort) ports.ToolPort {
			return otherTool{ToolPort: p, spec: func(s *ports.ToolSpec) {
				s.InputSchema = json.RawMessage(`{"type":"object","required":["n","m"]}`)
			}}
		})), "The arguments do not fit the tool's schema", 0},
		"the server's filter drops it":   {func(_ *world, o *gateway.Options) { o.Sources[0].Tools.Deny = []string{"ask_a"} }, "The admin does not allow this tool.", 0},
		"the agent's filter drops it":    {func(_ *world, o *gateway.Options) { o.Agents[0].Tools.Deny = []string{"srv__ask_*"} }, `There is no tool named "srv__ask_a".`, 0},
		"the agent may not use it":       {func(_ *world, o *gateway.Options) { o.Agents[0].Tools.Allow = []string{"srv__read_*"} }, `There is no tool named "srv__ask_a".`, 0},
		"the agent has no such server":   {func(_ *world, o *gateway.Options) { o.Agents[0].Servers = []string{"other"} }, `There is no tool named "srv__ask_a".`, 0},
		"the server is called otherwise": {func(_ *world, o *gateway.Options) { o.Sources[0].Name = "other" }, `There is no tool named "srv__ask_a".`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.opt.Ask.Expires = 100 * time.Hour
				w.model.reply = calls("srv__ask_a")
				parked(t, w)
				time.Sleep(72 * time.Hour)
				l := w.live(func(o *gateway.Options) { stale(o); c.change(w, o) })
				w.chat.press(t, "ann", 0, ports.AnswerYes)
				time.Sleep(minute)
				if got := last(t, w, 2); !strings.HasPrefix(got, c.want) {
					t.Errorf("the model was told %q, want %q", got, c.want)
				}
				if n := w.tools.ran("ask_a"); n != c.runs {
					t.Errorf("the tool ran %d times, want %d", n, c.runs)
				}
				if !w.over() {
					t.Errorf("there is something left to do\n%s", w.rows())
				}
				l.end(0)
			})
		})
	}
}

// The person said yes to what they were shown: a model that would say something
// else by now is not asked.
func TestAYesIsForTheCallThatWasShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		asks := func(args string) func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
			return func(_ context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
				if hasTool(r) {
					return says("done")
				}
				return ports.ModelReply{Model: "m", Stop: ports.StopCalls, Calls: []ports.Call{{ID: "c", Name: "srv__ask_a", Arguments: json.RawMessage(args)}}}, nil
			}
		}
		w.model.reply = asks(`{"n":7}`)
		parked(t, w)
		if q := w.chat.post(0).out.Content.Text; !strings.Contains(q, `"n": 7`) {
			t.Errorf("the question is %q", q)
		}
		w.model.becomes(asks(`{"n":8}`))
		var got []string
		l := w.live(func(o *gateway.Options) {
			stale(o)
			o.Sources[0].Port = source{w.tools, each(func(p ports.ToolPort) ports.ToolPort {
				return otherTool{ToolPort: p, call: func(c ports.ToolCall) { got = append(got, c.Name+" "+string(c.Arguments)+" for "+string(c.Person)) }}
			})}
		})
		w.chat.press(t, "ann", 0, ports.AnswerYes)
		time.Sleep(minute)
		l.end(0)
		if len(got) != 1 || !strings.HasPrefix(got[0], `ask_a {"n":7} for `) {
			t.Errorf("what ran is %q", got)
		}
		last(t, w, 2)
	})
}

// What the person does about a question counts in the next life as in the same one.
func TestAQuestionIsAnsweredAfterARestart(t *testing.T) {
	t.Parallel()
	const superseded = "Not run: the person did not answer the question whether it may run."
	for name, c := range map[string]struct {
		wait bool
		say  []string
		want []string // in the chat, behind the prompt
		runs int
	}{
		"typed yes":              {false, []string{"Yes, run it"}, []string{"result of ask_a"}, 1},
		"typed no":               {false, []string{"no."}, []string{"Not run: the person said no."}, 0},
		"another message":        {false, []string{"never mind"}, []string{superseded + "\nuser: never mind"}, 0},
		"a stop":                 {false, []string{"/stop"}, []string{"Stopped."}, 0},
		"another message waits":  {true, []string{"and then?", "yes"}, []string{"result of ask_a", "you said: and then?"}, 1},
		"a stop, and it waits":   {true, []string{"and then?", "/stop"}, []string{"Stopped."}, 0},
		"it waits and is denied": {true, []string{"and then?", "no"}, []string{"Not run: the person said no.", "you said: and then?"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if c.wait {
					w.opt.Ask.OnMessage = ask.Wait
				}
				w.opt.Ask.Expires = 100 * time.Hour
				parks := calls("srv__ask_a")
				w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
					if r.Entries[len(r.Entries)-1].Text == "and then?" {
						return echo(ctx, r)
					}
					return parks(ctx, r)
				}
				parked(t, w)
				for i, text := range c.say { // each in a life of its own
					time.Sleep(10 * time.Minute)
					l := w.live(stale)
					time.Sleep(time.Second)
					w.chat.say(t, "ann", text)
					time.Sleep(minute)
					if i < len(c.say)-1 {
						holdsNothing(t, w, 1)
					}
					l.end(0)
				}
				if got := w.chat.texts()[1:]; !slices.Equal(got, c.want) {
					t.Errorf("the chat shows %q, want %q", got, c.want)
				}
				if n := w.tools.ran("ask_a"); n != c.runs {
					t.Errorf("the tool ran %d times, want %d", n, c.runs)
				}
			})
		})
	}
}

// In a group another person's message waits for the question, for group_wait,
// whoever runs meanwhile.
func TestAQuestionInAGroupIsNotWaitedForLongAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opt.Ask.Expires, w.opt.Ask.GroupWait = 100*time.Hour, 2*time.Minute
		parks := calls("srv__ask_a")
		w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
			if strings.Contains(r.Entries[len(r.Entries)-1].Text, "me too") {
				return says("bob's")
			}
			return parks(ctx, r)
		}
		say := func(from, text string) {
			w.chat.receive(t, ports.Message{From: from, Name: from, Text: text, In: ports.Conversation{Chat: "group"}})
		}
		l := w.live(stale)
		say("ann", "go")
		time.Sleep(time.Second)
		l.end(0)
		time.Sleep(48 * time.Hour)
		l = w.live(stale)
		say("bob", "me too")
		time.Sleep(time.Second)
		last(t, w, 1)
		l.end(0)
		time.Sleep(3 * time.Minute)
		l = w.live(stale)
		time.Sleep(minute)
		if got := w.chat.texts()[1:]; !slices.Equal(got, []string{"Not run: the person did not answer the question whether it may run.", "bob's"}) {
			t.Errorf("the chat shows %q", got)
		}
		l.end(0)
	})
}
