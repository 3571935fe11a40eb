package gateway_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// withCap is a world whose agent has a model that costs something, under a cap.
func withCap(t *testing.T, p *played, most ports.Money) *world {
	p.facts = ports.ModelFacts{Price: &ports.Price{Input: 1, CachedInput: 0.1, CacheWrite: 1, Output: 10}, MaxTokens: 400}
	w := newWorld(t)
	w.agent = func(c *agent.Config) {
		c.Models = []agent.Model{{Name: p.name, Port: p, ContextTokens: 32000, Facts: p.facts}}
	}
	w.last = func(opt *gateway.Options) { opt.Caps, opt.Usage = gateway.Caps{Total: most}, w.store }
	return w
}

// What a provider says of a reply's tokens may be wrong in any way: it pays nothing
// back, and what was booked can still be summed up.
func TestWrongFiguresOfAProviderPayNothingBack(t *testing.T) {
	for name, c := range map[string]struct {
		says ports.Tokens
		want ports.Tokens // of two replies
	}{
		"the cache is counted beside": {ports.Tokens{Input: 10, CachedInput: 500, CacheWrite: 40, Output: 5}, ports.Tokens{Input: 1100, CachedInput: 1000, CacheWrite: 80, Output: 10}},
		"below nothing":               {ports.Tokens{Input: 10, CachedInput: -1 << 40, Output: -5}, ports.Tokens{Input: 20}},
		"beyond numbers":              {ports.Tokens{Input: math.MaxInt64, Output: math.MaxInt64}, ports.Tokens{Input: 200_000_000, Output: 200_000_000}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := withCap(t, &played{name: "m", acts: []act{{text: "hi", used: c.says}}}, ports.Dollars(10_000))
				w.start()
				for _, who := range []string{"ann", "bob"} {
					w.chat.say(t, who, "hello")
					w.within(time.Minute, who, "hi")
				}
				w.comesToRest()
				used, err := w.store.Used(t.Context(), ports.UsageQuery{})
				if err != nil || len(used) != 1 || used[0].Tokens != c.want || used[0].Cost <= 0 {
					t.Errorf("booked are %+v (%v), want %+v", used, err, c.want)
				}
				w.end()
			})
		})
	}
}

// A reply that the provider's filter ended is paid for as the others are.
func TestWhatAFilterEndedCountsAgainstACap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &played{name: "m", acts: []act{fails(ports.KindRefused)}}
		w := withCap(t, p, ports.Dollars(0.02))
		w.start()
		for i := range 100 {
			w.chat.say(t, "ann", fmt.Sprint("something bad, ", i))
			time.Sleep(time.Second)
		}
		w.comesToRest()
		if n := len(p.asked()); n > 50 {
			t.Errorf("it was asked %d times", n)
		}
		w.end()
	})
}
