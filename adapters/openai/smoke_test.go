package openai

import (
	"cmp"
	"log/slog"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

func TestSmoke(t *testing.T) {
	modeltest.Smoke(t, "openai", func(e modeltest.Endpoint) (ports.ModelPort, error) {
		cfg := testConfig(cmp.Or(e.BaseURL, "https://api.openai.com/v1"))
		cfg.APIKey, cfg.Model, cfg.API = e.APIKey, e.Model, cmp.Or(e.API, apiAuto)
		cfg.Timeout, cfg.IdleTimeout = 3*time.Minute, 2*time.Minute // one that runs at home thinks for long
		return New(cfg, slog.New(slog.DiscardHandler))
	})
}
