package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"dragoman/ports"
)

const (
	// taskTTL is how long a server is asked to keep a task.
	taskTTL = 24 * time.Hour
	// leastPoll and mostPoll bound how often a task is looked at.
	leastPoll = 100 * time.Millisecond
	usualPoll = time.Second
	mostPoll  = 30 * time.Second
	maxTaskID = 1 << 10
	// unheardFor is for how many time-outs of its server a task may be out of reach.
	unheardFor = 10
	// goodbyeWithin is how long the word that a task is given up may take.
	goodbyeWithin = time.Second

	methodTask       = "tasks/get"
	methodTaskResult = "tasks/result"
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
	TTL            *float64                `json:"ttl"`            // ms
	TTLMs          *float64                `json:"ttlMs"`          // ms
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

// ttl is how long the server keeps the task; 0 = it does not say.
func (t taskState) ttl() time.Duration {
	for _, ms := range []*float64{t.TTLMs, t.TTL} {
		if ms != nil && *ms > 0 {
			return time.Duration(min(*ms, 1e12)) * time.Millisecond
		}
	}
	return 0
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
	return x.follow(ctx, t, state.pause())
}

// pursuit is a task that is followed to its end.
type pursuit struct {
	*toolCall
	task     task
	flight   *flight
	begun    time.Time
	answers  map[string]any  // what was said to what the task wanted to know, by its keys
	received map[string]bool // which of them the server has
}

// follow looks at a task until it is done, for the first time after a while. A
// connection that is lost is no end: the next one is asked. If the person stopped
// the call, the server is told so; if this process ends, the task goes on.
func (x *toolCall) follow(ctx context.Context, t task, wait time.Duration) (ports.ToolResult, error) {
	x.clock.release() // a task says itself how long it is kept
	defer x.source.retain(ctx, x.call)()
	heard := time.Now()
	p := &pursuit{toolCall: x, task: t, flight: x.flight(ctx), begun: time.Now(), answers: map[string]any{}, received: map[string]bool{}}
	for {
		if !sleep(ctx, wait) {
			p.abandon(ctx)
			return ports.ToolResult{}, ctx.Err()
		}
		raw, next, err := p.look(ctx)
		var lost *lostError
		switch {
		case ctx.Err() != nil:
			p.abandon(ctx)
			return ports.ToolResult{}, ctx.Err()
		case errors.As(err, &lost) && time.Since(heard) > unheardFor*x.source.cfg.Timeout:
			return ports.ToolResult{}, &lostError{reason: "the server of the task cannot be reached: " + lost.reason, cause: err, sent: true}
		case errors.As(err, &lost): // asking again does no harm
			x.source.log.Debug("mcp_task_unreachable", "tool", x.def.Spec.Name, "err", x.source.words(err))
		case err != nil:
			if loginOf(err) == nil {
				x.source.tasks.drop(ctx, x.key)
			}
			return ports.ToolResult{}, err
		case raw != nil:
			x.source.tasks.drop(ctx, x.key)
			return decodeResult(raw)
		}
		if err == nil {
			heard = time.Now()
		}
		wait = next
	}
}

// look asks once how the task stands: raw is its result, if it is done; next is
// when to look again.
func (p *pursuit) look(ctx context.Context) (raw json.RawMessage, next time.Duration, err error) {
	next = usualPoll
	s, raw, err := p.request(ctx, methodTask, nil)
	var answer *answerError
	switch {
	case errors.As(err, &answer): // it is not about the arguments, nor about the tool
		return nil, next, &forgottenError{answer}
	case err != nil:
		return nil, next, err
	}
	state, err := decodeTask(raw)
	if err != nil {
		return nil, next, err
	}
	if state.TaskID != "" && state.TaskID != p.task.ID {
		return nil, next, malformed("asked for a task, the server tells of another")
	}
	if state.Status == taskWorking && state.ttl() > 0 && time.Since(p.begun) > state.ttl() {
		return nil, next, &forgottenError{&answerError{message: "it is still at work after the time that it is kept for (ttl)"}}
	}
	raw, err = p.step(ctx, s, state)
	return raw, state.pause(), err
}

// step draws the conclusion of a task's state.
func (p *pursuit) step(ctx context.Context, s *session, state taskState) (json.RawMessage, error) {
	switch state.Status {
	case taskWorking:
		if state.Message != "" {
			p.flight.tell(ports.Progress{Text: clip(s.redact.Replace(state.Message), maxErrorText)})
		}
		return nil, nil
	case taskInput:
		return p.input(ctx, s, state)
	case taskCancelled:
		return nil, ports.Errorf(ports.KindCancelled, "mcp task", "the server cancelled the task: %s", clip(s.redact.Replace(state.Message), maxErrorText))
	case taskCompleted, taskFailed:
		return p.outcome(ctx, s, state)
	}
	return nil, malformed("a task is in the unknown state %q", clip(state.Status, 40))
}

// outcome is the result of a task that is over.
func (p *pursuit) outcome(ctx context.Context, s *session, state taskState) (json.RawMessage, error) {
	switch {
	case !p.task.Modern:
		_, raw, err := p.request(ctx, methodTaskResult, nil)
		return raw, err
	case state.Status == taskFailed:
		return nil, s.answered(decodeErrorObject(state.Error))
	case isNull(state.Result):
		return nil, malformed("a completed task has no result")
	}
	return state.Result, nil
}

// input answers what a task wants to know, each thing once: nobody is asked again
// because an answer was lost on its way. No connection is held meanwhile. A legacy
// task asks by requests of its own while its result is waited for.
func (p *pursuit) input(ctx context.Context, s *session, state taskState) (json.RawMessage, error) {
	if !p.task.Modern {
		return p.await(ctx)
	}
	responses := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(state.Input)) {
		if p.received[key] {
			continue
		}
		if _, said := p.answers[key]; !said {
			answer, served := s.answer(ctx, state.Input[key], p.flight)
			if !served {
				return nil, malformed("the task wants %s, which it was not offered", clip(state.Input[key].Method, 60))
			}
			if ctx.Err() != nil {
				return nil, ctx.Err() // it was not answered: whoever takes the task up asks
			}
			p.answers[key] = answer
		}
		responses[key] = p.answers[key]
	}
	if len(responses) == 0 {
		return nil, nil
	}
	_, _, err := p.request(ctx, "tasks/update", map[string]any{"inputResponses": responses})
	if err == nil {
		for key := range responses {
			p.received[key] = true
		}
	}
	return nil, err
}

// await waits for the result of a legacy task, however long its person takes.
func (p *pursuit) await(ctx context.Context) (json.RawMessage, error) {
	l, err := p.source.borrow(ctx, p.call)
	if err != nil {
		return nil, err
	}
	id := l.session.lastID.Add(1)
	defer l.session.fly(id, p.flight)()
	raw, err := l.session.call(ctx, id, p.ask(methodTaskResult, nil))
	l.done(err)
	return raw, err
}

// request asks something about the task that is quickly answered.
func (p *pursuit) request(ctx context.Context, method string, more map[string]any) (*session, json.RawMessage, error) {
	l, err := p.source.borrow(ctx, p.call)
	if err != nil {
		return nil, nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, p.source.cfg.CallTimeout)
	defer cancel()
	raw, err := l.session.request(bounded, p.ask(method, more))
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = &lostError{reason: fmt.Sprintf("no answer to %s", method), cause: err, sent: true}
	}
	verdict := err
	if loginOf(err) == nil {
		verdict = nil // what becomes of a task says nothing of the server's other tools
	}
	l.done(verdict)
	return l.session, raw, err
}

func (p *pursuit) ask(method string, more map[string]any) ask {
	params := map[string]any{"taskId": p.task.ID}
	maps.Copy(params, more)
	return ask{method: method, name: p.task.ID, params: params}
}

// abandon tells the server that nobody waits for the task any more. Where this
// process leaves, somebody will: the next one.
func (p *pursuit) abandon(ctx context.Context) {
	if errors.Is(context.Cause(ctx), ports.ErrLeaving) {
		return
	}
	tell, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeWithin)
	defer cancel()
	l, err := p.source.borrow(tell, p.call)
	if err == nil {
		if l.session.modern || l.session.can.taskCancel {
			_, err = l.session.request(tell, p.ask("tasks/cancel", nil))
		}
		l.done(err)
	}
	if err != nil {
		p.source.log.Debug("mcp_task_not_cancelled", "tool", p.def.Spec.Name, "err", p.source.words(err))
	}
	p.source.tasks.drop(tell, p.key)
}
