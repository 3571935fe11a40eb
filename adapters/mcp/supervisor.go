package mcp

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"dragoman/ports"
)

// maxConnections is how many people or conversations have a connection of their
// own at a time.
const maxConnections = 64

// errNotRun is a source whose Run has ended, or has not begun.
var errNotRun = &lostError{reason: "the server is not connected: it is not being run"}

// redial is a wish for a new connection; what came of it is sent once.
type redial chan error

// owner is whose connection it is. The zero owner is everybody: its connection
// is the one whose tools are listed.
type owner struct {
	person ports.PersonID
	in     ports.Conversation
}

// supervisor is one Run of a Source: it has a keeper for each connection, and
// makes one catalog and one state of what they have to say.
type supervisor struct {
	*Source
	reg     ports.Registrar
	redials chan redial
	ended   chan struct{}
	wg      sync.WaitGroup

	telling sync.Mutex      // held while reg is told, so that it hears all in order
	offered []definition    // what was registered last
	begin   func(k *keeper) // has a keeper work, within Run's context

	mu    sync.Mutex
	over  bool // no keeper begins any more
	main  *keeper
	own   map[owner]*keeper
	queue int           // calls that wait for a connection to leave
	left  chan struct{} // closed and replaced when one of own left, or has no call any more while some wait
	known bool          // the tools are
	note  string        // what is wrong with the list of tools
	state ports.State   // what keepers do not have of their own
}

// newSupervisor makes what serves calls from the moment it is published on, though
// run has not begun: the tools of an earlier Run may be called at any time.
func newSupervisor(ctx context.Context, s *Source, reg ports.Registrar) *supervisor {
	v := &supervisor{
		Source: s, reg: reg, redials: make(chan redial), ended: make(chan struct{}), left: make(chan struct{}),
		own: make(map[owner]*keeper), state: ports.State{Transport: s.cfg.Transport},
	}
	v.begin = func(k *keeper) {
		ctx, end := context.WithCancel(ctx)
		k.end = end
		v.wg.Go(func() { defer end(); k.run(ctx) })
	}
	v.main = newKeeper(v, owner{})
	return v
}

func (v *supervisor) run(ctx context.Context) {
	v.report()
	if v.cfg.Start == startLazy && ctx.Err() == nil {
		if tools := v.recall(ctx); tools != nil {
			v.offer(tools, "")
		}
	}
	v.mu.Lock()
	v.begin(v.main)
	v.mu.Unlock()
	<-ctx.Done()
	v.mu.Lock()
	v.over = true
	v.release()
	v.mu.Unlock()
	v.wg.Wait()
	v.reg.State(v.stopped())
}

// ownerOf is whose connection a call goes over. A call that is nobody's goes
// over everybody's: it brings nothing of anybody along.
func (v *supervisor) ownerOf(call ports.ToolCall) owner {
	switch {
	case v.cfg.Scope == scopeConversation && call.In != (ports.Conversation{}):
		return owner{in: call.In}
	case v.cfg.Scope == scopeConversation, v.cfg.Scope == scopePerson:
		return owner{person: call.Person}
	}
	return owner{}
}

// claim gives the keeper of a call, which stays until it is unclaimed. It waits
// for room among the connections, for as long as ctx allows.
func (v *supervisor) claim(ctx context.Context, who owner) (*keeper, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		if v.over {
			return nil, errNotRun
		}
		if k := v.find(who); k != nil {
			k.users++
			return k, nil
		}
		v.queue++
		v.makeRoom()
		left := v.left
		v.mu.Unlock()
		select {
		case <-left:
		case <-ctx.Done():
		}
		v.mu.Lock()
		v.queue--
		if ctx.Err() != nil {
			return nil, waited(ctx, "all connections to the server are in use by others")
		}
	}
}

// find gives the keeper of an owner, if need be a new one; nil: there is no room
// for one yet, or the one that there was has not left yet. Callers hold mu.
func (v *supervisor) find(who owner) *keeper {
	if who == (owner{}) {
		return v.main
	}
	k := v.own[who]
	switch {
	case k != nil && k.leaving == "":
		return k
	case k != nil || len(v.own) >= maxConnections:
		return nil
	}
	k = newKeeper(v, who)
	v.own[who] = k
	v.begin(k)
	return k
}

// makeRoom has as many connections leave as calls wait, those first that were not
// used for longest. Callers hold mu.
func (v *supervisor) makeRoom() {
	var idle []*keeper
	wanted := v.queue - (maxConnections - len(v.own))
	for _, k := range v.own {
		switch {
		case k.leaving != "":
			wanted--
		case k.users == 0:
			idle = append(idle, k)
		}
	}
	slices.SortFunc(idle, func(a, b *keeper) int { return a.used.Compare(b.used) })
	for _, k := range idle[:max(0, min(wanted, len(idle)))] {
		k.leave(reasonIdle)
	}
}

// dropOwn ends the connections that people and conversations have of their own.
func (v *supervisor) dropOwn() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, k := range v.own {
		k.leave(reasonReconnect)
	}
}

// release wakes the calls that wait for room. Callers hold mu.
func (v *supervisor) release() {
	close(v.left)
	v.left = make(chan struct{})
}

// offer registers the tools if they are others than before, and reports whether
// they are. note is what is wrong with them.
func (v *supervisor) offer(tools []definition, note string) bool {
	v.telling.Lock()
	defer v.telling.Unlock()
	v.mu.Lock()
	note = v.cfg.redactor().Replace(note)
	news := !v.known || !reflect.DeepEqual(tools, v.offered)
	worse := note != "" && note != v.note
	v.known, v.note = true, note
	v.mu.Unlock()
	if worse {
		v.log.Warn("mcp_tools_dropped", "err", note)
	}
	if !news {
		return false
	}
	catalog := ports.Catalog{Tools: make([]ports.ToolPort, 0, len(tools))}
	for _, d := range tools {
		catalog.Tools = append(catalog.Tools, &tool{source: v.Source, def: d})
	}
	v.offered = tools
	v.reg.Register(catalog)
	return true
}

// report tells how the server stands.
func (v *supervisor) report() {
	v.telling.Lock()
	defer v.telling.Unlock()
	v.reg.State(v.standing())
}

// standing is the state of the whole: that of everybody's connection, unless it
// rests; then of the one among the others that works best.
func (v *supervisor) standing() ports.State {
	v.mu.Lock()
	defer v.mu.Unlock()
	shown, trouble := v.main, v.main.words
	order := []ports.Phase{ports.PhaseIdle, ports.PhaseDegraded, ports.PhaseConnecting, ports.PhaseReady}
	out := v.state
	for _, k := range v.own {
		if v.main.phase == ports.PhaseIdle && slices.Index(order, k.phase) > slices.Index(order, shown.phase) {
			shown = k
		}
		if k.conn != nil {
			out.Connections++
		}
	}
	if v.main.conn != nil {
		out.Connections++
	}
	if shown != v.main {
		trouble = shown.words
	}
	out.Phase, out.RetryIn, out.Err = shown.phase, shown.retryIn, trouble
	if trouble == "" {
		out.Err = v.note
	}
	out.Stderr = slices.Clone(out.Stderr)
	return out
}

func (v *supervisor) stopped() ports.State {
	out := v.standing()
	out.Phase, out.RetryIn = ports.PhaseStopped, 0
	return out
}

// waited is the error of a call that waited in vain and was never sent.
func waited(ctx context.Context, why string) error {
	if err := timeOver(ctx, ctx.Err()); errors.Is(err, context.Canceled) {
		return err
	}
	return &lostError{reason: why}
}
