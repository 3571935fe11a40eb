package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/access"
	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// priced is a model that costs something. It wants a tool in each reply as long as
// it may, and says how much it was told and has said.
type priced struct {
	price ports.Price

	mu    sync.Mutex
	spent ports.Money
	final int // requests for an answer without tools
	asked int
}

func (p *priced) Facts() ports.ModelFacts { return ports.ModelFacts{Price: &p.price, MaxTokens: 400} }

func (p *priced) Generate(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	select {
	case <-time.After(300 * time.Millisecond): // long enough to be beside others
	case <-ctx.Done():
		return ports.ModelReply{}, ctx.Err()
	}
	prompt, err := json.Marshal(r)
	if err != nil {
		return ports.ModelReply{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	used := ports.Tokens{Input: len(prompt) / 4, Output: min(50+p.asked*97%350, r.MaxTokens)}
	p.spent += p.price.Cost(used)
	if onText != nil {
		onText("Let me see.")
	}
	reply := ports.ModelReply{Text: "Let me see.", Model: "priced", Usage: used, Stop: ports.StopEnd}
	if r.NoCalls {
		p.final++
		return reply, nil
	}
	reply.Stop = ports.StopCalls
	reply.Calls = []ports.Call{{ID: fmt.Sprint("c", p.asked), Name: "srv__read_a", Arguments: []byte(`{"n":1}`)}}
	return reply, nil
}

// A cap on a person holds whatever they do: in each busy mode, with many turns
// side by side, and with two agents. It is not passed by a cent, and the last
// request before it is an answer.
func TestACapOnAPersonIsNotPassed(t *testing.T) {
	t.Parallel()
	for _, mode := range []ports.Busy{ports.BusyQueue, ports.BusySteer, ports.BusyInterrupt, ports.BusyCollect} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { spendAll(t, mode) })
		})
	}
}

// spendAll is the test in a bubble: its waits take no time.
func spendAll(t *testing.T, mode ports.Busy) {
	limit := ports.Dollars(0.05)
	m := &priced{price: ports.Price{Input: 0.5, CachedInput: 0.5, CacheWrite: 0.5, Output: 5}}
	other := newChat()
	w := newWorld(t)
	w.opt.Access = access.Config{
		Channels: map[string]access.Rules{"chat": {Mode: access.Open, Groups: access.GroupAll}, "other": {Mode: access.Open, Groups: access.GroupAll}},
		People:   map[string]access.Listed{"ann": {Identities: []string{"chat:ann", "other:ann"}}},
	}
	w.last = func(opt *gateway.Options) {
		opt.Caps, opt.Usage = gateway.Caps{Person: limit}, w.store
		first := opt.Agents[0]
		first.Busy = mode
		first.Models = []agent.Model{{Name: "priced", Port: m, ContextTokens: 32000, Facts: m.Facts()}}
		second := first
		second.Name = "second"
		opt.Agents = []gateway.Agent{first, second}
		opt.Channels = append(opt.Channels, gateway.Channel{Name: "other", Port: other, Agent: "second", SendsInFlight: 8})
	}
	w.start()
	other.await(t)
	say := func(n int) {
		for i := range 4 {
			for _, c := range []*chat{w.chat, other} {
				c.receive(t, ports.Message{From: "ann", Name: "ann", Text: fmt.Sprint("do ", n), In: ports.Conversation{Chat: fmt.Sprint("room", i)}})
			}
		}
	}
	for n := range 6 {
		say(n)
		<-time.After(2 * time.Second)
	}
	<-time.After(10 * time.Minute) // all turns are over
	w.comesToRest()
	if m.spent > limit {
		t.Errorf("%s were spent of %s", m.spent, limit)
	}
	if m.spent < limit*7/10 {
		t.Errorf("only %s were spent of %s: it stops too early", m.spent, limit)
	}
	if m.final == 0 && mode != ports.BusyInterrupt { // who interrupts may end the last answer too
		t.Error("there was no final answer")
	}
	texts := strings.Join(append(w.chat.texts(), other.texts()...), "\n")
	if !strings.Contains(texts, "The budget for today is used up.") {
		t.Errorf("nobody was told: %q", texts)
	}
	used, err := w.store.Used(t.Context(), ports.UsageQuery{Person: "ann"})
	if err != nil || len(used) != 1 || used[0].Cost < m.spent || used[0].Cost > limit {
		t.Errorf("booked are %+v (%v), spent were %s", used, err, m.spent)
	}

	asked := m.asked
	w.end()
	other.up = make(chan struct{}, 1)
	w.start()
	other.await(t)
	say(9)
	<-time.After(time.Minute)
	if m.asked != asked {
		t.Errorf("after a restart it was asked %d times more", m.asked-asked)
	}
}

func TestWithACapAModelWithoutAPriceIsNotAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free, known := &played{name: "free", acts: []act{{text: "free"}}}, &played{name: "known", acts: []act{{text: "known"}}, facts: ports.ModelFacts{Price: &ports.Price{}}}
		for _, c := range []struct {
			models []*played
			want   string
		}{
			{[]*played{free, known}, "known"},
			{[]*played{free}, "the price of the language model is not known"},
		} {
			w := withModels(t, c.models...)
			w.last = func(opt *gateway.Options) {
				opt.Caps, opt.Usage = gateway.Caps{Total: ports.Dollars(1)}, w.store
			}
			w.start()
			w.chat.say(t, "ann", "hello")
			w.within(time.Minute, "ann", c.want)
			w.end()
		}
		if len(free.at) != 0 {
			t.Error("the model without a price was asked")
		}
	})
}

// A reply that could be so long that the whole day's budget is not enough for it is
// asked for as a shorter one.
func TestALongestReplyBeyondTheBudgetIsAskedForShorter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &played{name: "m", acts: []act{{text: "hi", used: ports.Tokens{Input: 2000, Output: 30}}},
			facts: ports.ModelFacts{MaxTokens: 8192, Price: &ports.Price{Input: 5, CachedInput: 5, CacheWrite: 5, Output: 75}}}
		w := withModels(t, m)
		w.last = func(opt *gateway.Options) { opt.Caps, opt.Usage = gateway.Caps{Person: ports.Dollars(0.2)}, w.store }
		w.start()
		w.chat.say(t, "ann", "hello")
		w.within(time.Minute, "ann", "hi")
		if n := m.last().MaxTokens; n != 1024 {
			t.Errorf("a reply of %d tokens was asked for", n)
		}
		for range 20 {
			w.chat.say(t, "ann", "hello")
			time.Sleep(time.Second)
		}
		if n := m.last().MaxTokens; n >= 1024 || n < 128 {
			t.Errorf("the last reply that there was money for could have %d tokens", n)
		}
		if texts := w.inChat("ann"); !strings.Contains(texts[len(texts)-1], "The budget for today is used up.") {
			t.Errorf("the chat shows %q", texts)
		}
	})
}

// What a model thought before it was stopped was heard by nobody, and is paid for.
func TestARequestThatIsStoppedIsBookedByItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agent = func(c *agent.Config) {
			c.Models[0].Facts = ports.ModelFacts{MaxTokens: 5000, Price: &ports.Price{Output: 10}}
		}
		w.model.reply = func(ctx context.Context, _ ports.ModelRequest) (ports.ModelReply, error) {
			<-ctx.Done()
			return ports.ModelReply{}, ctx.Err()
		}
		w.start()
		for after, want := range map[time.Duration]int{20 * time.Second: 2000, 50 * time.Second: 5000} {
			w.chat.say(t, "ann", "think hard")
			time.Sleep(after)
			w.chat.say(t, "ann", "/stop")
			time.Sleep(time.Second)
			got := w.count(`SELECT output FROM usage ORDER BY id DESC LIMIT 1`)
			if got != want {
				t.Errorf("after %s %d tokens are booked, want %d", after, got, want)
			}
		}
	})
}
