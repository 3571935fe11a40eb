package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/ports"
)

// played is a model that does one thing after another, the last of them for ever.
type played struct {
	name  string
	facts ports.ModelFacts

	mu   sync.Mutex
	acts []act
	at   []time.Time // when it was asked
	seen []ports.ModelRequest
}

// act is what a model does when it is asked: it says the text and then fails, or
// answers with it.
type act struct {
	text string
	err  error
	used ports.Tokens
	call string           // a tool that it wants instead
	stop ports.StopReason // "" = by what it says
}

func (p *played) Facts() ports.ModelFacts { return p.facts }

func (p *played) Generate(_ context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	p.mu.Lock()
	a := p.acts[0]
	if len(p.acts) > 1 {
		p.acts = p.acts[1:]
	}
	p.at, p.seen = append(p.at, time.Now()), append(p.seen, r)
	p.mu.Unlock()
	if a.text != "" && onText != nil {
		onText(a.text)
	}
	if a.err != nil {
		return ports.ModelReply{}, a.err
	}
	reply := ports.ModelReply{Text: a.text, Model: p.name, Stop: ports.StopEnd, Usage: a.used}
	if a.stop != "" {
		reply.Stop = a.stop
	}
	if a.call != "" && !r.NoCalls {
		reply.Calls, reply.Stop = []ports.Call{{ID: "c", Name: a.call, Arguments: []byte(`{"n":1}`)}}, ports.StopCalls
	}
	return reply, nil
}

// asked is how often, and when since the first time.
func (p *played) asked() (list []time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.at {
		list = append(list, at.Sub(p.at[0]))
	}
	return list
}

func (p *played) last() ports.ModelRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[len(p.seen)-1]
}

func fails(kind ports.Kind) act { return act{err: ports.Errorf(kind, "model", "the provider's words")} }

// withModels is a world whose agent has these models, in order.
func withModels(t *testing.T, list ...*played) *world {
	w := newWorld(t)
	w.agent = func(c *agent.Config) {
		c.Models = nil
		for _, p := range list {
			c.Models = append(c.Models, agent.Model{Name: p.name, Port: p, ContextTokens: 32000, Facts: p.facts})
		}
	}
	return w
}

func TestWhatIsTriedAgainAndWhatIsAskedElsewhere(t *testing.T) {
	t.Parallel()
	const sorry = "Reference: "
	for _, c := range []struct {
		name          string
		first, second []act
		answer        string
		asked         [2]int
	}{
		{"a passing fault is tried again", []act{fails(ports.KindTemporary), fails(ports.KindProtocol), {text: "hi"}}, []act{{text: "other"}}, "hi", [2]int{3, 0}},
		{"three faults, and the next model is asked", []act{fails(ports.KindTemporary)}, []act{{text: "other"}}, "other\n\n*(Answered by second", [2]int{3, 1}},
		{"a key that is refused is not tried again", []act{fails(ports.KindUnauthorized)}, []act{{text: "other"}}, "other\n\n*(Answered by second", [2]int{1, 1}},
		{"a model that is not there is not tried again", []act{fails(ports.KindNotFound)}, []act{{text: "other"}}, "other\n\n*(Answered by second", [2]int{1, 1}},
		{"a filter's no is not tried elsewhere", []act{fails(ports.KindRefused)}, []act{{text: "other"}}, "The language model's provider declined", [2]int{1, 0}},
		{"what was begun before the person's eyes is begun anew", []act{{text: "half an ans", err: ports.Errorf(ports.KindProtocol, "model", "cut")}, {text: "an answer"}}, []act{{text: "other"}}, "an answer", [2]int{2, 0}},
		{"and never by another model", []act{{text: "half an ans", err: ports.Errorf(ports.KindProtocol, "model", "cut")}}, []act{{text: "other"}}, "The language model's answer broke off", [2]int{3, 0}},
		{"an empty reply is none", []act{{}}, []act{{text: "other"}}, "other\n\n*(Answered by second", [2]int{3, 1}},
		{"a reply that was all thought is not tried again", []act{{stop: ports.StopLength}}, []act{{text: "other"}}, "other\n\n*(Answered by second", [2]int{1, 1}},
		{"nor is it by the last model", []act{fails(ports.KindUnauthorized)}, []act{{stop: ports.StopLength}}, "The language model thought about this for so long", [2]int{1, 1}},
		{"all fail, and the person reads plain words", []act{fails(ports.KindTemporary)}, []act{fails(ports.KindRateLimited)}, "The language model is overloaded", [2]int{3, 3}},
		{"a long wait is not waited", []act{{err: &ports.Error{Kind: ports.KindRateLimited, Op: "model", RetryAfter: time.Minute}}}, []act{{text: "other"}}, "other\n\n*(Answered by second", [2]int{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &played{name: "first", acts: c.first}, &played{name: "second", acts: c.second}
				w := withModels(t, first, second)
				w.start()
				w.chat.say(t, "ann", "hello")
				w.within(2*time.Minute, "ann", c.answer)
				got := [2]int{len(first.asked()), len(second.asked())}
				if got != c.asked {
					t.Errorf("the models were asked %v times, want %v", got, c.asked)
				}
				if text := w.chat.texts()[0]; strings.Contains(text, "provider's words") || strings.Contains(c.answer, "language model") != strings.Contains(text, sorry) {
					t.Errorf("the person reads %q", text)
				}
			})
		})
	}
}

func TestAWaitThatTheProviderNamesIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &played{name: "m", acts: []act{{err: &ports.Error{Kind: ports.KindRateLimited, Op: "model", RetryAfter: 20 * time.Second}}, {text: "hi"}}}
		w := withModels(t, m)
		w.start()
		w.chat.say(t, "ann", "one")
		time.Sleep(5 * time.Second)
		w.chat.say(t, "bob", "two") // another conversation keeps it as well
		w.within(time.Minute, "ann", "hi")
		w.within(time.Second, "bob", "hi")
		for i, at := range m.asked() {
			if i > 0 && at < 20*time.Second {
				t.Errorf("it was asked again after %s", at)
			}
		}
	})
}

func TestAModelThatFailsInARowIsLeftAloneByAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := &played{name: "first", acts: []act{fails(ports.KindTemporary)}}, &played{name: "second", acts: []act{{text: "other"}}}
		w := withModels(t, first, second)
		w.start()
		for i := range 6 {
			w.chat.say(t, fmt.Sprint("p", i), "hello")
			w.within(time.Minute, fmt.Sprint("p", i), "other")
		}
		if n := len(first.asked()); n != 5 {
			t.Errorf("the failing model was asked %d times, want 5", n)
		}
		first.mu.Lock()
		first.acts = []act{{text: "back"}}
		first.mu.Unlock()
		time.Sleep(31 * time.Second)
		w.chat.say(t, "late", "hello")
		w.within(time.Second, "late", "back")
	})
}

func TestAWaitThatIsNamedBesideAnotherFaultHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &played{name: "m", acts: []act{{err: &ports.Error{Kind: ports.KindInvalid, Op: "model", RetryAfter: 20 * time.Hour}}, {text: "hi"}}}
		w := withModels(t, m)
		w.start()
		w.chat.say(t, "ann", "one")
		time.Sleep(time.Second)
		w.chat.say(t, "bob", "two")
		w.within(time.Second, "bob", "hi")
		w.end()
	})
}

// What asks for a day is asked again after minutes: it may be mended, or be wrong.
func TestNoModelRestsForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &played{name: "m", acts: []act{{err: &ports.Error{Kind: ports.KindTemporary, Op: "model", RetryAfter: 24 * time.Hour}}, {text: "hi"}}}
		w := withModels(t, m)
		w.start()
		w.chat.say(t, "ann", "one")
		time.Sleep(9 * time.Minute)
		w.chat.say(t, "bob", "two")
		time.Sleep(time.Second)
		if n := len(m.asked()); n != 1 {
			t.Errorf("it was asked %d times before it rested", n)
		}
		time.Sleep(time.Minute)
		w.chat.say(t, "cyd", "three")
		w.within(time.Second, "cyd", "hi")
	})
}

// Anyone can have a model say nothing.
func TestEmptyRepliesTakeAModelFromNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &played{name: "m", acts: []act{{}, {}, {}, {}, {}, {}, {text: "fine"}}}
		w := withModels(t, p)
		w.start()
		for range 2 {
			w.chat.say(t, "ann", "Say nothing at all.")
			time.Sleep(15 * time.Second)
		}
		w.chat.say(t, "bob", "hello")
		w.within(time.Second, "bob", "fine")
		w.end()
	})
}

func TestWhatAPersonStopsIsNoFailureOfTheModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = func(ctx context.Context, _ ports.ModelRequest) (ports.ModelReply, error) {
			<-ctx.Done()
			return ports.ModelReply{}, ctx.Err()
		}
		w.start()
		for range 8 {
			w.chat.say(t, "ann", "hello")
			time.Sleep(time.Second)
			w.chat.say(t, "ann", "/stop")
			time.Sleep(time.Second)
		}
		w.model.becomes(echo)
		w.chat.say(t, "bob", "hello")
		w.within(time.Second, "bob", "you said: hello")
	})
}

func TestAToolThatTheProviderRefusesIsLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refuses := func(name string) act {
			return act{err: &ports.Error{Kind: ports.KindInvalid, Op: "model", Err: &ports.RefusedTool{Name: name, Err: errors.New("bad schema")}}}
		}
		m := &played{name: "m", acts: []act{refuses("srv__read_a"), refuses("srv__slow"), {text: "hi"}}}
		var told []string
		w := withModels(t, m)
		models := w.agent
		w.agent = func(c *agent.Config) {
			models(c)
			c.Tell = func(_ context.Context, key, _ string) { told = append(told, key) }
		}
		w.start()
		synctest.Wait() // until the tools are there: a refused one is to be among them
		w.chat.say(t, "ann", "hello")
		w.within(time.Second, "ann", "hi")
		w.chat.say(t, "ann", "again")
		w.within(time.Second, "ann", "hi", "hi")
		if n := len(m.asked()); n != 4 {
			t.Errorf("it was asked %d times, want 4: the refused tools are known by then", n)
		}
		for _, s := range m.last().Tools {
			if s.Name == "srv__read_a" || s.Name == "srv__slow" {
				t.Errorf("%s is in the request", s.Name)
			}
		}
		if len(m.last().Tools) < 5 {
			t.Errorf("the other tools are gone: %d are left", len(m.last().Tools))
		}
		if want := []string{"tool_quarantined/m/srv__read_a", "tool_quarantined/m/srv__slow"}; !slices.Equal(told, want) {
			t.Errorf("the admins were told %q, want %q", told, want)
		}
	})
}

func TestAFallbackIsSaidOnceInARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := &played{name: "first", acts: []act{fails(ports.KindUnauthorized)}}, &played{name: "second", acts: []act{{text: "other"}}}
		w := withModels(t, first, second)
		w.start()
		for range 2 {
			w.chat.say(t, "ann", "hello")
			time.Sleep(time.Second)
		}
		texts := w.inChat("ann")
		if len(texts) != 2 || !strings.Contains(texts[0], "Answered by second") || texts[1] != "other" {
			t.Errorf("the chat shows %q", texts)
		}
	})
}

func TestTheModelThatAConversationChoseIsAskedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := &played{name: "first", acts: []act{{text: "one"}}}, &played{name: "second", acts: []act{{text: "two"}}}
		w := withModels(t, first, second)
		models := w.agent
		w.agent = func(c *agent.Config) {
			models(c)
			c.Settings = func(_ context.Context, in ports.Conversation) (ports.Settings, error) {
				return map[string]ports.Settings{"ann": {Model: "second"}, "eve": {Model: "no longer there"}}[in.Chat], nil
			}
		}
		w.start()
		for who, want := range map[string]string{"ann": "two", "bob": "one", "eve": "one"} {
			w.chat.say(t, who, "hello")
			w.within(time.Second, who, want)
			if text := w.inChat(who)[0]; text != want {
				t.Errorf("%s reads %q, want %q", who, text, want)
			}
		}
	})
}

func TestAToolThatFailsEndsTheTurnWhereTheAdminWantsThat(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{"srv__fails": "I stopped because a tool that I needed failed: srv__fails.", "srv__never": "done", "srv__read_a": "done"} {
		t.Run(tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &played{name: "m", acts: []act{{text: "Let me see.", call: tool}, {text: "done"}}}
				w := withModels(t, m)
				models := w.agent
				w.agent = func(c *agent.Config) {
					models(c)
					c.OnToolFailure = agent.StopTurn
				}
				w.start()
				w.chat.say(t, "ann", "hello")
				w.within(time.Minute, "ann", want)
				w.comesToRest()
				w.sound(1)
			})
		})
	}
}
