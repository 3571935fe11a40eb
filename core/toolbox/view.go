package toolbox

import (
	"context"
	"fmt"
	"slices"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// View is the toolbox as one agent sees it.
type View struct {
	box     *Toolbox
	filter  Filter
	servers []string // nil or "*" = all
	finding bool     // it has find_tools
	agent   string
	records ports.Records // where it keeps what was found; nil: nowhere
	window  int           // of the models that it is for, in tokens; 0 = not known
}

// View gives an agent its view: the tools of these servers (nil: all) whose
// names the filter lets through.
func (b *Toolbox) View(f Filter, servers []string) *View {
	return &View{box: b, filter: f, servers: servers}
}

// misfit is what the model is told, before the faults, of arguments that break a schema.
const misfit = "The arguments do not fit the tool's schema:\n"

// Tools lists the agent's tools by name, denied ones too, as an admin sees them.
func (v *View) Tools() []ports.ToolInfo {
	v.box.mu.RLock()
	defer v.box.mu.RUnlock()
	return v.box.list(v.sees)
}

// Check decides whether a call may run, must ask, or cannot. It waits for a
// server that is still connecting, up to its timeout.
func (v *View) Check(ctx context.Context, c ports.Call) ports.Ruling {
	if c.Name == findTools && v.finds() { // it only says what there is: no policy is about it
		r := ports.Ruling{Policy: ports.PolicyAllow, Class: ports.ClassRead}
		if why := v.box.finding.checkArguments(c.Arguments); why != "" {
			r.Outcome, r.Why = ports.CallInvalidParams, misfit+why
		}
		return r
	}
	t := v.box.find(ctx, c.Name)
	if t == nil || !v.sees(t) {
		return v.missing(c.Name)
	}
	r := ports.Ruling{Policy: t.policy, Class: t.spec.Class}
	if t.policy == ports.PolicyDeny {
		r.Outcome, r.Why = ports.CallDenied, "The admin does not allow this tool."
	} else if why := t.schema.checkArguments(c.Arguments); why != "" {
		r.Outcome, r.Why = ports.CallInvalidParams, misfit+why
	}
	return r
}

// Call runs the tool once and makes a result of whatever comes of it.
func (v *View) Call(ctx context.Context, c ports.ToolCall, host ports.Host) ports.CallResult {
	if c.Name == findTools && v.finds() {
		r, err := guard.Do(ctx, guard.Grace, v.box.leaks, "find_tools", func(ctx context.Context) (ports.CallResult, error) { return v.search(ctx, c), nil })
		if err != nil {
			v.box.log.Error("tool_search_failed", ports.TurnAttr(c.Turn), "kind", ports.KindOf(err), "err", err)
			return ports.CallResult{Outcome: ports.CallToolError, Text: "The search failed."}
		}
		return r
	}
	t := v.box.find(ctx, c.Name)
	if t == nil {
		r := v.missing(c.Name)
		return ports.CallResult{Outcome: r.Outcome, Text: r.Why}
	}
	v.called(ctx, c, t)
	c.Name = t.own
	r, err := v.box.run(ctx, t, func(ctx context.Context) (ports.ToolResult, error) { return t.port.Call(ctx, c, host) })
	if err != nil {
		v.box.log.Warn("tool_call_failed", "mcp_server", t.source.Name, "tool", t.own, ports.TurnAttr(c.Turn), "kind", ports.KindOf(err), "err", err)
		return failed(err)
	}
	return v.box.result(ctx, t, c, r)
}

// Rejoins reports whether calls of the tool may be taken up by another process.
func (v *View) Rejoins(name string) bool {
	return v.box.rejoins(name)
}

// Rejoin takes up a call that an earlier process began; ok is false where nobody
// knows of it any more.
func (v *View) Rejoin(ctx context.Context, c ports.ToolCall, host ports.Host) (r ports.CallResult, ok bool) {
	t := v.box.find(ctx, c.Name)
	if t == nil {
		return r, false
	}
	port, ok := t.port.(ports.Rejoiner)
	if !ok {
		return r, false
	}
	c.Name = t.own
	result, err := v.box.run(ctx, t, func(ctx context.Context) (ports.ToolResult, error) { return port.Rejoin(ctx, c, host) })
	switch {
	case ports.IsKind(err, ports.KindNotFound):
		return r, false
	case err != nil:
		v.box.log.Warn("tool_call_failed", "mcp_server", t.source.Name, "tool", t.own, ports.TurnAttr(c.Turn), "kind", ports.KindOf(err), "err", err)
		return failed(err), true
	}
	return v.box.result(ctx, t, c, result), true
}

// rejoins is whether a tool can take up calls; one whose server is still connecting may.
func (b *Toolbox) rejoins(name string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	t := b.tools[name]
	if t == nil {
		s := b.owner(name)
		return s != nil && s.Name != "" && s.state.Phase == ports.PhaseConnecting
	}
	_, ok := t.port.(ports.Rejoiner)
	return ok
}

// run runs a call of a tool for as long as its source is there. One that the
// source's end cut off is KindUnsure.
func (b *Toolbox) run(ctx context.Context, t *tool, call func(context.Context) (ports.ToolResult, error)) (ports.ToolResult, error) {
	lasting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-t.source.gone:
			cancel()
		case <-lasting.Done():
		}
	}()
	r, err := guard.Do(lasting, guard.Grace, b.leaks, "tool_call", call)
	if err != nil && ctx.Err() == nil && lasting.Err() != nil {
		err = &ports.Error{Kind: ports.KindUnsure, Op: "tool_call", Err: fmt.Errorf("the server was stopped while this ran: %w", err)}
	}
	return r, err
}

// missing rules on a name that is not there: its server may never have been reached.
func (v *View) missing(name string) ports.Ruling {
	v.box.mu.RLock()
	defer v.box.mu.RUnlock()
	s := v.box.owner(name)
	if s != nil && v.uses(s.Name) && s.state.Phase == ports.PhaseDisabled {
		return ports.Ruling{Outcome: ports.CallNotFound, Why: fmt.Sprintf("The server %q is disabled.", s.Name)}
	}
	if s != nil && v.uses(s.Name) && s.tools == nil && !s.state.Phase.Callable() {
		return ports.Ruling{Outcome: ports.CallTransport, Why: fmt.Sprintf("The server %q is not connected.", s.Name)}
	}
	return ports.Ruling{Outcome: ports.CallNotFound, Why: fmt.Sprintf("There is no tool named %q.", name)}
}

// uses reports whether the agent may use the server.
func (v *View) uses(server string) bool {
	return server == "" || v.servers == nil || slices.Contains(v.servers, "*") || slices.Contains(v.servers, server)
}

func (v *View) sees(t *tool) bool {
	if !v.uses(t.source.Name) {
		return false
	}
	if len(v.filter.Allow) > 0 && !matchesAny(v.filter.Allow, t.spec.Name) {
		return false
	}
	return !matchesAny(v.filter.Deny, t.spec.Name) && !slices.ContainsFunc(v.filter.Deny, t.goesBy)
}
