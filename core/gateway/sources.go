package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/ports"
)

// member is a source of the gateway, enabled or not. Its fields belong to the
// gateway's mu.
type member struct {
	Source
	reg   ports.Registrar    // nil: it is disabled
	stop  context.CancelFunc // ends its run; nil: it was never run
	ended chan struct{}      // closed when its run is over, and those of all before it under this name
}

// AddSource puts a source in while the gateway runs, in the place of one that has
// its name. It does not wait: the tools appear when the source has them, and a
// running turn sees them at its next step. What an admin said of a source of this
// name holds, unless the config's own word was another then.
func (g *Gateway) AddSource(ctx context.Context, s Source) error {
	g.switching.Lock()
	defer g.switching.Unlock()
	word, err := g.wordOn(ctx, s)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	next := &member{Source: s}
	if old := g.members[s.Name]; old != nil {
		next.ended = old.end()
	}
	g.join(next, word)
	return nil
}

// RemoveSource takes a source out: its tools go at once, its calls that run end
// with an unknown outcome, and it is waited for as long as ctx allows.
// KindNotFound: there is none of this name.
func (g *Gateway) RemoveSource(ctx context.Context, name string) error {
	g.switching.Lock()
	g.mu.Lock()
	m := g.members[name]
	if m == nil {
		g.mu.Unlock()
		g.switching.Unlock()
		return unknownServer("remove", name)
	}
	delete(g.members, name)
	g.tools.Remove(name)
	ended := m.end()
	g.mu.Unlock()
	g.switching.Unlock()
	return awaitEnd(ctx, "remove", ended)
}

// join makes m the member of its name, by whose word it is enabled or not, and
// starts it where the gateway runs. Callers hold mu, or are New.
func (g *Gateway) join(m *member, w word) {
	g.members[m.Name] = m
	if g.opt.NoServers && m.Name != "" {
		w = word{By: ports.ByConfig}
	}
	if !w.Enabled {
		m.reg = nil
		g.tools.Disable(m.Source.Source, w.By, w.At)
		return
	}
	m.reg = g.tools.Add(m.Source.Source)
	if g.launch != nil {
		g.launch(m)
	}
}

// end tells the member's run to end, and returns what says that it has; nil: it
// has no run. Callers hold mu.
func (m *member) end() chan struct{} {
	if m.stop != nil {
		m.stop()
	}
	return m.ended
}

func awaitEnd(ctx context.Context, op string, ended <-chan struct{}) error {
	if ended == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return &ports.Error{Kind: ports.KindOf(ctx.Err()), Op: op, Err: ctx.Err()}
	}
}

// startSources runs every source that is enabled side by side and returns what
// ends them all and waits for it: for as long as they take, but not long in a
// gateway whose ctx has ended. A command leaves nothing behind, whatever it is told.
func (g *Gateway) startSources(hard context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(hard)
	var work sync.WaitGroup
	g.mu.Lock()
	g.launch = func(m *member) {
		ctx, stop := context.WithCancel(ctx)
		before, ended, reg := m.ended, make(chan struct{}), m.reg
		m.stop, m.ended = stop, ended
		work.Go(func() {
			defer close(ended)
			defer stop()
			if awaitEnd(ctx, "tool_source", before) != nil {
				<-before // whoever waits for this one waits for all before it
				return
			}
			g.runSource(ctx, m.Source, reg)
		})
	}
	for _, m := range g.members {
		if m.reg != nil {
			g.launch(m)
		}
	}
	atStart := g.enabled()
	g.mu.Unlock()
	if atStart > 0 {
		work.Go(func() { g.announce(ctx) })
	}
	return func() {
		g.mu.Lock()
		g.launch = nil // nothing is started any more
		servers := g.enabled()
		g.mu.Unlock()
		cancel()
		gone := true
		if g.serving() {
			gone = g.leave("tool_sources", hard.Done(), work.Wait)
		} else {
			work.Wait()
		}
		if gone && servers > 0 {
			g.log.Info("mcp_servers_disconnected", "servers", servers)
		}
	}
}

// enabled counts the servers that are to run. Callers hold mu.
func (g *Gateway) enabled() int {
	n := 0
	for name, m := range g.members {
		if name != "" && m.reg != nil {
			n++
		}
	}
	return n
}

// announce says once how the servers stand, when each that is enabled was reached
// or given up for now.
func (g *Gateway) announce(ctx context.Context) {
	began := time.Now()
	g.tools.Settled(ctx)
	if ctx.Err() != nil {
		return
	}
	count := map[ports.Phase]int{}
	servers := g.tools.Servers()
	for _, s := range servers {
		count[s.Phase]++
	}
	ready, idle, disabled := count[ports.PhaseReady], count[ports.PhaseIdle], count[ports.PhaseDisabled]
	g.log.Info("mcp_servers_connected", "ready", ready, "failed", len(servers)-ready-idle-disabled, "idle", idle, "disabled", disabled, "dur", time.Since(began))
}

// runSource keeps a source running, also one that panics or leaves early.
func (g *Gateway) runSource(ctx context.Context, s Source, reg ports.Registrar) {
	retry := backoff.NewExponentialBackOff()
	retry.MaxInterval = 30 * time.Second
	for ctx.Err() == nil {
		err := g.guarded(ctx, "tool_source", func(ctx context.Context) error { return s.Port.Run(ctx, reg) })
		if ctx.Err() != nil {
			return
		}
		g.log.Error("tool_source_failed", "mcp_server", s.Name, "kind", ports.KindOf(err), "err", err)
		reg.State(ports.State{Phase: ports.PhaseDegraded, Err: "it failed inside the gateway: see the log"})
		pause(ctx, retry.NextBackOff())
	}
}
