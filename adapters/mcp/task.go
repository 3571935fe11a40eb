package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dragoman/ports"
)

const (
	// taskTTL is how long a server is asked to keep a task.
	taskTTL = 24 * time.Hour
	// leastPoll and mostPoll bound how often a task is looked at.
	leastPoll  = 100 * time.Millisecond
	usualPoll  = time.Second
	mostPoll   = 30 * time.Second
	maxTaskID  = 1 << 10
	methodTask = "tasks/get"
	// goodbyeWithin is how long the word that a task is given up may take.
	goodbyeWithin = time.Second
)

// errNoTask is a call of which no task is known.
var errNoTask = &answerError{code: -32601, message: "no task is known of this call"}

// forgottenError is a task that its server does not know any more: the call began,
// and nobody knows what it did.
type forgottenError struct{ answer *answerError }

func (e *forgottenError) Error() string {
	return "the server says of its task: " + e.answer.Error()
}

// task is a call that its server runs by itself: an experiment of revision
// 2025-11-25 (basic/utilities/tasks), an extension from 2026-07-28 on (SEP-2663).
type task struct {
	ID     string `json:"id"`
	Modern bool   `json:"modern"`
	Tool   string `json:"tool"`
}

// taskState is a task as its server tells it, in both flavours.
type taskState struct {
	TaskID         string                  `json:"taskId"`
	Status         string                  `json:"status"`
	Message        string                  `json:"statusMessage"`
	PollInterval   float64                 `json:"pollInterval"`   // ms
	PollIntervalMs float64                 `json:"pollIntervalMs"` // ms
	Result         json.RawMessage         `json:"result"`
	Error          json.RawMessage         `json:"error"`
	Input          map[string]inputRequest `json:"inputRequests"`
}

// The states of a task.
const (
	taskWorking   = "working"
	taskInput     = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// pause is how long to wait before the next look.
func (t taskState) pause() time.Duration {
	ms := max(t.PollInterval, t.PollIntervalMs)
	if ms <= 0 {
		return usualPoll
	}
	return min(max(time.Duration(min(ms, 1e9))*time.Millisecond, leastPoll), mostPoll)
}

func decodeTask(raw json.RawMessage) (taskState, error) {
	var t taskState
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, malformed("a task is malformed: %v", err)
	}
	return t, nil
}

// begin follows a call that became a task. It is kept before it is followed, so
// that another process can take it up.
func (x *toolCall) begin(ctx context.Context, s *session, raw json.RawMessage) (ports.ToolResult, error) {
	if !s.modern {
		var r struct {
			Task json.RawMessage `json:"task"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return ports.ToolResult{}, malformed("a task is malformed: %v", err)
		}
		raw = r.Task
	}
	state, err := decodeTask(raw)
	switch {
	case err != nil:
		return ports.ToolResult{}, err
	case state.TaskID == "" || len(state.TaskID) > maxTaskID:
		return ports.ToolResult{}, malformed("the task has no usable id")
	}
	t := task{ID: state.TaskID, Modern: s.modern, Tool: x.def.Spec.Name}
	x.source.tasks.keep(ctx, x.key, t)
	return x.follow(ctx, t)
}

// follow looks at a task until it is done. A connection that is lost is no end: the
// next one is asked. If the person stopped the call, the server is told so; if this
// process ends, the task goes on.
func (x *toolCall) follow(ctx context.Context, t task) (ports.ToolResult, error) {
	x.clock.release() // a task says itself how long it is kept
	defer x.source.retain(ctx, x.call)()
	answered := map[string]bool{}
	for {
		raw, state, err := x.look(ctx, t, answered)
		if ctx.Err() != nil {
			x.abandon(ctx, t)
			return ports.ToolResult{}, ctx.Err()
		}
		if err != nil {
			x.forget(ctx, err)
			return ports.ToolResult{}, err
		}
		if raw != nil {
			x.source.tasks.drop(ctx, x.key)
			return decodeResult(raw)
		}
		if !sleep(ctx, state.pause()) {
			x.abandon(ctx, t)
			return ports.ToolResult{}, ctx.Err()
		}
	}
}

// look asks once how a task stands; raw is its result, if it is done.
func (x *toolCall) look(ctx context.Context, t task, answered map[string]bool) (raw json.RawMessage, state taskState, err error) {
	l, err := x.source.borrow(ctx, x.call)
	if err != nil {
		return nil, state, x.patience(ctx, err)
	}
	raw, err = x.askTask(ctx, l.session, methodTask, t, nil)
	if err == nil {
		state, err = decodeTask(raw)
	}
	if err == nil {
		raw, err = x.step(ctx, l.session, t, state, answered)
	}
	l.done(err)
	var lost *lostError
	if errors.As(err, &lost) {
		return nil, state, x.patience(ctx, err) // asking again does no harm
	}
	return raw, state, err
}

// patience is nil while a task may still be heard of: its server is away for a moment.
func (x *toolCall) patience(ctx context.Context, err error) error {
	var lost *lostError
	if !errors.As(err, &lost) || ctx.Err() != nil {
		return err
	}
	x.source.log.Debug("mcp_task_unreachable", "tool", x.def.Spec.Name, "err", err)
	return nil
}

// step draws the conclusion of a task's state.
func (x *toolCall) step(ctx context.Context, s *session, t task, state taskState, answered map[string]bool) (json.RawMessage, error) {
	switch state.Status {
	case taskWorking:
	case taskInput:
		return x.input(ctx, s, t, state, answered)
	case taskCancelled:
		return nil, ports.Errorf(ports.KindCancelled, "mcp task", "the server cancelled the task: %s", clip(s.redact.Replace(state.Message), maxErrorText))
	case taskCompleted, taskFailed:
		return x.outcome(ctx, s, t, state)
	default:
		return nil, malformed("a task is in the unknown state %q", clip(state.Status, 40))
	}
	if x.host != nil && state.Message != "" {
		x.host.Progress(ctx, ports.Progress{Text: clip(s.redact.Replace(state.Message), maxErrorText)})
	}
	return nil, nil
}

// outcome is the result of a task that is over.
func (x *toolCall) outcome(ctx context.Context, s *session, t task, state taskState) (json.RawMessage, error) {
	switch {
	case !t.Modern:
		return x.askTask(ctx, s, "tasks/result", t, nil)
	case state.Status == taskFailed:
		return nil, s.answered(decodeErrorObject(state.Error))
	case isNull(state.Result):
		return nil, malformed("a completed task has no result")
	}
	return state.Result, nil
}

// input answers what a task wants to know, each thing once. A legacy one asks by
// requests of its own while its result is waited for.
func (x *toolCall) input(ctx context.Context, s *session, t task, state taskState, answered map[string]bool) (json.RawMessage, error) {
	if !t.Modern {
		return x.askTask(ctx, s, "tasks/result", t, nil)
	}
	responses := map[string]any{}
	for key, r := range state.Input {
		if answered[key] {
			continue
		}
		said, served := s.answer(ctx, r, x.flight(ctx))
		if !served {
			return nil, malformed("the task wants %s, which it was not offered", clip(r.Method, 60))
		}
		responses[key] = said
	}
	if len(responses) == 0 {
		return nil, nil
	}
	_, err := x.askTask(ctx, s, "tasks/update", t, map[string]any{"inputResponses": responses})
	if err == nil {
		for key := range responses {
			answered[key] = true
		}
	}
	return nil, err
}

// askTask sends a request about a task. All but the wait for a result are quick.
func (x *toolCall) askTask(ctx context.Context, s *session, method string, t task, more map[string]any) (json.RawMessage, error) {
	params := map[string]any{"taskId": t.ID}
	for name, value := range more {
		params[name] = value
	}
	id := s.lastID.Add(1)
	a := ask{method: method, name: t.ID, params: params}
	if method == "tasks/result" {
		defer s.fly(id, x.flight(ctx))()
		return s.call(ctx, id, a)
	}
	bounded, cancel := context.WithTimeout(ctx, x.source.cfg.CallTimeout)
	defer cancel()
	raw, err := s.requestAs(bounded, id, a)
	var answer *answerError
	if errors.As(err, &answer) { // it is not about the arguments, nor about the tool
		err = &forgottenError{answer}
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = &lostError{reason: fmt.Sprintf("no answer to %s", method), cause: err, sent: true}
	}
	return raw, err
}

// abandon tells the server that nobody waits for a task any more. Where this
// process leaves, somebody will: the next one.
func (x *toolCall) abandon(ctx context.Context, t task) {
	if errors.Is(context.Cause(ctx), ports.ErrLeaving) {
		return
	}
	tell, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeWithin)
	defer cancel()
	l, err := x.source.borrow(tell, x.call)
	if err == nil {
		_, err = x.askTask(tell, l.session, "tasks/cancel", t, nil)
		l.done(err)
	}
	if err != nil {
		x.source.log.Debug("mcp_task_not_cancelled", "tool", x.def.Spec.Name, "err", err)
	}
	x.source.tasks.drop(tell, x.key)
}

// forget drops a task that its server does not know, or that ended badly.
func (x *toolCall) forget(ctx context.Context, err error) {
	var lost *lostError
	if !errors.As(err, &lost) && loginOf(err) == nil {
		x.source.tasks.drop(ctx, x.key)
	}
}
