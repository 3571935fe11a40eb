package main

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"time"

	"dragoman/adapters/mcp"
	"dragoman/adapters/mcp/oauth"
	"dragoman/adapters/sqlstore"
	"dragoman/config"
	"dragoman/core/access"
	"dragoman/core/agent"
	"dragoman/core/ask"
	"dragoman/core/gateway"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// builtInTimeout is how long a call waits for the built-in tools at the start.
const builtInTimeout = time.Second

// openStore opens the store of the config.
// Channels are those to work for; none = all.
func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger, channels ...string) (*sqlstore.Store, error) {
	return sqlstore.Open(ctx, sqlstore.Config{Dir: cfg.DataDir, Path: cfg.Store.Path, Sync: cfg.Store.Sync, Channels: channels}, log)
}

func socketPath(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "control.sock") }

// door is where HTTP comes in, and the token that opens it to admins. The zero
// door is shut.
type door struct {
	net.Listener
	token  ports.Secret
	logins *oauth.Desk // nil: nobody logs in to MCP servers
}

// chats are the ways to talk to the gateway. A command that only wants tools has none.
type chats struct {
	platforms bool // the channels of the config
	terminals terminals
}

// assemble builds the gateway that the config describes, with these chats. audit
// is where admins' deeds go.
func assemble(cfg *config.Config, store *sqlstore.Store, audit ports.Audit, in door, chats chats, log *slog.Logger) (*gateway.Gateway, error) {
	opt := gateway.Options{Store: store, Audit: audit, Listener: in.Listener, AdminToken: in.token, Log: log, Version: version(), Turns: cfg.Limits.Turns, Drain: cfg.Limits.DrainTimeout,
		Ask:    ask.Config{Expires: cfg.Ask.Expires, OnMessage: ask.OnMessage(cfg.Ask.OnMessage), GroupWait: cfg.Ask.GroupWait},
		Access: accessOf(cfg), Tools: toolsOf(cfg), NoServers: !cfg.MCP.Enabled, Usage: store, Caps: capsOf(cfg.Limits.Spend)}
	var err error
	if in.logins != nil {
		opt.Logins = in.logins.Handler()
	}
	if opt.Sources, err = sourcesOf(cfg, store, in.logins, log); err != nil {
		return nil, err
	}
	if !chats.platforms && len(chats.terminals) == 0 {
		return gateway.New(opt), nil
	}
	if opt.Agents, err = agentsOf(cfg, store, log); err != nil {
		return nil, err
	}
	opt.Channels = chats.terminals.channels()
	for _, name := range slices.Sorted(maps.Keys(cfg.Channels)) {
		if !chats.platforms {
			break
		}
		c := cfg.Channels[name]
		port, err := channels[c.Type].build(hooked(cfg, name), parts{name: name, log: log.With("channel", name), store: store})
		if err != nil {
			return nil, err
		}
		opt.Channels = append(opt.Channels, gateway.Channel{Name: name, Port: port, Agent: c.Agent, Chats: chatsOf(c), SendsInFlight: c.SendsInFlight})
	}
	return gateway.New(opt), nil
}

// chatsOf are the agents of the channel's chats that have one of their own.
func chatsOf(c config.Channel) map[string]string {
	agents := make(map[string]string, len(c.Chats))
	for id, chat := range c.Chats {
		agents[id] = chat.Agent
	}
	return agents
}

func sourcesOf(cfg *config.Config, store *sqlstore.Store, logins *oauth.Desk, log *slog.Logger) ([]gateway.Source, error) {
	list := []gateway.Source{{Source: toolbox.Source{Timeout: builtInTimeout}, Port: builtIn(store)}}
	home, err := filepath.Abs(cfg.Dir) // relative paths in a server's arguments start at the config file
	if err != nil {
		return nil, err
	}
	mark := mcp.NewMark(cfg.DataDir)
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		s := cfg.MCPServers[name]
		port, err := server.build(s.Section, parts{name: name, home: home, log: log.With("mcp_server", name), store: store,
			logins: logins, data: cfg.DataDir, mark: mark})
		if err != nil {
			return nil, err
		}
		list = append(list, gateway.Source{Port: port, Disabled: !s.Enabled, Source: toolbox.Source{Name: name, Timeout: timeoutOf(port, cfg.MCP.Timeout),
			Tools: toolbox.Filter{Allow: s.Tools.Allow, Deny: s.Tools.Deny}, ReadOnly: s.Tools.ReadOnly, Idempotent: s.Tools.Idempotent}})
	}
	return list, nil
}

// timeoutOf is the source's own connect time-out, where it says one.
func timeoutOf(port ports.ToolSource, otherwise time.Duration) time.Duration {
	if t, ok := port.(interface{ Timeout() time.Duration }); ok {
		return t.Timeout()
	}
	return otherwise
}

func agentsOf(cfg *config.Config, store *sqlstore.Store, log *slog.Logger) ([]gateway.Agent, error) {
	built := map[string]agent.Model{}
	for name, m := range cfg.Models {
		port, err := models[m.Type].build(m.Section, parts{name: name, log: log, store: store})
		if err != nil {
			return nil, err
		}
		facts := factsOf(port)
		built[name] = agent.Model{Name: name, Port: port, ContextTokens: facts.ContextTokens, Facts: facts, Health: agent.NewHealth()}
	}
	var list []gateway.Agent
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		a := cfg.Agents[name]
		one := gateway.Agent{Servers: a.MCPServers, Tools: toolbox.Filter{Allow: a.Tools.Allow, Deny: a.Tools.Deny}, Config: agentConfig(cfg, name)}
		for _, m := range a.Models {
			one.Models = append(one.Models, built[m])
		}
		list = append(list, one)
	}
	return list, nil
}

// agentConfig is an agent's config without its models.
func agentConfig(cfg *config.Config, name string) agent.Config {
	a := cfg.Agents[name]
	return agent.Config{Name: name, Instructions: a.Instructions, MaxSteps: a.MaxSteps, TurnTimeout: a.TurnTimeout, StaleAfter: cfg.Limits.StaleAfter,
		Busy: ports.Busy(a.Busy), OnToolFailure: agent.OnToolFailure(a.OnToolFailure)}
}

// factsOf is what an adapter knows of its model.
func factsOf(port ports.ModelPort) ports.ModelFacts {
	if d, ok := port.(ports.ModelDescriber); ok {
		return d.Facts()
	}
	return ports.ModelFacts{}
}

// capsOf are the caps in the money that is reckoned with.
func capsOf(s config.Spend) gateway.Caps {
	money := func(dollars *float64) ports.Money {
		if dollars == nil {
			return 0
		}
		return ports.Dollars(*dollars)
	}
	return gateway.Caps{Person: money(s.PersonDaily), Chat: money(s.ChatDaily), Agent: money(s.AgentDaily), Total: money(s.TotalDaily)}
}

func accessOf(cfg *config.Config) access.Config {
	out := access.Config{Channels: map[string]access.Rules{}, People: map[string]access.Listed{}}
	for name, c := range cfg.Channels {
		a := cfg.Access.With(c.Access)
		out.Channels[name] = access.Rules{Mode: access.Mode(a.Mode), Groups: access.Groups(a.Groups), Count: a.Rate.Count, Per: a.Rate.Per}
	}
	for name := range cfg.Agents {
		out.Channels[terminalName(name)] = access.Rules{Mode: access.Owner}
	}
	for name, p := range cfg.People {
		out.People[name] = access.Listed{Identities: p.IDs, Role: ports.Role(p.Role)}
	}
	return out
}

func toolsOf(cfg *config.Config) toolbox.Config {
	out := toolbox.Config{Policy: map[string]ports.Policy{}, Default: ports.Policy(cfg.Tools.Default), ResultBytes: cfg.Tools.ResultBytes, SearchAbove: cfg.Tools.SearchAbove}
	for pattern, p := range cfg.Tools.Policy {
		out.Policy[pattern] = ports.Policy(p)
	}
	return out
}
