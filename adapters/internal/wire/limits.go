package wire

import (
	"errors"
	"time"
)

// Limits are the keys that every model's section of the config has. They are to
// be embedded in an adapter's Config.
type Limits struct {
	ContextTokens   int           `json:"context_tokens" validate:"gt=0" default:"128000" doc:"Size of the context window"`
	MaxOutputTokens int           `json:"max_output_tokens" validate:"gt=0" default:"4096" doc:"Longest reply when a request names no bound"`
	Timeout         time.Duration `json:"timeout" validate:"gt=0" default:"5m" doc:"How long a whole request may take"`
	IdleTimeout     time.Duration `json:"idle_timeout" validate:"gt=0" default:"60s" doc:"Longest silence of the provider, that before the first byte included"`
	MaxConcurrency  int           `json:"max_concurrency" validate:"gt=0" default:"64" doc:"Requests at a time; the others wait"`
}

// Check finds what would make a Client hang. The tags say the same to whoever
// reads a file; this holds for literals too.
func (l Limits) Check() error {
	switch {
	case l.ContextTokens <= 0, l.MaxOutputTokens <= 0, l.MaxConcurrency <= 0:
		return errors.New("context_tokens, max_output_tokens and max_concurrency are at least 1")
	case l.Timeout <= 0, l.IdleTimeout <= 0:
		return errors.New("timeout and idle_timeout are more than 0")
	}
	return nil
}

// MaxTokens is the bound of a reply: what the request asks for, else the default.
func (l Limits) MaxTokens(asked int) int {
	if asked > 0 {
		return asked
	}
	return l.MaxOutputTokens
}
