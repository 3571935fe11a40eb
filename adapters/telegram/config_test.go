package telegram

import (
	"log/slog"
	"strings"
	"testing"

	"dragoman/ports"
)

func TestNewRefuses(t *testing.T) {
	good := Config{Token: "123:abc", APIURL: "https://api.telegram.org", Mode: "poll"}
	for name, change := range map[string]func(*Config){
		"no token":        func(c *Config) { c.Token = "" },
		"token of a path": func(c *Config) { c.Token = "123:abc/../x" },
		"token with line": func(c *Config) { c.Token = "123:abc\n" },
		"no url":          func(c *Config) { c.APIURL = "" },
		"ftp":             func(c *Config) { c.APIURL = "ftp://api.telegram.org" },
		"query":           func(c *Config) { c.APIURL = "https://api.telegram.org?x=1" },
		"webhook nowhere": func(c *Config) { c.Mode = "webhook" },
		"unknown mode":    func(c *Config) { c.Mode = "push" },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := good
			change(&cfg)
			_, err := New(cfg, slog.New(slog.DiscardHandler))
			if !ports.IsKind(err, ports.KindInvalid) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), "123:abc") {
				t.Errorf("the token is in %q", err)
			}
		})
	}
	c, err := New(good, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://api.telegram.org/bot123:abc/"; c.api.base != want {
		t.Errorf("methods are under %q, want %q", c.api.base, want)
	}
}
