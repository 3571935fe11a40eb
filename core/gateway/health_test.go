package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/ports"
)

// A provider that finds fault with one tool after another is not asked a hundred
// times before the person has an answer, nor are the admins told a hundred times.
func TestAProviderThatRefusesEveryToolHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		asked := 0
		w.model.reply = func(_ context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
			asked++
			if len(r.Tools) > 0 {
				return ports.ModelReply{}, &ports.Error{Kind: ports.KindInvalid, Op: "model", Err: &ports.RefusedTool{Name: r.Tools[0].Name, Err: errors.New("bad schema")}}
			}
			return says("hi")
		}
		told := map[string]int{}
		w.agent = func(c *agent.Config) {
			c.Tell = func(_ context.Context, key, _ string) { told[key[:strings.Index(key, "/")]]++ }
		}
		w.start()
		synctest.Wait() // until the tools are there
		for i, most := range []int{9, 18, 18} {
			w.chat.say(t, "ann", "hello")
			time.Sleep(time.Second)
			if n := len(w.inChat("ann")); n != i+1 || asked > most {
				t.Fatalf("there are %d answers after %d requests, want %d and at most %d", n, asked, i+1, most)
			}
		}
		if told["tool_quarantined"] != 8 || told["tools_quarantined"] != 1 {
			t.Errorf("the admins were told %v", told)
		}
	})
}

// brokePurse has no money for one chat for now, and enough for all others.
type brokePurse struct{ chat string }

func (brokePurse) Capped() bool { return true }

func (b brokePurse) Reserve(_ context.Context, p ports.Payer, _, _ ports.Money) (agent.Hold, error) {
	if p.In.Chat == b.chat {
		return nil, &ports.SpendCap{Limit: 10, Held: 10, Wanted: 5}
	}
	return settled{}, nil
}

type settled struct{}

func (settled) Settle(ports.Money) {}

// A model that was left alone is tried by one request. It is not one that waits for
// money first: everybody else would wait with it.
func TestWhoWaitsForMoneyKeepsAModelFromNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &played{name: "m", facts: ports.ModelFacts{Price: &ports.Price{Output: 1}}, acts: []act{fails(ports.KindTemporary)}}
		w := withModels(t, m)
		models := w.agent
		w.agent = func(c *agent.Config) {
			models(c)
			c.Models[0].Facts = m.facts
			c.Purse = brokePurse{chat: "poor"}
		}
		w.start()
		for _, who := range []string{"ann", "bob"} { // it fails five times
			w.chat.say(t, who, "hello")
			time.Sleep(14 * time.Second)
		}
		m.mu.Lock()
		m.acts = []act{{text: "back"}}
		m.mu.Unlock()
		time.Sleep(31 * time.Second)
		w.chat.say(t, "poor", "hello")
		time.Sleep(time.Second)
		w.chat.say(t, "rich", "hello")
		w.within(time.Second, "rich", "back")
		if texts := w.inChat("poor"); len(texts) > 0 {
			t.Errorf("who waits for money reads %q", texts)
		}
		w.chat.say(t, "poor", "/stop")
		w.end()
	})
}
