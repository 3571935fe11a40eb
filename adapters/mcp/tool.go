package mcp

import (
	"bytes"
	"context"
	"encoding/json"

	"dragoman/ports"
)

// tool is one tool of a server. It outlives connections: a call goes over the
// one that there is.
type tool struct {
	source *Source
	spec   ports.ToolSpec
}

var _ ports.ToolPort = (*tool)(nil)

// Spec is the tool as its server described it.
func (t *tool) Spec() ports.ToolSpec { return t.spec }

// Call sends the call once, over the connection there is. What it gives
// is described at ports.ToolPort; beside that, a call whose connection was lost
// when the server may have had it is KindUnsure. It is KindUnavailable only if
// it was never sent. host is not used: a server is not offered
// anything that it could ask for.
func (t *tool) Call(ctx context.Context, call ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	const op = "tools/call"
	if err := ctx.Err(); err != nil {
		return ports.ToolResult{}, wrap(op, err)
	}
	args := bytes.TrimSpace(call.Arguments)
	switch {
	case len(args) == 0:
		args = []byte(`{}`)
	case !isObject(args) || !json.Valid(args):
		return ports.ToolResult{}, ports.Errorf(ports.KindInvalid, "mcp "+op, "arguments are no JSON object")
	}
	s := t.source.session.Load()
	if s == nil {
		return ports.ToolResult{}, wrap(op, &lostError{reason: "the server is not connected"})
	}
	ctx, cancel := context.WithTimeout(ctx, t.source.cfg.CallTimeout)
	defer cancel()
	raw, err := s.call(ctx, op, map[string]any{"name": t.spec.Name, "arguments": json.RawMessage(args)})
	if err != nil {
		return ports.ToolResult{}, wrapCall(op, err)
	}
	result, err := decodeResult(raw)
	if err != nil {
		return ports.ToolResult{}, wrap(op, err)
	}
	return result, nil
}
