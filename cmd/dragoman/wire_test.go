package main

import (
	"os"
	"strings"
	"testing"

	"dragoman/config"
)

func TestACheckFindsWhatIsWrongBetweenAModelsKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "anthropic", "api_key": "k", "model": "x", "thinking_tokens": 2048}`:                            "",
		`{"type": "anthropic", "api_key": "k", "model": "x", "thinking_tokens": 4096}`:                            "thinking_tokens is at least 1024 and less than max_output_tokens",
		`{"type": "anthropic", "api_key": "k", "model": "x", "thinking_tokens": 2048, "max_output_tokens": 2000}`: "thinking_tokens is at least 1024 and less than max_output_tokens",
		`{"type": "anthropic", "api_key": "k", "model": "x", "base_url": "http://ann:secret@localhost"}`:          "base_url carries a user",
	} {
		cfg, err := config.Parse("dragoman.json", []byte(`{"models": {"m": `+text+`}}`), ".", nil)
		if err == nil {
			err = checkSections(cfg)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "models.m") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTheBuiltInModelIsTheFirstThatHasAKey(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
		t.Setenv(name, "k")
	}
	for _, want := range []string{"anthropic", "openai"} {
		cfg, err := builtInConfig(t.Context())
		if err != nil || cfg.Models["main"].Type != want {
			t.Errorf("%q, %v; want %s", cfg.Models["main"].Type, err, want)
		}
		if err := os.Unsetenv("ANTHROPIC_API_KEY"); err != nil {
			t.Fatal(err)
		}
	}
}
