package openai

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"dragoman/adapters/internal/promptcalls"
	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// Config is one entry of "models" with type "openai".
type Config struct {
	BaseURL string       `json:"base_url" validate:"required,http_url" default:"https://api.openai.com/v1" doc:"The API's root, with its version: responses or chat/completions is added to it"`
	APIKey  ports.Secret `json:"api_key" doc:"Sent as a bearer token; local servers need none"`
	Model   string       `json:"model" validate:"required" doc:"The provider's name of the model"`
	API     string       `json:"api" validate:"oneof=auto chat responses" default:"auto" doc:"The wire; auto is responses at OpenAI itself, chat elsewhere"`
	// On the chat wire OpenAI's newer models take tools only with "none".
	ReasoningEffort string `json:"reasoning_effort" validate:"omitempty,oneof=none minimal low medium high xhigh" doc:"Passed on as it is; absent: the provider's choice"`
	promptcalls.Mode
	wire.Limits
}

// The values of "api".
const (
	apiAuto      = "auto"
	apiChat      = "chat"
	apiResponses = "responses"
)

// official reports whether a URL is OpenAI's own: api.openai.com, or that of a
// region, as eu.api.openai.com. It alone knows max_completion_tokens for certain,
// refuses max_tokens for its reasoning models, and takes tools for these only over
// responses.
func official(base *url.URL) bool {
	const host = "api.openai.com"
	return base.Hostname() == host || strings.HasSuffix(base.Hostname(), "."+host)
}

// geminiHost speaks this wire and takes other schemas of tools.
const geminiHost = "generativelanguage.googleapis.com"

// check finds what would make a Model hang or fail in ways hard to understand.
// The tags say the same to whoever reads a file; this holds for literals too.
func (c Config) check() (*url.URL, error) {
	base, err := wire.ParseBase(c.BaseURL)
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(c.Model) == "":
		return nil, errors.New("model is missing")
	case c.API != apiAuto && c.API != apiChat && c.API != apiResponses:
		return nil, fmt.Errorf("api %q is not known (auto, chat or responses)", c.API)
	}
	if err := c.CheckMode(); err != nil {
		return nil, err
	}
	return base, c.Limits.Check()
}
