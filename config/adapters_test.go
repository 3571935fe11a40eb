package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"dragoman/config"
)

// secret is a text that keeps itself out of prints, as the seam's does.
type secret string

func (secret) String() string { return "[redacted]" }

// common is embedded by adapters' configs.
type common struct {
	Timeout time.Duration `json:"timeout" default:"5m" validate:"gt=0"`
	Level   *slog.Level   `json:"level"`
}

// modelConfig stands for a model adapter's config, with a field of each kind.
type modelConfig struct {
	common
	Model     string          `json:"model" validate:"required"`
	APIKey    secret          `json:"api_key"`
	BaseURL   string          `json:"base_url" default:"https://example.org" validate:"url"`
	MaxTokens int             `json:"max_tokens" default:"128" validate:"max=200"`
	Small     int8            `json:"small"`
	Price     float64         `json:"price"`
	Ratio     *float32        `json:"ratio" default:"0.25" validate:"lte=1"`
	Raw       json.RawMessage `json:"raw"`
	Any       any             `json:"any"`
	Ports     []uint16        `json:"ports" default:"[80, 443]"`
	Hidden    string          `json:"-"`
}

type channelConfig struct {
	Token  secret `json:"token" validate:"required"`
	Mode   string `json:"mode" default:"poll" validate:"oneof=poll webhook"`
	Secret secret `json:"secret" validate:"required_if=Mode webhook"`
	Key    secret `json:"key" validate:"omitempty,oneof=a b"`
}

type serverConfig struct {
	Command     string            `json:"command" validate:"required_without=URL,excluded_with=URL"`
	Args        []string          `json:"args"`
	Env         map[string]secret `json:"env"`
	URL         string            `json:"url" validate:"omitempty,http_url"`
	Headers     map[string]secret `json:"headers"`
	Timeout     time.Duration     `json:"timeout" default:"1s" validate:"gt=0"`
	CallTimeout time.Duration     `json:"call_timeout" default:"1s" validate:"gt=0"`
}

// decodeSections does what a program does with a config: it gives each section to its adapter.
func decodeSections(cfg *config.Config) error {
	var errs []error
	for _, m := range cfg.Models {
		errs = append(errs, decodeModel(m))
	}
	for _, ch := range cfg.Channels {
		errs = append(errs, decodeChannel(ch))
	}
	for _, s := range cfg.MCPServers {
		errs = append(errs, s.Decode(&serverConfig{}))
	}
	return config.Join(errs...)
}

func decodeModel(m config.Model) error {
	switch m.Type {
	case "demo":
		return m.Decode(&struct{}{})
	case "openai":
		return m.Decode(&modelConfig{})
	default:
		return m.OneOf("type", "openai", "demo")
	}
}

func decodeChannel(ch config.Channel) error {
	switch ch.Type {
	case "web":
		return ch.Decode(&struct{}{})
	case "telegram":
		return ch.Decode(&channelConfig{})
	default:
		return ch.OneOf("type", "telegram", "web")
	}
}

// environment is what the tests' configs find; the values of what is wrong in them must never be seen.
func environment(name string) (string, bool) {
	value, ok := map[string]string{
		"PORT": "7001", "MAX_TOKENS": "100", "STORE": hidden, "BAD_LISTEN": hidden, "TG": "tg:" + hidden, "EMPTY": "",
	}[name]
	return value, ok
}

const hidden = "hunter2-topsecret"

func Example() {
	text := `{
	"models": {"main": {"type": "openai", "modle": "m-1"}},
	"mcp": {"timeout": 15}
}`
	cfg, err := config.Parse("dragoman.json", []byte(text), ".", nil)
	fmt.Println(err)
	fmt.Println(cfg.Models["main"].Decode(&modelConfig{}))
	// Output:
	// dragoman.json:3:21: mcp.timeout: is a number (must be text like "15s")
	// dragoman.json:2:21: models.main.model: is missing (must be text)
	// dragoman.json:2:40: models.main.modle: is not a known key (did you mean "model"?)
}

func ExampleSection_With() {
	cfg, err := config.Parse("dragoman.json", []byte(`{"models": {"main": {"type": "openai", "model": "m-1"}}}`), ".", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var model modelConfig
	err = cfg.Models["main"].With("timeout", 30*time.Second).Decode(&model)
	fmt.Println(model.Timeout, model.MaxTokens, err)
	// Output: 30s 128 <nil>
}
