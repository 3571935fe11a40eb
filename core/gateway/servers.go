package gateway

import (
	"context"
	"encoding/json"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// What an admin said of a server, where the config says otherwise.
const (
	switchScope = "mcp"
	kindSwitch  = "enabled"
)

// reconnectGrace is how much longer than its time-out a server may take: its old
// process has to leave first.
const reconnectGrace = 5 * time.Second

// word is who said whether a server is to run.
type word struct {
	Enabled bool      `json:"enabled"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func byConfig(s Source) word { return word{Enabled: !s.Disabled, By: ports.ByConfig} }

// Reconnect implements ports.Admin. A source that cannot do so is run anew.
func (g *Gateway) Reconnect(ctx context.Context, name string) (ports.ServerInfo, error) {
	const op = "reconnect"
	g.mu.Lock()
	m, runs := g.members[name], g.launch != nil
	enabled := m != nil && m.reg != nil
	g.mu.Unlock()
	switch {
	case m == nil || name == "":
		return ports.ServerInfo{}, unknownServer(op, name)
	case !enabled:
		return ports.ServerInfo{}, ports.Errorf(ports.KindInvalid, op, "the server %q is disabled (enable it first)", name)
	case !runs:
		return ports.ServerInfo{}, ports.Errorf(ports.KindUnavailable, op, "no server is run here")
	}
	g.audit(ctx, "server_reconnect", name)
	limit := m.Timeout + reconnectGrace
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := g.renew(ctx, m)
	g.tools.Settled(ctx, name)
	info, there := g.tools.Server(name)
	switch {
	case !there:
		return info, unknownServer(op, name) // taken out meanwhile
	case err != nil && ctx.Err() != nil, info.Phase == ports.PhaseConnecting:
		return info, ports.Errorf(ports.KindTimeout, op, "the server %q was not connected anew within %s", name, limit)
	}
	g.log.Info("mcp_server_reconnected", "mcp_server", name, "phase", info.Phase, "tools", info.Tools)
	return info, nil
}

// renew has the member's source make a new connection. What came of it is in the
// source's state; an error says only that it did not end well.
func (g *Gateway) renew(ctx context.Context, m *member) error {
	if r, ok := m.Port.(ports.Reconnector); ok {
		_, err := guard.Do(ctx, time.Second, &g.leaks, "reconnect", func(ctx context.Context) (struct{}, error) { return struct{}{}, r.Reconnect(ctx) })
		return err
	}
	g.switching.Lock()
	defer g.switching.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.members[m.Name] != m || m.reg == nil {
		return nil // somebody else has taken it in hand
	}
	m.end()
	g.join(m, word{Enabled: true})
	return nil
}

// SetEnabled implements ports.Admin. Where the gateway does not run it only notes
// what is to be, for the next start.
func (g *Gateway) SetEnabled(ctx context.Context, name string, enabled bool) (ports.ServerInfo, error) {
	op := "disable"
	if enabled {
		op = "enable"
	}
	t, err := g.turn(ctx, op, name, enabled)
	if err != nil {
		return ports.ServerInfo{}, err
	}
	g.audit(ctx, "server_"+op, name)
	g.log.Info("mcp_server_switched", "mcp_server", name, "enabled", enabled)
	if !enabled {
		err = awaitEnd(ctx, op, t.ended)
	} else if t.runs {
		ctx, cancel := context.WithTimeout(ctx, t.limit)
		defer cancel()
		g.tools.Settled(ctx, name)
	}
	info, there := g.tools.Server(name)
	switch {
	case !there:
		return info, unknownServer(op, name) // taken out meanwhile
	case enabled && !t.runs:
		info.Phase = ports.PhaseStopped
	}
	return info, err
}

// turned is what a switch led to.
type turned struct {
	runs  bool            // sources are run here
	ended <-chan struct{} // closed when the run that was told to end is over; nil: there was none
	limit time.Duration   // how long one that is started may take
}

// turn notes an admin's word on a server and acts on it.
func (g *Gateway) turn(ctx context.Context, op, name string, enabled bool) (turned, error) {
	g.switching.Lock()
	defer g.switching.Unlock()
	g.mu.Lock()
	m := g.members[name]
	g.mu.Unlock()
	switch {
	case m == nil || name == "":
		return turned{}, unknownServer(op, name)
	case enabled && g.opt.NoServers:
		return turned{}, ports.Errorf(ports.KindInvalid, op, `the config starts no MCP server at all ("mcp": {"enabled": false})`)
	}
	w := byConfig(m.Source)
	if w.Enabled != enabled {
		w = word{Enabled: enabled, By: ports.ByAdmin, At: time.Now().UTC().Truncate(time.Second)}
	}
	if err := g.note(ctx, name, w); err != nil {
		return turned{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t := turned{runs: g.launch != nil, limit: m.Timeout}
	switch {
	case !enabled:
		t.ended = m.end()
		g.join(m, w)
	case m.reg == nil:
		g.join(m, w)
	}
	return t, nil
}

// note keeps what an admin said of a server, as long as it is not what the config
// says itself.
func (g *Gateway) note(ctx context.Context, name string, w word) error {
	r, err := g.opt.Store.Get(ctx, switchScope, kindSwitch, name)
	if ports.IsKind(err, ports.KindNotFound) {
		r, err = ports.Record{Scope: switchScope, Kind: kindSwitch, Key: name}, nil
	}
	if err != nil {
		return err
	}
	if w.By == ports.ByConfig {
		return g.opt.Store.Delete(ctx, r)
	}
	if r.Body, err = json.Marshal(w); err != nil {
		return &ports.Error{Kind: ports.KindInternal, Op: "note", Err: err}
	}
	_, err = g.opt.Store.Put(ctx, r)
	return err
}

// recall puts what admins said of the servers in force. What the config has come
// to say itself is forgotten: its next change decides anew.
func (g *Gateway) recall(ctx context.Context) error {
	g.switching.Lock()
	defer g.switching.Unlock()
	list, err := g.opt.Store.List(ctx, switchScope, kindSwitch)
	if err != nil {
		return err
	}
	for _, r := range list {
		g.mu.Lock()
		m := g.members[r.Key]
		g.mu.Unlock()
		w, ok := g.spoken(ctx, m, r)
		if !ok {
			continue
		}
		g.mu.Lock()
		g.join(m, w)
		g.mu.Unlock()
	}
	return nil
}

// wordOn is whose word holds for a source.
func (g *Gateway) wordOn(ctx context.Context, s Source) (word, error) {
	r, err := g.opt.Store.Get(ctx, switchScope, kindSwitch, s.Name)
	switch {
	case ports.IsKind(err, ports.KindNotFound):
		return byConfig(s), nil
	case err != nil:
		return word{}, err
	}
	if w, ok := g.spoken(ctx, &member{Source: s}, r); ok {
		return w, nil
	}
	return byConfig(s), nil
}

// spoken reads an admin's word on a member (nil: there is no such server any
// more). One that no longer says otherwise than the config is forgotten.
func (g *Gateway) spoken(ctx context.Context, m *member, r ports.Record) (word, bool) {
	var w word
	err := json.Unmarshal(r.Body, &w)
	if err == nil && m != nil && w.Enabled != byConfig(m.Source).Enabled {
		return w, true
	}
	if err := g.opt.Store.Delete(ctx, r); err != nil {
		g.log.Warn("switch_not_forgotten", "mcp_server", r.Key, "kind", ports.KindOf(err), "err", err)
	}
	return word{}, false
}

// CopySwitches copies what admins said of the servers from one store to another,
// new one: for a gateway that must not work on the first.
func CopySwitches(ctx context.Context, from, to ports.Records) error {
	list, err := from.List(ctx, switchScope, kindSwitch)
	for _, r := range list {
		if r.Version = 0; err == nil {
			_, err = to.Put(ctx, r)
		}
	}
	return err
}

func unknownServer(op, name string) error {
	return ports.Errorf(ports.KindNotFound, op, "there is no MCP server named %q", name)
}
