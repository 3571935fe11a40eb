package e2e

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/tests/fake/telegram"
)

// A day's budget holds over everything at once: two agents, models on two wires,
// many chats. Who is over it reads so, and what is told of the money agrees.
func TestABudgetHoldsOverChatsSideBySide(t *testing.T) {
	t.Parallel()
	const chatsOfAnn, messages, budget = 8, 8, 0.05
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	peer := startWirePeer(t)
	price := `, "max_output_tokens": 60, "price": {"input": 2, "output": 20}`
	var chats []string
	for i := range chatsOfAnn {
		agent := []string{"main", "support"}[i%2]
		chats = append(chats, fmt.Sprintf(`"%d": {"agent": %q}`, -6000-i, agent))
	}
	g := startGateway(t, `{
	"listen": "${LISTEN}",
	"models": {`+peer.Entry("large", wireMessages, price)+`, `+peer.Entry("small", wireChat, price)+`},
	"agents": {"main": {"models": ["large"], "mcp_servers": [], "tools": {"deny": ["*"]}},
		"support": {"models": ["small"], "mcp_servers": [], "tools": {"deny": ["*"]}}},
	"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`, "sends_in_flight": 64,
		"streaming": "off", "chats": {`+strings.Join(chats, ", ")+`}}},
	"access": {"mode": "open", "rate": ""},
	"people": {"root": {"ids": ["tg:1001"], "role": "admin"}, "ann": {"ids": ["tg:1002"], "role": "user"}},
	"limits": {"spend": {"person_daily": 0.05}},
	"log": {"format": "json", "level": "info"}
}`)
	root, ann := tg.User(1001, "Root"), tg.User(1002, "Ann")
	root.Say("/help")
	answered(t, tg, root.ID(), 1)
	groups := make([]*telegram.Group, chatsOfAnn)
	for i := range groups {
		groups[i] = tg.Group(int64(-6000-i), "Room")
	}
	answers, refusals := 0, 0
	for n := range messages {
		for _, group := range groups {
			ann.SayIn(group, fmt.Sprintf("@%s question %d", telegram.DefaultUsername, n))
		}
		for _, group := range groups {
			switch text := answered(t, tg, group.ID(), n+1); {
			case strings.Contains(text, " heard: "):
				answers++
			case failure("The budget for today is used up.")(text) == nil:
				refusals++
			default:
				t.Errorf("in chat %d she reads %q", group.ID(), text)
			}
		}
	}
	byPerson, byModel, byAgent := spentBy(t, g, "--by", "person"), spentBy(t, g, "--by", "model"), spentBy(t, g, "--by", "agent")
	spent := byPerson[0].Cost
	if len(byPerson) != 1 || spent > budget || spent < 0.8*budget || refusals == 0 || answers != byPerson[0].Requests {
		t.Errorf("of %d messages %d were answered and %d refused, for %+v", messages*chatsOfAnn, answers, refusals, byPerson)
	}
	if len(byModel) != 2 || len(byAgent) != 2 {
		t.Errorf("by model %+v, by agent %+v", byModel, byAgent)
	}
	families := g.metrics(adminToken(t, g))
	for _, l := range byModel {
		got, err := sample(families, "dragoman_cost_usd_total", "model", l.Key)
		if err != nil || got-l.Cost > 1e-9 || l.Cost-got > 1e-9 {
			t.Errorf("the metric of %s is %v (%v), the store has %v", l.Key, got, err, l.Cost)
		}
	}
	if asked := len(peer.Asked("large")) + len(peer.Asked("small")); asked != answers {
		t.Errorf("the models were asked %d times for %d answers", asked, answers)
	}
	ann.Say("/usage")
	if got := answered(t, tg, ann.ID(), 1); !strings.Contains(got, fmt.Sprintf("in %d requests", answers)) || !strings.Contains(got, "$0.0") {
		t.Errorf("/usage says %q", got)
	}
	const told = "may spend on models in a day"
	eventually(t, answerWithin, "the admin hears of it", func() error {
		return contains(told)((&hostile{tg: tg}).shown(root))
	})
	if n := strings.Count((&hostile{tg: tg}).shown(root), told); n != 1 {
		t.Errorf("the admin was told %d times", n)
	}
}
