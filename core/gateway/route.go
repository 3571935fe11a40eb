package gateway

import (
	"cmp"
	"slices"

	"dragoman/core/agent"
	"dragoman/ports"
)

// agentOf is the agent of a conversation: its chat's own, else its channel's. It is
// asked anew for each turn: a conversation goes on under another agent once the
// config gives it one.
func (g *Gateway) agentOf(in ports.Conversation) (Agent, error) {
	c, ok := g.byChannel[in.Channel]
	if !ok {
		return Agent{}, ports.Errorf(ports.KindNotFound, "route", "channel %q is no longer in the config", in.Channel)
	}
	name := cmp.Or(c.Chats[in.Chat], c.Agent)
	a, ok := g.agents[name]
	if !ok {
		return Agent{}, ports.Errorf(ports.KindNotFound, "route", "agent %q of channel %q is not in the config", name, in.Channel)
	}
	return a, nil
}

// shareHealth gives models of the same name the same health, whatever agent has them.
func shareHealth(models []agent.Model, health map[string]*agent.Health) []agent.Model {
	models = slices.Clone(models)
	for i, m := range models {
		if health[m.Name] == nil {
			health[m.Name] = cmp.Or(m.Health, agent.NewHealth())
		}
		models[i].Health = health[m.Name]
	}
	return models
}
