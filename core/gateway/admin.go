package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"dragoman/core/access"
	"dragoman/core/agent"
	"dragoman/ports"
)

// adminCallLimit bounds an admin's call whose server has no limit of its own.
const adminCallLimit = 10 * time.Minute

// Servers lists the tool sources.
func (g *Gateway) Servers(context.Context) ([]ports.ServerInfo, error) { return g.tools.Servers(), nil }

// Tools lists all tools.
func (g *Gateway) Tools(context.Context) ([]ports.ToolInfo, error) { return g.tools.Tools(), nil }

// CallTool calls a tool as an admin. See ports.Admin.
func (g *Gateway) CallTool(ctx context.Context, name string, args json.RawMessage, timeout time.Duration) (ports.CallReport, error) {
	if timeout <= 0 {
		timeout = adminCallLimit
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	key := "admin/" + strconv.FormatInt(began.UnixNano(), 36)
	info, r := g.tools.Call(ctx, name, args, ports.ToolCall{Person: "admin", Key: key}, agent.NewHost(g.log, name, nil))
	if info.Server == "" {
		info.Server, info.Tool = g.tools.Origin(name) // of a tool that is not there, the server that it would be of
	}
	g.metrics.Result(name, r.Outcome)
	switch r.Outcome {
	case ports.CallInvalidParams, ports.CallNotFound, ports.CallDenied: // it did not run
	default:
		g.metrics.Ran(time.Since(began))
	}
	g.log.Info("admin_tool_call", "mcp_server", info.Server, "tool", name, "outcome", r.Outcome, "dur", time.Since(began))
	shown := any(args)
	if !json.Valid(args) {
		shown = string(args)
	}
	detail, err := json.Marshal(map[string]any{"arguments": shown, "outcome": r.Outcome})
	if err == nil {
		err = g.opt.Audit.Append(context.WithoutCancel(ctx), ports.AuditEntry{Actor: "admin", What: "tool_call", Ref: name, Detail: detail})
	}
	if err != nil {
		return ports.CallReport{}, fmt.Errorf("the call ran (%s) but could not be audited: %w", r.Outcome, err)
	}
	if r.Content == nil {
		r.Content = []ports.Block{}
	}
	return ports.CallReport{Server: info.Server, Tool: info.Tool, Outcome: r.Outcome, Content: r.Content, Text: r.Text,
		Structured: r.Structured, IsError: r.Outcome != ports.CallOK}, nil
}

// Pairings lists who asked for access and who has it.
func (g *Gateway) Pairings(ctx context.Context) ([]ports.Pairing, error) {
	return g.access.Pairings(ctx)
}

// Approve lets somebody in and tells them so.
func (g *Gateway) Approve(ctx context.Context, code string, role ports.Role) (ports.Pairing, error) {
	who, err := g.access.Approve(ctx, code, role, func(ctx context.Context, who access.Approved) error {
		if err := g.opt.Audit.Append(ctx, ports.AuditEntry{Actor: "admin", What: "pair_approve", Ref: who.Identity}); err != nil {
			return err
		}
		g.mu.Lock()
		in, box := g.inbox, g.outbox
		g.mu.Unlock()
		switch {
		case in == nil && len(g.opt.Channels) > 0:
			return ports.Errorf(ports.KindUnavailable, "approve", "the gateway is only starting (try again)")
		case in == nil:
			return nil // nothing runs here that could tell them
		}
		key := "approved/" + who.Identity + "/" + code
		return in.Post(ctx, who.In, key, notice(box, who.In, key, "You are in: the admin has let you in. Write to me!", nil))
	})
	return who.Pairing, err
}

// Revoke takes somebody's access away.
func (g *Gateway) Revoke(ctx context.Context, id string) (ports.Pairing, error) {
	who, err := g.access.Revoke(ctx, id)
	if err == nil {
		g.audit(ctx, "pair_revoke", who.Identity)
	}
	return who, err
}

// Entries reads the audit.
func (g *Gateway) Entries(ctx context.Context, limit int) ([]ports.AuditEntry, error) {
	return g.opt.Audit.Entries(ctx, limit)
}

// Used sums what was spent on models.
func (g *Gateway) Used(ctx context.Context, q ports.UsageQuery) ([]ports.Used, error) {
	return g.opt.Usage.Used(ctx, q)
}

func (g *Gateway) audit(ctx context.Context, what, ref string) {
	if err := g.opt.Audit.Append(ctx, ports.AuditEntry{Actor: "admin", What: what, Ref: ref}); err != nil {
		g.log.Error("audit_failed", "what", what, "kind", ports.KindOf(err), "err", err)
	}
}
