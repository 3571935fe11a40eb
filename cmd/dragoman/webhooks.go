package main

import (
	"log/slog"
	"maps"
	"slices"
	"strings"

	"dragoman/adapters/telegram"
	"dragoman/config"
)

// hooked is a channel's section with the address of its webhook, where public_url
// tells it.
func hooked(cfg *config.Config, name string) config.Section {
	s := cfg.Channels[name].Section
	if cfg.PublicURL == "" {
		return s
	}
	return s.With("webhook_url", strings.TrimRight(cfg.PublicURL, "/")+"/hook/"+name)
}

// checkWebhooks refuses webhooks that no update could come through. It builds the
// channel too: New finds what is wrong between keys.
func checkWebhooks(cfg *config.Config) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Channels)) {
		var c telegram.Config
		if s := hooked(cfg, name); cfg.Channels[name].Type != "telegram" || s.Decode(&c) != nil || c.Mode != "webhook" {
			continue // another's, or told already
		}
		if cfg.Listen == "" {
			errs = append(errs, cfg.Channels[name].Fault("mode", `is "webhook", but nothing is listened on (set listen, or mode to "poll")`))
			continue
		}
		if _, err := telegram.New(c, slog.New(slog.DiscardHandler)); err != nil {
			errs = append(errs, cfg.Channels[name].Fault("mode", err.Error()))
		}
	}
	return config.Join(errs...)
}
