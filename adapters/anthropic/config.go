package anthropic

import (
	"errors"
	"net/url"
	"strings"

	"dragoman/adapters/internal/promptcalls"
	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// Config is one entry of "models" with type "anthropic".
type Config struct {
	BaseURL string       `json:"base_url" validate:"required,http_url" default:"https://api.anthropic.com" doc:"The API's root: v1/messages is added to it"`
	APIKey  ports.Secret `json:"api_key" validate:"required" doc:"Sent as x-api-key"`
	Model   string       `json:"model" validate:"required" doc:"The provider's name of the model"`
	// Models since Opus 4.7 know adaptive thinking alone, those before Opus 4.6
	// the budget alone.
	Thinking       string `json:"thinking" validate:"omitempty,oneof=adaptive disabled" doc:"adaptive: the model thinks as much as it sees fit; absent: the provider's choice"`
	ThinkingTokens int    `json:"thinking_tokens" validate:"omitempty,gte=1024,excluded_with=Thinking" default:"0" doc:"Thinking of models that want a budget for it, in tokens below max_output_tokens; 0 = off"`
	promptcalls.Mode
	wire.Limits
}

// check finds what would make a Model fail in ways hard to understand. The tags
// say some of the same to whoever reads a file; this holds for literals too.
func (c Config) check() (*url.URL, error) {
	base, err := wire.ParseBase(c.BaseURL)
	if err != nil {
		return nil, err
	}
	known, _ := c.Known(base.Host, c.Model)
	switch {
	case strings.TrimSpace(c.Model) == "":
		return nil, errors.New("model is missing")
	case c.APIKey == "":
		return nil, errors.New("api_key is missing")
	case c.Thinking != "" && c.Thinking != "adaptive" && c.Thinking != "disabled":
		return nil, errors.New("thinking is adaptive or disabled")
	case c.ThinkingTokens != 0 && c.Thinking != "":
		return nil, errors.New("thinking_tokens and thinking exclude each other")
	case c.ThinkingTokens != 0 && (c.ThinkingTokens < minBudget || c.ThinkingTokens >= known.MaxOutputTokens):
		return nil, errors.New("thinking_tokens is at least 1024 and less than max_output_tokens, which it is a part of")
	}
	if err := c.CheckMode(); err != nil {
		return nil, err
	}
	return base, c.Limits.Check()
}

// minBudget is the least that the API takes for thinking.
const minBudget = 1024

// endpoint is where messages go. Many write base_url with its version.
func endpoint(base *url.URL) *url.URL {
	if strings.HasSuffix(strings.TrimSuffix(base.Path, "/"), "/v1") {
		return base.JoinPath("messages")
	}
	return base.JoinPath("v1", "messages")
}
