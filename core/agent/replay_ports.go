package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/ports"
)

// noRetry is longer than an agent waits for a model that asks for a pause.
const noRetry = 2 * retryAfterMax

// replayModel replies what was replied.
type replayModel struct {
	p   *player
	act *activation
}

var _ ports.ModelPort = replayModel{}

// Generate gives the next recorded reply, or what came in its place.
func (m replayModel) Generate(ctx context.Context, r ports.ModelRequest, _ func(string)) (ports.ModelReply, error) {
	p := m.p
	p.mu.Lock()
	if m.act.over {
		p.mu.Unlock()
		return ports.ModelReply{}, errReplayDied
	}
	if memo, ok := p.summaryOf(r); ok {
		p.mu.Unlock()
		return memo, nil
	}
	n := p.replies
	if n < len(p.script.replies) {
		p.replies++
		p.prompts = append(p.prompts, r.Entries)
		b := p.script.replies[n]
		p.mu.Unlock()
		reply := ports.ModelReply{Text: b.Text, Calls: slices.Clone(b.Calls), State: b.State, Model: b.Model, Stop: b.Stop}
		if b.Usage != nil {
			reply.Usage = *b.Usage
		}
		return reply, nil
	}
	away := p.unasked(len(p.steps)) != nil || p.script.end == endStale // nothing is asked while a model is
	p.mu.Unlock()
	if away {
		p.die(m.act, "the process died while the model was asked")
		<-ctx.Done()
		return ports.ModelReply{}, ctx.Err()
	}
	switch p.script.end {
	case endModel:
		return ports.ModelReply{}, &ports.Error{Kind: p.script.kind, Op: "recorded model", RetryAfter: noRetry, Err: fmt.Errorf("reply %d was a failure", n+1)}
	case endStopped:
		p.stop(m.act)
	case endTime:
		p.timeUp(m.act)
	case endGivenUp:
		p.die(m.act, "the process died while the model was asked")
	case endNone:
		p.halt(m.act, untilHere)
	default:
		p.halt(m.act, "it asks the model for reply %d, the recording has %d", n+1, n)
	}
	<-ctx.Done()
	return ports.ModelReply{}, ctx.Err()
}

// replayTools rules as today and gives the recorded results.
type replayTools struct {
	p   *player
	act *activation
}

var _ Toolbox = replayTools{}

// Rejoins is never so: a call that was taken up has its result in the recording.
func (b replayTools) Rejoins(string) bool { return false }

// Starting has nothing to wait for.
func (b replayTools) Starting(context.Context) <-chan struct{} { return nil }

// Rejoin has nothing to take up.
func (b replayTools) Rejoin(context.Context, ports.ToolCall, ports.Host) (ports.CallResult, bool) {
	return ports.CallResult{}, false
}

func (b replayTools) Specs(ctx context.Context, in ports.Conversation) []ports.ToolSpec {
	return b.p.rules.Specs(ctx, in)
}

// Check asks today's rules. What only a server or its schema could say is as it was.
func (b replayTools) Check(ctx context.Context, c ports.Call) ports.Ruling {
	r := b.p.rules.Check(ctx, c)
	was, ok := b.p.ruled(c)
	if !ok || r.Outcome == was.Outcome || r.Outcome == ports.CallDenied || r.Outcome == ports.CallInvalidParams {
		return r
	}
	switch was.Outcome {
	case ports.CallInvalidParams, ports.CallNotFound, ports.CallTransport:
		r.Outcome, r.Why = was.Outcome, was.Text
	case ports.CallInterrupted: // it was ruled out before it could run again
		if why, ok := strings.CutPrefix(was.Text, wasInterrupted+" "); ok {
			r.Outcome, r.Why = ports.CallTransport, why
		}
	}
	return r
}

func (b replayTools) Call(ctx context.Context, c ports.ToolCall, _ ports.Host) ports.CallResult {
	return b.p.run(ctx, b.act, c)
}

// ruled is the recorded result of a call that was ruled out before it ran, or
// before it ran again.
func (p *player) ruled(c ports.Call) (ports.CallResult, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.replies - 1
	if n < 0 {
		return ports.CallResult{}, false
	}
	step := p.script.rounds[n]
	for i, have := range p.script.replies[n].Calls {
		id := callID{step, i}
		if have.ID != c.ID || have.Name != c.Name || !same(have.Arguments, c.Arguments) || p.act.checked[id] || p.results[id] {
			continue
		}
		p.act.checked[id] = true
		was, ok := p.script.settled[id]
		return was, ok
	}
	return ports.CallResult{}, false
}

// replayMeter hears when a call has come home.
type replayMeter struct {
	p   *player
	act *activation
}

var _ Meter = replayMeter{}

func (replayMeter) Turn(string, ports.Outcome, time.Duration)       {}
func (replayMeter) Model(string, string, ports.Tokens, ports.Money) {}
func (replayMeter) Result(string, ports.CallOutcome)                {}
func (m replayMeter) Ran(time.Duration)                             { m.p.landed(m.act) }

// replaySpeech says nothing to anybody.
type replaySpeech struct{ p *player }

var _ Outbox = replaySpeech{}

// RenderFor leaves content as it is: how a platform shows it is no part of a turn.
func (replaySpeech) RenderFor(_ string, _ ports.Conversation, c ports.Content) []ports.Content {
	return []ports.Content{c}
}
func (replaySpeech) Wake(ports.Lease) {}
func (replaySpeech) Live(context.Context, ports.Lease, ports.Preview) Live {
	return replayLive{}
}

type replayLive struct{}

func (replayLive) Text(string)           {}
func (replayLive) Working(func() string) {}
func (replayLive) Close() string         { return "" }
