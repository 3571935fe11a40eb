// Package toolbox holds every tool that the sources registered: it gives them
// names that models accept, decides by the admin's policy whether a call may
// run, checks its arguments against the tool's own schema, and turns whatever
// comes of the call into a result for the journal. Where an agent has more tools
// than a prompt should, the model is given a search for them.
//
// Promises: one source's failure or flood of tools touches no other's; a name is
// stable while the definition is; a deny anywhere wins.
package toolbox

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// Filter is a list of patterns that allow and one that deny, over tool names.
type Filter struct{ Allow, Deny []string }

// Source says how a source's tools are treated.
type Source struct {
	Name  string // "" = built in
	Tools Filter // over the server's own names
	// ReadOnly and Idempotent are patterns of the server's own names: what the admin
	// says of their class, which counts more than what the server says.
	ReadOnly, Idempotent []string
	Timeout              time.Duration // how long a call waits for a source that is still connecting
}

// Config of the toolbox.
type Config struct {
	Policy      map[string]ports.Policy // by pattern of the name that the model sees
	Default     ports.Policy
	ResultBytes int // of a result's text that go into the prompt; the rest becomes an artifact
	SearchAbove int // tokens that the definitions of an agent's tools may take before it gets find_tools for most of them; 0 = it never does
}

// Toolbox is safe for many goroutines.
type Toolbox struct {
	cfg       Config
	artifacts ports.Artifacts
	leaks     *guard.Leaks
	log       *slog.Logger
	finding   *schema // of find_tools

	mu      sync.RWMutex
	sources map[string]*source
	tools   map[string]*tool // by the name that the model sees; a new map whenever they change
	index   func() *index    // of those tools; made when it is first wanted
	changed chan struct{}    // closed and replaced whenever a source's state or tools change
}

// source is what one source last said.
type source struct {
	Source
	added      time.Time
	tools      []offered
	state      ports.State
	disabledBy string
	disabledAt time.Time
	gone       chan struct{} // closed when it is taken out, or another takes its place
}

// offered is a tool as its source registered it.
type offered struct {
	port   ports.ToolPort
	spec   ports.ToolSpec
	schema *schema        // nil: it does not compile, arguments only have to be an object
	output func() *schema // nil: none is declared, or it does not compile
}

// tool is a tool ready to be called.
type tool struct {
	port   ports.ToolPort
	spec   ports.ToolSpec // Name as the model sees it
	own    string         // as its server calls it
	names  []string       // the plain one, that with a suffix, and as its server writes it
	source *source
	policy ports.Policy
	schema *schema // of what it offered
	output func() *schema
}

// New makes an empty toolbox.
func New(cfg Config, artifacts ports.Artifacts, leaks *guard.Leaks, log *slog.Logger) *Toolbox {
	return &Toolbox{cfg: cfg, artifacts: artifacts, leaks: leaks, log: log, finding: compile(json.RawMessage(findSchema)),
		sources: map[string]*source{}, tools: map[string]*tool{}, index: func() *index { return newIndex(nil) }, changed: make(chan struct{})}
}

// Add introduces a source and returns what it registers with. One of that name
// that is there leaves, as by Remove.
func (b *Toolbox) Add(s Source) ports.Registrar {
	entry := &source{Source: s, added: time.Now(), state: ports.State{Phase: ports.PhaseConnecting}, gone: make(chan struct{})}
	b.put(s.Name, entry)
	return &registrar{box: b, source: entry}
}

// Disable lists a source as disabled, without tools, by whose word and since when.
// One of that name that is there leaves, as by Remove.
func (b *Toolbox) Disable(s Source, by string, at time.Time) {
	b.put(s.Name, &source{Source: s, state: ports.State{Phase: ports.PhaseDisabled}, disabledBy: by, disabledAt: at, gone: make(chan struct{})})
}

// Remove takes a source out with its tools: what its registrar is told from now
// on is lost, and calls of its tools that run are cancelled.
func (b *Toolbox) Remove(name string) { b.put(name, nil) }

// put has an entry take the place of the one that has this name; nil leaves it empty.
func (b *Toolbox) put(name string, entry *source) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.sources[name]
	delete(b.sources, name)
	if entry != nil {
		b.sources[name] = entry
	}
	if old != nil {
		close(old.gone)
		b.rebuild()
	}
	b.announce()
}

// registrar is what one source says of itself. It is dead once another took the
// source's place.
type registrar struct {
	box    *Toolbox
	source *source
}

// dead is whether the source was taken out. Callers hold the box's mu.
func (r *registrar) dead() bool { return r.box.sources[r.source.Name] != r.source }

func (r *registrar) Register(c ports.Catalog) {
	known := r.known()
	tools := make([]offered, len(c.Tools))
	for i, p := range c.Tools { // before the lock: a source that panics here, or keeps us busy, harms nobody else
		tools[i] = offer(p, known)
	}
	r.box.mu.Lock()
	defer r.box.mu.Unlock()
	if r.dead() {
		return
	}
	r.source.tools = tools
	r.box.rebuild()
	r.box.announce()
}

// known are the source's tools of now, by their own names: most come again, unchanged.
func (r *registrar) known() map[string]offered {
	r.box.mu.RLock()
	defer r.box.mu.RUnlock()
	known := make(map[string]offered, len(r.source.tools))
	for _, o := range r.source.tools {
		known[o.spec.Name] = o
	}
	return known
}

// offer prepares a tool. Schemas that have not changed are not compiled again; that
// of the output is compiled when a result is there to be checked.
func offer(p ports.ToolPort, known map[string]offered) offered {
	o := offered{port: p, spec: p.Spec()}
	old, ok := known[o.spec.Name]
	if ok && string(old.spec.InputSchema) == string(o.spec.InputSchema) {
		o.schema = old.schema
	} else {
		o.schema = compile(o.spec.InputSchema)
	}
	o.output = old.output
	if !ok || string(old.spec.OutputSchema) != string(o.spec.OutputSchema) {
		o.output = sync.OnceValue(func() *schema { return compile(o.spec.OutputSchema) })
	}
	return o
}

func (r *registrar) State(s ports.State) {
	r.box.mu.Lock()
	defer r.box.mu.Unlock()
	if r.dead() {
		return
	}
	before := r.source.state
	r.source.state = s
	r.box.announce()
	if before.Phase != s.Phase || before.Err != s.Err {
		r.box.log.Debug("mcp_server_state", "mcp_server", r.source.Name, "phase", s.Phase, "err", s.Err, "restarts", s.Restarts)
	}
}

// announce wakes those who wait for a source. Callers hold mu.
func (b *Toolbox) announce() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Servers lists the sources by name, without the built-in ones.
func (b *Toolbox) Servers() []ports.ServerInfo {
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := []ports.ServerInfo{}
	for _, name := range sortedKeys(b.sources) {
		if name != "" {
			list = append(list, b.sources[name].info())
		}
	}
	return list
}

// Server is how one source stands; false: there is none of that name.
func (b *Toolbox) Server(name string) (ports.ServerInfo, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := b.sources[name]
	if s == nil {
		return ports.ServerInfo{}, false
	}
	return s.info(), true
}

func (s *source) info() ports.ServerInfo {
	return ports.ServerInfo{Name: s.Name, Tools: len(s.tools), DisabledBy: s.disabledBy, DisabledAt: s.disabledAt, State: s.state}
}

// Tools lists all tools by name.
func (b *Toolbox) Tools() []ports.ToolInfo {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.list(func(*tool) bool { return true })
}

// list lists the tools that are wanted. Callers hold mu.
func (b *Toolbox) list(wanted func(*tool) bool) []ports.ToolInfo {
	list := []ports.ToolInfo{}
	for _, name := range sortedKeys(b.tools) {
		t := b.tools[name]
		if !wanted(t) {
			continue
		}
		state := "ready"
		if !t.source.state.Phase.Callable() {
			state = "unavailable"
		}
		list = append(list, ports.ToolInfo{Name: name, Server: t.source.Name, Tool: t.own, Title: t.spec.Title, Description: t.spec.Description,
			InputSchema: t.spec.InputSchema, Policy: t.policy, State: state})
	}
	return list
}

// Origin is the server of a tool and its name there. A name that a model made up
// has no tool, and a server only if one of that name is in the config.
func (b *Toolbox) Origin(name string) (server, tool string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if t := b.tools[name]; t != nil {
		return t.source.Name, t.own
	}
	if name == findTools {
		return "", name
	}
	if s := b.owner(name); s != nil {
		return s.Name, ""
	}
	return "", ""
}

// find looks a tool up. While the server that the name belongs to is still
// connecting it waits, up to that server's timeout.
func (b *Toolbox) find(ctx context.Context, name string) *tool {
	var deadline <-chan time.Time
	for {
		b.mu.RLock()
		t, changed := b.tools[name], b.changed
		s := b.owner(name)
		connecting := s != nil && s.state.Phase == ports.PhaseConnecting
		b.mu.RUnlock()
		if t != nil || !connecting {
			return t
		}
		if deadline == nil {
			timer := time.NewTimer(s.Timeout)
			defer timer.Stop()
			deadline = timer.C
		}
		select {
		case <-changed:
		case <-deadline:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// Call runs a call by its name, as an admin does: the policy's ask is skipped.
// See View for a turn's calls.
func (b *Toolbox) Call(ctx context.Context, name string, args json.RawMessage, call ports.ToolCall, host ports.Host) (info ports.ToolInfo, r ports.CallResult) {
	v := b.View(Filter{}, nil)
	call.Call = ports.Call{Name: name, Arguments: args}
	ruling := v.Check(ctx, call.Call)
	if t := b.find(ctx, name); t != nil {
		info = ports.ToolInfo{Name: name, Server: t.source.Name, Tool: t.own}
	}
	if ruling.Outcome != "" {
		return info, ports.CallResult{Outcome: ruling.Outcome, Text: ruling.Why}
	}
	return info, v.Call(ctx, call, host)
}
