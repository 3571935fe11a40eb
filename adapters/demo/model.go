package demo

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"

	"dragoman/ports"
)

// name is ModelReply.Model.
const name = "demo"

// It reads as much as there is; these keep a conversation with it as small as one
// with a model that people run themselves.
const (
	contextTokens = 32000
	maxTokens     = 4096
)

// Model is the stand-in. Safe for many goroutines: it holds nothing.
type Model struct{ log *slog.Logger }

var (
	_ ports.ModelPort      = (*Model)(nil)
	_ ports.ModelDescriber = (*Model)(nil)
)

// New makes a Model. It never fails.
func New(_ Config, log *slog.Logger) (*Model, error) {
	return &Model{log: log.With(slog.String("model", name))}, nil
}

// Facts implements ports.ModelDescriber. It costs nothing, which is known.
func (m *Model) Facts() ports.ModelFacts {
	return ports.ModelFacts{ContextTokens: contextTokens, MaxTokens: maxTokens, Price: &ports.Price{}}
}

// Generate implements ports.ModelPort. It fails only when ctx ended. It uses no
// tokens: Usage stays zero.
func (m *Model) Generate(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	if ctx.Err() != nil {
		return ports.ModelReply{}, wrap(ctx)
	}
	d := decide(r)
	if d.call != nil {
		call := *d.call
		call.ID = "call_" + rand.Text()[:20]
		m.log.DebugContext(ctx, "demo_tool_chosen", slog.String("tool", call.Name))
		return ports.ModelReply{Calls: []ports.Call{call}, Model: name, Stop: ports.StopCalls}, nil
	}
	for _, word := range strings.SplitAfter(d.text, " ") {
		if ctx.Err() != nil {
			return ports.ModelReply{}, wrap(ctx)
		}
		if onText != nil && word != "" {
			onText(word)
		}
	}
	return ports.ModelReply{Text: d.text, Model: name, Stop: ports.StopEnd}, nil
}
