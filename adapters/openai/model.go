package openai

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"dragoman/adapters/internal/toolschema"
	"dragoman/ports"
)

// Model is one language model behind one endpoint. Safe for many goroutines.
type Model struct {
	cfg      Config
	name     string // host and model: who made an opaque state
	official bool
	endpoint string
	client   *http.Client
	tools    *toolschema.Tools
	slots    chan struct{} // one element per request under way
	log      *slog.Logger
}

var _ ports.ModelPort = (*Model)(nil)

// New makes a Model. It does no I/O; a Config that cannot work is KindInvalid.
func New(cfg Config, log *slog.Logger) (*Model, error) {
	base, err := cfg.check()
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindInvalid, Op: "openai config", Err: err}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = min(cfg.MaxConcurrency, transport.MaxIdleConns)
	return newModel(cfg, base, transport, log), nil
}

// newModel takes the transport, so that tests can put time and the wire under control.
func newModel(cfg Config, base *url.URL, transport http.RoundTripper, log *slog.Logger) *Model {
	name := base.Host + "/" + cfg.Model
	return &Model{
		cfg:      cfg,
		name:     name,
		official: base.Host == officialHost,
		endpoint: base.JoinPath("chat", "completions").String(),
		client:   &http.Client{Transport: transport, CheckRedirect: sameOrigin},
		tools:    toolschema.NewTools(toolschema.ForOpenAI, toolschema.Chat),
		slots:    make(chan struct{}, cfg.MaxConcurrency),
		log:      log.With(slog.String("model", name)),
	}
}

// ContextTokens is the size of the model's context window.
func (m *Model) ContextTokens() int { return m.cfg.ContextTokens }

// Generate implements ports.ModelPort. Its deadlines start once it is its turn
// among max_concurrency; until then ctx alone bounds the wait.
func (m *Model) Generate(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	if err := m.acquire(ctx); err != nil {
		return ports.ModelReply{}, m.wrap(ctx, err)
	}
	defer m.release()

	ctx, cancel := context.WithTimeoutCause(ctx, m.cfg.Timeout, errTotal)
	defer cancel()
	ctx, watch := watchSilence(ctx, m.cfg.IdleTimeout)
	defer watch.stop()

	start := time.Now()
	reply, err := m.chat(ctx, watch, r, onText)
	if err != nil {
		return ports.ModelReply{}, m.wrap(ctx, err)
	}
	m.log.DebugContext(ctx, "openai_replied",
		slog.Duration("dur", time.Since(start)),
		slog.String("stop", string(reply.Stop)),
		slog.Int("calls", len(reply.Calls)),
		slog.Int("input", reply.Usage.Input),
		slog.Int("output", reply.Usage.Output))
	return reply, nil
}

func (m *Model) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case m.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Model) release() { <-m.slots }
