package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

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

// Call sends the call over the connection there is, and again only if the server
// refused to hear it. What it gives is described at ports.ToolPort; a call whose
// connection was lost when the server may have had it is KindUnsure, and
// KindUnavailable only if it was not sent or not heard. A result beyond the
// limit is KindTooLarge over HTTP; on stdio it costs the connection. host is not
// used: a server is not offered anything that it could ask for.
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
	ctx, cancel := context.WithTimeout(ctx, t.source.cfg.CallTimeout)
	defer cancel()
	params := map[string]any{"name": t.spec.Name, "arguments": json.RawMessage(args)}
	if call.Key != "" {
		params["_meta"] = map[string]string{keyMeta: publicKey(call.Key, t.spec.Name, string(args))}
	}
	raw, err := t.send(ctx, op, params, call)
	if err != nil {
		return ports.ToolResult{}, wrapCall(op, err)
	}
	result, err := decodeResult(raw)
	if err != nil {
		return ports.ToolResult{}, wrap(op, err)
	}
	return result, nil
}

// keyMeta carries the idempotency key of a call: the same when a call that was cut
// off is made again, so that a server which looks at it does nothing twice.
const keyMeta = "dragoman/idempotency-key"

// publicKey is the key as others may know it: the core's own names the chat, and
// after a restore of old data it may come again for another call.
func publicKey(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// send asks the server. A server that refused to hear the call, because it
// forgot the session, is asked once more in the session that follows.
func (t *tool) send(ctx context.Context, op string, params any, call ports.ToolCall) (json.RawMessage, error) {
	l, err := t.source.borrow(ctx, call)
	if err != nil {
		return nil, err
	}
	raw, err := l.session.call(ctx, op, params)
	l.done(err)
	var lost *lostError
	if !errors.As(err, &lost) || !lost.session || lost.sent {
		return raw, err
	}
	l, none := t.source.borrowAfter(ctx, call, l.session)
	if none != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	raw, err = l.session.call(ctx, op, params)
	l.done(err)
	return raw, err
}
