package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// replayFor bounds a replay: nothing in it waits for anybody.
const replayFor = time.Minute

// Rules is what a toolbox says of a call before it runs.
type Rules interface {
	Specs(ctx context.Context, in ports.Conversation) []ports.ToolSpec
	Check(ctx context.Context, c ports.Call) ports.Ruling
}

// The causes of a lane's end in a replay.
var (
	errReplayDied   = errors.New("the recorded process died here")
	errReplayHalted = errors.New("the recording ends here")
)

// Replay runs a recorded turn anew with the code of this process: the model says
// what it said, the tools give what they gave, the person answers, stops and
// writes as they did, and the process dies where it died. The rules and the
// wording of questions are the ones given. Nothing is written, sent or run.
//
// The error is about the recording, which may be of another version or
// incomplete; what the turn does in another way than it did is no error.
func Replay(ctx context.Context, cfg Config, rules Rules, asker Asker, rec ports.Recording, log *slog.Logger) (Comparison, error) {
	s, err := readScript(rec, asker)
	if err != nil {
		return Comparison{}, err
	}
	window := 0
	for _, m := range cfg.Models {
		if window == 0 || m.ContextTokens < window {
			window = m.ContextTokens
		}
	}
	p := newPlayer(s, rules, cfg.StaleAfter)
	ctx, cancel := context.WithTimeout(ctx, replayFor)
	defer cancel()
	if err := p.play(ctx, cfg, window, asker, log); err != nil {
		return Comparison{}, err
	}
	return p.compare(), nil
}

// play runs the turn's activations until it is over, waits for an answer that
// the recording does not have, or leaves the recording.
func (p *player) play(ctx context.Context, cfg Config, window int, asker Asker, log *slog.Logger) error {
	for range 2*len(p.script.steps) + len(p.script.asked) + 4 {
		lane, cancel := context.WithCancelCause(ctx)
		act := &activation{cancel: cancel, news: make(chan struct{}, 1), left: make(chan struct{})}
		work := p.begin(act)
		cfg.Models = []Model{{Name: "recorded", Port: replayModel{p, act}, ContextTokens: window}}
		cfg.Settings = func(context.Context, ports.Conversation) (ports.Settings, error) {
			return ports.Settings{Busy: p.script.busy()}, nil
		}
		a := New(cfg, replayStore{p}, replayTools{p, act}, asker, replaySpeech{p}, &guard.Leaks{}, replayMeter{p, act}, log)
		a.script = replayMemos{p}
		err := a.Turn(lane, ports.Lease{In: p.script.rec.Turn.In, Epoch: 1}, work, act.news)
		p.leave(act)
		cancel(nil)
		if ctx.Err() != nil {
			return fmt.Errorf("the replay of turn %s got stuck after %d steps: %w", p.script.rec.Turn.ID, p.length(), ctx.Err())
		}
		if done := p.end(err); done {
			return nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.halted = "it comes to no end"
	return nil
}

// leave ends an activation: what its calls still do is of no turn any more.
func (p *player) leave(act *activation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	act.over = true
	close(act.left)
}

// end looks at what an activation left, and settles what it asked.
func (p *player) end(err error) (done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := ports.TurnRunning
	if p.turn != nil {
		state = p.turn.State
	}
	switch {
	case p.halted != "" || state == ports.TurnDone:
		return true
	case p.act.died:
		return false
	case err != nil:
		p.halted = "the turn broke off: " + err.Error()
		return true
	case state != ports.TurnParked:
		p.halted = "the turn was left without an end"
		return true
	}
	n := len(p.steps)
	asked, was := p.asked[n], p.script.asked[n]
	if len(asked) > len(was) || was[len(asked)-1].Kind != asked[len(asked)-1].Kind || was[len(asked)-1].State == ports.QuestionOpen {
		return true
	}
	p.settle(was[len(asked)-1])
	return false
}

// settle lets the open question be settled as the recorded one was. mu is held.
func (p *player) settle(was ports.Question) {
	q := *p.question
	q.State, q.Answers, q.Posted = was.State, was.Answers, was.Posted
	p.question, p.turn.State = &q, ports.TurnRunning
	switch was.State {
	case ports.QuestionAnswered:
		p.takeAnswer()
	case ports.QuestionSuperseded:
		if was.Kind != ports.QuestionStale { // what came instead of that answer is a turn of its own
			joining := p.script.joining(len(p.steps))
			p.wait(joining...)
			if p.script.anew && len(joining) == 0 {
				p.writeAnew()
			}
		}
	case ports.QuestionStopped:
		p.wait(p.script.stop()...)
	}
}
