package openai

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"dragoman/ports"
)

// Config is one entry of "models" with type "openai".
type Config struct {
	BaseURL string       `json:"base_url" validate:"required,http_url" default:"https://api.openai.com/v1" doc:"The API's root, with its version: chat/completions is added to it"`
	APIKey  ports.Secret `json:"api_key" doc:"Sent as a bearer token; local servers need none"`
	Model   string       `json:"model" validate:"required" doc:"The provider's name of the model"`
	API     string       `json:"api" validate:"oneof=auto chat" default:"auto" doc:"The wire; auto is chat"`
	// OpenAI's newer models take tools on this wire only with "none".
	ReasoningEffort string        `json:"reasoning_effort" validate:"omitempty,oneof=none minimal low medium high xhigh" doc:"Passed on as it is; absent: the provider's choice"`
	ContextTokens   int           `json:"context_tokens" validate:"gt=0" default:"128000" doc:"Size of the context window"`
	MaxOutputTokens int           `json:"max_output_tokens" validate:"gt=0" default:"4096" doc:"Longest reply when a request names no bound"`
	Timeout         time.Duration `json:"timeout" validate:"gt=0" default:"5m" doc:"How long a whole request may take"`
	IdleTimeout     time.Duration `json:"idle_timeout" validate:"gt=0" default:"60s" doc:"Longest silence of the provider, that before the first byte included"`
	MaxConcurrency  int           `json:"max_concurrency" validate:"gt=0" default:"64" doc:"Requests at a time; the others wait"`
}

// officialHost is the one host that knows max_completion_tokens for certain and
// refuses max_tokens for its reasoning models.
const officialHost = "api.openai.com"

// check finds what would make a Model hang or fail in ways hard to understand.
// The tags say the same to whoever reads a file; this holds for literals too.
func (c Config) check() (*url.URL, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, errors.New("base_url is not an http(s) URL")
	}
	switch {
	case base.User != nil:
		return nil, errors.New("base_url carries a user or a password: use api_key")
	case strings.TrimSpace(c.Model) == "":
		return nil, errors.New("model is missing")
	case c.API != "auto" && c.API != "chat":
		return nil, fmt.Errorf("api %q is not known (auto or chat)", c.API)
	case c.ContextTokens <= 0, c.MaxOutputTokens <= 0, c.MaxConcurrency <= 0:
		return nil, errors.New("context_tokens, max_output_tokens and max_concurrency are at least 1")
	case c.Timeout <= 0, c.IdleTimeout <= 0:
		return nil, errors.New("timeout and idle_timeout are more than 0")
	}
	return base, nil
}
