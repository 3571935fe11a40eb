package openai

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"

	"dragoman/adapters/internal/promptcalls"
	"dragoman/adapters/internal/toolschema"
	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// Model is one language model behind one endpoint. Safe for many goroutines.
type Model struct {
	cfg       Config
	name      string // host and model: who made an opaque state
	op        string // of errors
	facts     ports.ModelFacts
	official  bool // OpenAI's own
	responses bool // the wire; else chat
	noCipher  atomic.Bool
	client    *wire.Client
	tools     *toolschema.Tools
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
	limits, facts := cfg.Known(base.Host, cfg.Model)
	cfg.Limits = limits
	m := &Model{
		cfg:      cfg,
		name:     base.Host + "/" + cfg.Model,
		facts:    facts,
		official: official(base),
	}
	o := wire.Options{Name: m.name, Key: cfg.APIKey, Header: header(cfg.APIKey), Limits: cfg.Limits}
	if m.responses = cfg.API == apiResponses || cfg.API == apiAuto && m.official; m.responses {
		m.op, o.Endpoint, o.Mark = "openai responses", base.JoinPath("responses"), "response.completed"
		m.tools = toolschema.NewTools(toolschema.ForOpenAI, toolschema.Responses)
		m.facts.Audio = false // this wire has no place for it
	} else {
		m.op, o.Endpoint, o.Mark = "openai chat", base.JoinPath("chat", "completions"), "finish_reason"
		m.tools = toolschema.NewTools(profileOf(base), toolschema.Chat)
	}
	o.Op = m.op
	m.client = wire.NewClient(o, log)
	return m, nil
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
	reply, err := m.answer(ctx, r, onText)
	reply, err = m.tools.Done(r.Tools, reply, err)
	if err != nil || !r.NoCalls || len(reply.Calls) == 0 {
		return reply, err
	}
	return wire.TextAlone(m.op, reply)
}

func (m *Model) answer(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	if m.responses {
		return m.answerResponses(ctx, r, onText)
	}
	to := newReply(m.name, onText)
	to.sift = !m.official // there a thought never stands in the text, so what looks like one was asked for
	return m.client.Generate(ctx, func() ([]byte, error) { return m.body(r) }, to)
}

// profileOf is whose rules for tools hold behind an endpoint.
func profileOf(base *url.URL) toolschema.Profile {
	if base.Hostname() == geminiHost {
		return toolschema.ForGemini
	}
	return toolschema.ForOpenAI
}

// shows reports whether a block goes to the model as a picture or a sound.
func (m *Model) shows(b ports.Block) bool {
	_, sound := wire.AudioFormat(b)
	return m.facts.Images && wire.IsImage(b) || m.facts.Audio && sound
}

// inWords is a block that it does not show.
func (m *Model) inWords(b ports.Block) string {
	if b.Kind == ports.BlockImage && !m.facts.Images || b.Kind == ports.BlockAudio && !m.facts.Audio {
		return wire.NotTaken(b)
	}
	return wire.BlockText(b)
}

// withTools is a body with the tools, as they are kept, and "stream" in it.
func (m *Model) withTools(request any, tools []ports.ToolSpec) ([]byte, error) {
	raw, err := wire.Encode(request)
	if err != nil {
		return nil, err
	}
	raw = raw[:len(raw)-1] // its brace: more follows
	if len(tools) > 0 {
		raw = append(raw, `,"tools":[`...)
		if raw, err = m.tools.Append(raw, tools); err != nil {
			return nil, err
		}
		raw = append(raw, ']')
	}
	return append(raw, `,"stream":true}`...), nil
}

// header carries the key as a bearer token.
func header(key ports.Secret) http.Header {
	h := http.Header{}
	if key != "" {
		h.Set("Authorization", "Bearer "+key.Reveal())
	}
	return h
}
