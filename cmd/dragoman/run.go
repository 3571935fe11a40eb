package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"dragoman/adapters/control"
	"dragoman/config"
	"dragoman/core/gateway"
)

func newRun(hard context.Context, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the gateway (the default)",
		Args:  none,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), hard, *file) },
	}
}

// run is the main job: it serves until ctx ends, drains, and stops at once when
// hard ends.
func run(ctx, hard context.Context, file string) (err error) {
	cfg, name, err := loadConfig(ctx, file)
	if err != nil {
		return err
	}
	log := newLog(cfg.Log, os.Stderr)
	store, err := openStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	listener, err := listen(ctx, cfg.Listen)
	if err != nil {
		return err
	}
	if listener != nil {
		defer listener.Close()
	}
	g, err := assemble(cfg, store, listener, true, log)
	if err != nil {
		return err
	}
	code, err := g.FirstAdminCode(ctx)
	if err != nil {
		return err
	}
	welcome(cfg, name, code)
	return serve(ctx, hard, g, socketPath(cfg), log)
}

// serve runs the gateway and, beside it, the control socket.
func serve(ctx, hard context.Context, g *gateway.Gateway, socket string, log *slog.Logger) error {
	beside, stop := context.WithCancel(hard)
	var work sync.WaitGroup
	work.Go(func() {
		if err := control.Serve(beside, socket, g); err != nil {
			log.Error("control_socket_failed", "err", err)
		}
	})
	err := g.Run(ctx, hard)
	stop()
	work.Wait()
	return err
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w (choose another \"listen\" in the config, or stop what uses it)", address, err)
	}
	return l, nil
}

// welcome tells whoever started the gateway where it is and how to get in.
func welcome(cfg *config.Config, name, code string) {
	w := os.Stderr
	fmt.Fprintf(w, "Dragoman %s runs with %s.\n", version(), name)
	web := false
	for _, c := range cfg.Channels {
		web = web || c.Type == "web"
	}
	web = web && cfg.Listen != ""
	if web {
		fmt.Fprintf(w, "Web chat: http://%s\n", cfg.Listen)
	}
	if code == "" {
		return
	}
	fmt.Fprintln(w, "\nNo admin is known yet. This makes you the admin, once:")
	if web {
		fmt.Fprintf(w, "  open this link:  http://%s/login?code=%s\n", cfg.Listen, code)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Channels)) {
		if cfg.Channels[name].Type != "web" {
			fmt.Fprintf(w, "  write to the bot of channel %q, in a private chat:  /start %s\n", name, code)
		}
	}
	fmt.Fprintln(w)
}
