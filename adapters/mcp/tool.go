package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"dragoman/ports"
)

const methodCall = "tools/call"

// tool is one tool of a server. It outlives connections: a call goes over the
// one that there is.
type tool struct {
	source *Source
	def    definition
}

var (
	_ ports.ToolPort = (*tool)(nil)
	_ ports.Rejoiner = (*tool)(nil)
)

// Spec is the tool as its server described it.
func (t *tool) Spec() ports.ToolSpec { return t.def.Spec }

// Call sends the call over the connection there is, and again only if the server
// refused to hear it. What it gives is described at ports.ToolPort; a call whose
// connection was lost when the server may have had it is KindUnsure, and
// KindUnavailable only if it was not sent or not heard. A call that becomes a task
// is followed to its end, over as many connections as it takes; one with the key of
// a task that an earlier call began is that task. Progress gives a call its time
// anew. A result beyond the limit is KindTooLarge, and costs no other call.
func (t *tool) Call(ctx context.Context, call ports.ToolCall, host ports.Host) (ports.ToolResult, error) {
	return t.run(ctx, call, host, func(ctx context.Context, x *toolCall) (ports.ToolResult, error) {
		if known, ok := t.source.tasks.of(ctx, x.key); ok {
			return x.follow(ctx, known, 0)
		}
		return x.make(ctx)
	})
}

// Rejoin follows the task of a call that an earlier process began. See ports.Rejoiner.
func (t *tool) Rejoin(ctx context.Context, call ports.ToolCall, host ports.Host) (ports.ToolResult, error) {
	return t.run(ctx, call, host, func(ctx context.Context, x *toolCall) (ports.ToolResult, error) {
		known, ok := t.source.tasks.find(ctx, x.key)
		if !ok {
			return ports.ToolResult{}, errNoTask
		}
		result, err := x.follow(ctx, known, 0)
		var forgotten *forgottenError
		if errors.As(err, &forgotten) {
			err = errNoTask
		}
		return result, err
	})
}

// toolCall is one call of a tool, over whatever connections it takes.
type toolCall struct {
	*tool
	call  ports.ToolCall
	host  ports.Host
	key   string // as others may know it; "" = none
	args  json.RawMessage
	clock *callClock
}

// run is what calls have in common: the arguments, the time, the log, the error.
func (t *tool) run(ctx context.Context, call ports.ToolCall, host ports.Host,
	do func(context.Context, *toolCall) (ports.ToolResult, error)) (ports.ToolResult, error) {
	if err := ctx.Err(); err != nil {
		return ports.ToolResult{}, wrap(methodCall, err)
	}
	args := bytes.TrimSpace(call.Arguments)
	switch {
	case len(args) == 0:
		args = []byte(`{}`)
	case !isObject(args) || !json.Valid(args):
		return ports.ToolResult{}, ports.Errorf(ports.KindInvalid, "mcp "+methodCall, "arguments are no JSON object")
	}
	call.Name = t.def.Spec.Name // the server's own: what it is trusted with goes by that
	x := &toolCall{tool: t, call: call, host: host, args: json.RawMessage(args)}
	if call.Key != "" {
		x.key = publicKey(call.Key, t.def.Spec.Name, string(args))
	}
	log := t.source.log.With("tool", t.def.Spec.Name, ports.TurnAttr(call.Turn))
	log.Info("mcp_tool_call_started")
	begun := time.Now()
	timed, clock := withClock(ctx, t.source.cfg.CallTimeout)
	defer clock.stop()
	x.clock = clock
	result, err := do(timed, x)
	if err != nil {
		err = wrapCall(methodCall, timeOver(timed, err))
		log.Warn("mcp_tool_call_failed", "kind", ports.KindOf(err), "err", t.source.wordsWithin(err, t.source.cfg.CallTimeout), "dur", time.Since(begun))
		return ports.ToolResult{}, err
	}
	status := "ok"
	if result.IsError {
		status = "failed"
	}
	x.readLinks(timed, result)
	log.Info("mcp_tool_call_completed", "status", status, "dur", time.Since(begun))
	return result, nil
}

// make asks the server to run the tool.
func (x *toolCall) make(ctx context.Context) (ports.ToolResult, error) {
	var open openInput
	if r := x.call.Resume; r != nil {
		if err := json.Unmarshal(r.State, &open); err != nil {
			return ports.ToolResult{}, malformed("the state of the open call is not readable: %v", err)
		}
	}
	for range maxRounds {
		l, raw, err := x.send(ctx, open)
		if err != nil {
			return ports.ToolResult{}, err
		}
		members, err := membersOf(raw)
		if err != nil {
			return ports.ToolResult{}, err
		}
		kind, err := members.kind(l.session.modern)
		switch {
		case err != nil:
			return ports.ToolResult{}, err
		case kind == resultTask:
			return x.begin(ctx, l.session, raw)
		case kind == resultComplete:
			return members.result()
		}
		open = openInput{}
		if open.Requests, open.State, err = decodeInput(raw); err != nil {
			return ports.ToolResult{}, err
		}
		needs, alone, err := l.session.needs(open)
		if err != nil {
			return ports.ToolResult{}, err
		}
		if !alone {
			return ports.ToolResult{NeedsInput: needs}, nil
		}
		x.call.Resume = &ports.Resume{State: needs.State}
	}
	return ports.ToolResult{}, malformed("the tool asked for input %d times without an end", maxRounds)
}

// maxRounds is how often a tool may ask for what needs no person.
const maxRounds = 10

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
func (x *toolCall) send(ctx context.Context, open openInput) (*loan, json.RawMessage, error) {
	l, err := x.source.borrow(ctx, x.call)
	if err != nil {
		return nil, nil, err
	}
	raw, err := x.over(ctx, l.session, open)
	l.done(err)
	var lost *lostError
	if !errors.As(err, &lost) || !lost.session || lost.sent {
		return l, raw, err
	}
	l, none := x.source.borrowAfter(ctx, x.call, l.session)
	if none != nil {
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	raw, err = x.over(ctx, l.session, open)
	l.done(err)
	return l, raw, err
}

// over makes the call in a session.
func (x *toolCall) over(ctx context.Context, s *session, open openInput) (json.RawMessage, error) {
	id := s.lastID.Add(1)
	a := ask{method: methodCall, name: x.def.Spec.Name, meta: map[string]any{"progressToken": id},
		params: map[string]any{"name": x.def.Spec.Name, "arguments": x.args}}
	if x.key != "" {
		a.meta[keyMeta] = x.key
	}
	if s.modern {
		a.header = make(http.Header)
		params, err := paramHeaders(x.def.Spec.InputSchema, x.args)
		if err != nil {
			return nil, malformed("the arguments do not fit into headers: %v", err)
		}
		maps.Copy(a.header, params)
	}
	if r := x.call.Resume; r != nil {
		if len(open.Requests) > 0 {
			a.params["inputResponses"] = s.responses(open, r.Answers)
		}
		if open.State != nil {
			a.params["requestState"] = *open.State
		}
	}
	if x.def.AsTask && !s.modern && s.can.taskCalls {
		a.params["task"] = map[string]any{"ttl": taskTTL.Milliseconds()}
	}
	defer s.fly(id, x.flight(ctx))()
	raw, err := s.call(ctx, id, a)
	return raw, timeOver(ctx, err)
}

// timeOver is err, or the deadline's error where the call's own time was over.
func timeOver(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errCallTime) {
		return context.DeadlineExceeded
	}
	return err
}

// flight is the call as the server's own messages find it.
func (x *toolCall) flight(ctx context.Context) *flight {
	f := &flight{clock: x.clock, report: func(ports.Progress) {}}
	f.ask = func(context.Context, ports.Question) (ports.Answer, error) {
		return ports.Answer{}, ports.Errorf(ports.KindInvalid, "ask", "nobody can be asked")
	}
	if x.host != nil {
		f.report = func(p ports.Progress) { x.host.Progress(ctx, p) }
		f.ask = x.host.Ask
	}
	return f
}

// The kinds of a result (MCP basic, "ResultType").
const (
	resultComplete = "complete"
	resultInput    = "input_required"
	resultTask     = "task"
)

// kind tells what a result of tools/call is. Revision 2025-11-25 has a member
// task where later ones have a type. A type that nobody knows makes a modern
// result invalid ("ResultType"); an older one may have a member of that name.
func (r resultMembers) kind(modern bool) (string, error) {
	switch kind := text(r.ResultType); {
	case modern && (kind == resultTask || kind == resultInput):
		return kind, nil
	case isNull(r.Content) && isNull(r.Structured) && isObject(r.Task):
		return resultTask, nil
	case kind != "" && kind != resultComplete && (modern || isNull(r.Content)):
		return "", malformed("the result of %s is of the unknown kind %q", methodCall, clip(kind, 40))
	}
	return resultComplete, nil
}

// decodeInput takes a result that wants more of the client (MCP basic/patterns/mrtr).
func decodeInput(raw json.RawMessage) (map[string]inputRequest, *string, error) {
	var r struct {
		Requests map[string]inputRequest `json:"inputRequests"`
		State    *string                 `json:"requestState"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, nil, malformed("the tool's request for input is malformed: %v", err)
	}
	if len(r.Requests) == 0 && r.State == nil {
		return nil, nil, malformed("the tool wants input and does not say which")
	}
	return r.Requests, r.State, nil
}
