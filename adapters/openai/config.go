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
	// BaseURL is the API's root, with its version: chat/completions is added to it.
	BaseURL string `json:"base_url" validate:"required,http_url" default:"https://api.openai.com/v1"`
	// APIKey is sent as a bearer token. Local servers need none.
	APIKey ports.Secret `json:"api_key"`
	// Model is the provider's name of the model.
	Model string `json:"model" validate:"required"`
	// API chooses the wire. "auto" is chat.
	API string `json:"api" validate:"oneof=auto chat" default:"auto"`
	// ReasoningEffort is passed on as it is; "" leaves it to the provider. OpenAI's
	// newer models take tools on this wire only with "none".
	ReasoningEffort string `json:"reasoning_effort" validate:"omitempty,oneof=none minimal low medium high xhigh"`
	// ContextTokens is the size of the context window.
	ContextTokens int `json:"context_tokens" validate:"gt=0" default:"128000"`
	// MaxOutputTokens bounds a reply when the request names no bound.
	MaxOutputTokens int `json:"max_output_tokens" validate:"gt=0" default:"4096"`
	// Timeout bounds a whole request.
	Timeout time.Duration `json:"timeout" validate:"gt=0" default:"5m"`
	// IdleTimeout bounds each silence of the provider, the one before the first
	// byte included.
	IdleTimeout time.Duration `json:"idle_timeout" validate:"gt=0" default:"60s"`
	// MaxConcurrency bounds the requests under way; the others wait.
	MaxConcurrency int `json:"max_concurrency" validate:"gt=0" default:"64"`
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
