package anthropic

import (
	"cmp"
	"log/slog"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

func TestSmoke(t *testing.T) {
	modeltest.Smoke(t, "anthropic", func(e modeltest.Endpoint) (ports.ModelPort, error) {
		cfg := testConfig(cmp.Or(e.BaseURL, "https://api.anthropic.com"))
		cfg.APIKey, cfg.Model = e.APIKey, e.Model
		cfg.Timeout, cfg.IdleTimeout = 3*time.Minute, 2*time.Minute // one that thinks does so for long
		return New(cfg, slog.New(slog.DiscardHandler))
	})
}
