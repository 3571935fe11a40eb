package anthropic

import (
	"context"
	"log/slog"
	"net/http"

	"dragoman/adapters/internal/promptcalls"
	"dragoman/adapters/internal/toolschema"
	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// version is that of the wire: the API's behaviour is fixed by it.
const version = "2023-06-01"

// op names the request in errors.
const op = "anthropic messages"

// Model is one language model behind one endpoint. Safe for many goroutines.
type Model struct {
	cfg    Config
	name   string // host and model: who made an opaque state
	facts  ports.ModelFacts
	client *wire.Client
	tools  *toolschema.Tools
}

var (
	_ ports.ModelPort      = (*Model)(nil)
	_ ports.ModelDescriber = (*Model)(nil)
)

// New makes a Model. It does no I/O; a Config that cannot work is KindInvalid.
func New(cfg Config, log *slog.Logger) (*Model, error) {
	base, err := cfg.check()
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindInvalid, Op: "anthropic config", Err: err}
	}
	name := base.Host + "/" + cfg.Model
	limits, facts := cfg.Known(base.Host, cfg.Model)
	cfg.Limits = limits
	facts.Images = cfg.Images == nil || *cfg.Images // all models of this wire take them
	facts.Audio = false                             // and it has no place for sounds
	header := http.Header{}
	header.Set("Anthropic-Version", version)
	header.Set("X-Api-Key", cfg.APIKey.Reveal())
	return &Model{
		cfg:   cfg,
		name:  name,
		facts: facts,
		tools: toolschema.NewTools(toolschema.ForAnthropic, toolschema.Anthropic),
		client: wire.NewClient(wire.Options{
			Op:       op,
			Name:     name,
			Endpoint: endpoint(base),
			Key:      cfg.APIKey,
			Header:   header,
			Mark:     "stop_reason and message_stop",
			Limits:   cfg.Limits,
		}, log),
	}, nil
}

// Facts implements ports.ModelDescriber.
func (m *Model) Facts() ports.ModelFacts { return m.facts }

// Generate implements ports.ModelPort. Its deadlines start once it is its turn
// among max_concurrency; until then ctx alone bounds the wait.
func (m *Model) Generate(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	if m.cfg.InWords() {
		return promptcalls.Generate(ctx, r, onText, m.generate)
	}
	return m.generate(ctx, r, onText)
}

func (m *Model) generate(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	if !m.facts.Images {
		r.Entries = withoutImages(r.Entries)
	}
	reply, err := m.client.Generate(ctx, func() ([]byte, error) { return m.body(r) }, newReply(m.name, onText))
	if reply, err = m.tools.Done(r.Tools, reply, err); err != nil || !r.NoCalls || len(reply.Calls) == 0 {
		return reply, err
	}
	return wire.TextAlone(op, reply)
}
