package openai

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"dragoman/adapters/internal/promptcalls"
	"dragoman/adapters/internal/toolschema"
	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// Model is one language model behind one endpoint. Safe for many goroutines.
type Model struct {
	cfg      Config
	name     string // host and model: who made an opaque state
	facts    ports.ModelFacts
	official bool
	client   *wire.Client
	tools    *toolschema.Tools
}

var (
	_ ports.ModelPort      = (*Model)(nil)
	_ ports.ModelDescriber = (*Model)(nil)
)

// New makes a Model. It does no I/O; a Config that cannot work is KindInvalid.
func New(cfg Config, log *slog.Logger) (*Model, error) {
	base, err := cfg.check()
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindInvalid, Op: "openai config", Err: err}
	}
	name := base.Host + "/" + cfg.Model
	limits, facts := cfg.Known(base.Host, cfg.Model)
	cfg.Limits = limits
	return &Model{
		cfg:      cfg,
		name:     name,
		facts:    facts,
		official: base.Host == officialHost,
		tools:    toolschema.NewTools(profileOf(base), toolschema.Chat),
		client: wire.NewClient(wire.Options{
			Op:       "openai chat",
			Name:     name,
			Endpoint: base.JoinPath("chat", "completions"),
			Key:      cfg.APIKey,
			Header:   header(cfg.APIKey),
			Mark:     "finish_reason",
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
	reply, err := m.client.Generate(ctx, func() ([]byte, error) { return m.body(r) }, newReply(m.name, onText))
	return m.tools.Done(r.Tools, reply, err)
}

// profileOf is whose rules for tools hold behind an endpoint.
func profileOf(base *url.URL) toolschema.Profile {
	if base.Hostname() == geminiHost {
		return toolschema.ForGemini
	}
	return toolschema.ForOpenAI
}

// header carries the key as a bearer token.
func header(key ports.Secret) http.Header {
	h := http.Header{}
	if key != "" {
		h.Set("Authorization", "Bearer "+key.Reveal())
	}
	return h
}
