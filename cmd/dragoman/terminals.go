package main

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"dragoman/adapters/sqlstore"
	"dragoman/adapters/terminal"
	"dragoman/config"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// terminalSends is how many lines a terminal's channel may be writing at a time.
const terminalSends = 8

// terminals are the channels that a gateway has beside those of its config, one
// for each agent, by the agent's name.
type terminals map[string]*terminal.Channel

// terminalName is the channel's name. No channel of a config is called like that:
// their names have no dot.
func terminalName(agent string) string { return "terminal." + agent }

func newTerminals(cfg *config.Config, store *sqlstore.Store, log *slog.Logger) (terminals, error) {
	all := terminals{}
	for agent := range cfg.Agents {
		name := terminalName(agent)
		t, err := console(parts{name: name, log: log.With("channel", name), store: store})
		if err != nil {
			return nil, err
		}
		all[agent] = t
	}
	return all, nil
}

func (t terminals) channels() []gateway.Channel {
	var list []gateway.Channel
	for _, agent := range slices.Sorted(maps.Keys(t)) {
		list = append(list, gateway.Channel{Name: terminalName(agent), Port: t[agent], Agent: agent, SendsInFlight: terminalSends})
	}
	return list
}

// close waits until nobody is at a terminal, or ctx ends, and lets nobody in any more.
func (t terminals) close(ctx context.Context) {
	for _, one := range t {
		one.Close(ctx)
	}
}

// find is the terminal of an agent. Without a name it is that of the only one, or of "main".
func (t terminals) find(agent string) (ports.Terminal, error) {
	known := slices.Sorted(maps.Keys(t))
	name := cmp.Or(agent, "main")
	if agent == "" && len(known) == 1 {
		name = known[0]
	}
	if found, ok := t[name]; ok {
		return found, nil
	}
	if agent == "" {
		return nil, ports.Errorf(ports.KindInvalid, "chat", "there are several agents: choose one by --agent (there are: %s)", strings.Join(known, ", "))
	}
	return nil, ports.Errorf(ports.KindNotFound, "chat", "there is no agent %q (there are: %s)", agent, strings.Join(known, ", "))
}
