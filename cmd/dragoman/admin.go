package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"dragoman/adapters/control"
	"dragoman/config"
	"dragoman/ports"
)

// withAdmin hands use the gateway that runs on the config's data folder, or, where
// none does, one without chats that lives as long as use. With servers set that
// one has connected its MCP servers, or waited for each as long as its timeout is.
func withAdmin(ctx context.Context, file string, servers bool, use func(context.Context, ports.Admin) error) error {
	cfg, _, err := loadConfig(ctx, file)
	if err != nil {
		return err
	}
	if running, err := control.Dial(ctx, socketPath(cfg)); err == nil {
		return use(ctx, running)
	}
	return withOwn(ctx, cfg, servers, use)
}

func withOwn(ctx context.Context, cfg *config.Config, servers bool, use func(context.Context, ports.Admin) error) (err error) {
	cfg.Log.Level = "error" // what a command prints is its answer
	log := newLog(cfg.Log, os.Stderr)
	store, err := openStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	g, err := assemble(cfg, store, nil, false, log)
	if err != nil {
		return err
	}
	if servers {
		stop := g.RunSources(ctx)
		defer stop()
		g.Settled(ctx)
	}
	return use(ctx, g)
}

// printJSON prints a listing for machines.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
