package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// A person's day has one cap, whatever chats they write in at a time, and also
// after a restart; another person's is another.
func TestACapOnAPersonHoldsInAllTheirChats(t *testing.T) {
	w := newWorld(t)
	const limit = 5e7 // 0.05 dollars
	w.opt.Caps = gateway.Caps{Person: limit}
	w.agent = func(c *agent.Config) {
		c.Models[0].Facts = ports.ModelFacts{Price: &ports.Price{Input: 2, CachedInput: 0.5, CacheWrite: 2.5, Output: 8}, MaxTokens: 500}
	}
	w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
		got, err := says("an answer")
		got.Usage = ports.Tokens{Input: 1000, Output: 100} // $0.0028
		return got, err
	}
	w.start()
	const chats, each = 4, 10
	for i := range each {
		for chat := range chats {
			w.chat.receive(t, ports.Message{From: "ann", Text: fmt.Sprint("say ", i), In: ports.Conversation{Chat: fmt.Sprint("group", chat)}})
		}
		w.settled()
	}
	refused := func() (n int) {
		for _, text := range w.chat.texts() {
			if strings.Contains(text, "The budget for today is used up.") {
				n++
			}
		}
		return n
	}
	spent := func() int {
		return w.count(`SELECT SUM(cost) FROM usage WHERE person = (SELECT person FROM usage ORDER BY id LIMIT 1)`)
	}
	before := spent()
	if before > limit || before < limit-2e7 || refused() == 0 {
		t.Errorf("%d are spent of %.0f, and %d turns were refused", before, limit, refused())
	}
	w.restart()
	had := refused()
	w.chat.say(t, "ann", strings.Repeat("once more ", 500)) // what is short may still fit
	w.chat.say(t, "bob", "and I?")
	w.settled()
	if after := spent(); after != before || refused() != had+1 {
		t.Errorf("after a restart %d are spent, and %d were before; %d more turns were refused", after, before, refused()-had)
	}
	if n := w.count(`SELECT COUNT(*) FROM usage WHERE priced = 1 AND agent = 'main' AND model = 'm' AND channel = 'chat' AND cost = 2800000`); n != before/2800000+1 {
		t.Errorf("%d requests are booked whole, want %d of ann and one of bob", n, before/2800000)
	}
}
