package wire

import (
	"errors"
	"time"

	"dragoman/adapters/internal/modelcard"
	"dragoman/ports"
)

// Limits are the keys that every model's section of the config has. They are to
// be embedded in an adapter's Config.
type Limits struct {
	ContextTokens   int           `json:"context_tokens" validate:"gte=0" default:"0" doc:"Size of the context window; 0 = as the built-in table has it, else 32000"`
	MaxOutputTokens int           `json:"max_output_tokens" validate:"gte=0" default:"0" doc:"Longest reply when a request names no bound; 0 = what the model can write by the built-in table, 8192 at most, else 4096"`
	Timeout         time.Duration `json:"timeout" validate:"gt=0" default:"5m" doc:"How long a whole request may take"`
	IdleTimeout     time.Duration `json:"idle_timeout" validate:"gt=0" default:"60s" doc:"Longest silence of the provider, that before the first byte included"`
	MaxConcurrency  int           `json:"max_concurrency" validate:"gt=0" default:"64" doc:"Requests at a time; the others wait"`
	modelcard.Config
}

// Check finds what would make a Client hang. The tags say the same to whoever
// reads a file; this holds for literals too.
func (l Limits) Check() error {
	switch {
	case l.ContextTokens < 0, l.MaxOutputTokens < 0:
		return errors.New("context_tokens and max_output_tokens are at least 0")
	case l.ContextTokens > 0 && l.MaxOutputTokens >= l.ContextTokens:
		return errors.New("max_output_tokens leaves no room in context_tokens for a prompt")
	case l.MaxConcurrency <= 0:
		return errors.New("max_concurrency is at least 1")
	case l.Timeout <= 0, l.IdleTimeout <= 0:
		return errors.New("timeout and idle_timeout are more than 0")
	}
	return l.Config.Check()
}

// Known is what is known of a model at a host (as in a URL), and the limits with
// the sizes that they left open.
func (l Limits) Known(host, model string) (Limits, ports.ModelFacts) {
	facts := l.Facts(host, model, l.ContextTokens, l.MaxOutputTokens)
	l.ContextTokens, l.MaxOutputTokens = facts.ContextTokens, facts.MaxTokens
	return l, facts
}

// MaxTokens is the bound of a reply: what the request asks for, else the default,
// which is there once the model is Known.
func (l Limits) MaxTokens(asked int) int {
	if asked > 0 {
		return asked
	}
	return l.MaxOutputTokens
}
