// Package agent runs turns: it asks the model, has the tools called that the
// model wants, and ends each turn in exactly one of an answer, a question to the
// person, a plain failure or "stopped".
//
// A turn is driven by its journal (the steps of the store), never by memory: the
// same code goes on with a turn that just began, one that was parked on a
// question days ago, and one that a crash cut off. What a row says happened is
// not done again; what a start row says was begun, and has no result, is run
// again only if it is known to be harmless, and otherwise its person decides.
package agent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// Store is the slice of the store that a turn writes to.
type Store interface {
	Load(ctx context.Context, l ports.Lease) (ports.Work, error)
	History(ctx context.Context, l ports.Lease, limit int) ([]ports.Past, error)
	Record(ctx context.Context, l ports.Lease, c ports.Change) error
	Park(ctx context.Context, l ports.Lease, c ports.Change) error
	Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error
}

// Toolbox is the agent's tools.
type Toolbox interface {
	// Specs lists the tools that the model is shown in a conversation. Their order is
	// the same from one call to the next.
	Specs(ctx context.Context, in ports.Conversation) []ports.ToolSpec
	// Starting is nil, or closed as soon as servers that were just started are there,
	// had their moment to be, or ctx ended.
	Starting(ctx context.Context) <-chan struct{}
	Check(ctx context.Context, c ports.Call) ports.Ruling
	Call(ctx context.Context, c ports.ToolCall, host ports.Host) ports.CallResult
	// Rejoin takes up a call that an earlier process began, where its server still
	// has it; ok is false where nobody knows of it any more.
	Rejoin(ctx context.Context, c ports.ToolCall, host ports.Host) (r ports.CallResult, ok bool)
	// Rejoins reports whether calls of this tool may be taken up at all.
	Rejoins(name string) bool
}

// Asker words questions: an approval, what to do about an unknown outcome, or
// whether what was written long ago is still wanted.
type Asker interface {
	Approval(a ports.About) (ports.Question, ports.Content)
	Unknown(a ports.About) (ports.Question, ports.Content)
	Stale(a ports.About) (ports.Question, ports.Content)
	// Current reports whether q is the question of a turn whose journal has steps
	// rows: an answer counts only until something is recorded after it.
	Current(q ports.Question, steps int) bool
	// Settled takes the buttons off the prompt of a settled question.
	Settled(q ports.Question, render func(ports.Conversation, ports.Content) []ports.Content) []ports.Delivery
}

// errTurnTimeout is the cause of a turn's context that ended by its own limit.
var errTurnTimeout = errors.New("the turn's time is over")

// Live shows a turn at work; Text never blocks. Close ends it and gives the
// preview that what is said next must replace, "" if there is none.
type Live interface {
	// Text shows the text so far.
	Text(soFar string)
	// Working has what line says shown behind the text, and again as it changes; ""
	// is nothing. It is called from another goroutine until Close.
	Working(line func() string)
	Close() (preview string)
}

// Outbox is how a turn speaks.
type Outbox interface {
	RenderFor(turn string, in ports.Conversation, c ports.Content) []ports.Content
	Wake(l ports.Lease)
	Live(ctx context.Context, l ports.Lease, p ports.Preview) Live
}

// Model is a model with its name in the config.
type Model struct {
	Name          string
	Port          ports.ModelPort
	ContextTokens int
	Facts         ports.ModelFacts
	Health        *Health // the same in each agent that has the model; nil: one of its own
}

// Config of an agent.
type Config struct {
	Name          string
	Models        []Model // in order of fallback
	Instructions  string
	MaxSteps      int           // model replies in one turn
	TurnTimeout   time.Duration // of one activation: waiting for a person does not count
	StaleAfter    time.Duration // what was written longer ago is asked about before anything is done; 0 = nothing is
	Busy          ports.Busy    // what becomes of messages that come while a turn runs; "" = they wait
	OnToolFailure OnToolFailure
	Purse         Purse // nil = no limit
	// Settings are what the people of a conversation chose; nil = nothing.
	Settings func(ctx context.Context, in ports.Conversation) (ports.Settings, error)
	// Files takes in what came with messages; nil = nobody does, and models are told so.
	Files Files
	// Tell has the admins told something, once for a key. It returns at once; nil:
	// only the log has it.
	Tell func(ctx context.Context, key, text string)
}

// OnToolFailure is what a turn does when a tool fails.
type OnToolFailure string

const (
	TellModel OnToolFailure = "tell_model" // and go on; "" is the same
	StopTurn  OnToolFailure = "stop"       // and end the turn, once the round is done
)

// Agent runs turns. Safe for many goroutines.
type Agent struct {
	cfg    Config
	store  Store
	tools  Toolbox
	asker  Asker
	outbox Outbox
	leaks  *guard.Leaks
	meter  Meter
	log    *slog.Logger

	history history
	starts  starts
	scales  scales
	script  memoScript // of a replay; nil = none
}

// New makes an Agent.
func New(cfg Config, store Store, tools Toolbox, asker Asker, outbox Outbox, leaks *guard.Leaks, meter Meter, log *slog.Logger) *Agent {
	cfg.Models = slices.Clone(cfg.Models)
	for i := range cfg.Models {
		if cfg.Models[i].Health == nil {
			cfg.Models[i].Health = NewHealth()
		}
	}
	return &Agent{cfg: cfg, store: store, tools: tools, asker: asker, outbox: outbox, leaks: leaks, meter: meter, log: log}
}

// Turn goes on with what the conversation has to do, until the turn is over or
// parked. Its error is the store's, or the end of ctx: then nothing was said, the
// journal stands, and the lane tries again. news tells that messages came in.
func (a *Agent) Turn(ctx context.Context, l ports.Lease, w ports.Work, news <-chan struct{}) error {
	t := a.open(l, w, news)
	t.lane = guard.WithTurn(ctx, t.id)
	ctx, cancel := context.WithTimeoutCause(t.lane, a.cfg.TurnTimeout, errTurnTimeout)
	defer cancel()
	t.live = a.outbox.Live(ctx, l, t.preview(w.Preview))
	defer t.live.Close()
	t.live.Working(t.work.line)
	t.yield(ctx, w.Waiting)
	began := time.Now()
	t.log.Info("turn_started", "steps", len(t.steps), "deaths", w.Deaths.All)
	end, err := t.run(ctx)
	if err == nil && !end.parked {
		err = t.finish(ctx, end)
	}
	switch {
	case errors.Is(err, errReworded):
		a.starts.keep(l.In, t.id, t.anew+1, t.pending.Usage)
		t.log.Info("turn_begun_anew", "why", "a message of it was edited", "dur", time.Since(began))
		return nil // whoever edited it woke the lane
	case err != nil:
		return err
	case end.parked:
		t.log.Info("turn_parked", "dur", time.Since(began))
		a.outbox.Wake(l)
		return nil
	}
	t.keep()
	a.outbox.Wake(l)
	a.meter.Turn(a.cfg.Name, end.outcome, time.Since(began))
	t.log.Info("turn_finished", "outcome", end.outcome, "dur", time.Since(began), "steps", len(t.steps))
	return nil
}

// Fullness is how many tokens a conversation's last prompt and its reply had, and
// how many fit into the window; 0 where that is not known, as of a conversation
// that nothing ran in lately.
func (a *Agent) Fullness(in ports.Conversation) (tokens, window int) {
	return a.history.used(in), a.window()
}
