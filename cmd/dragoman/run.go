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
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"dragoman/adapters/control"
	"dragoman/adapters/mcp"
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
	defer func() { err = unlessStopped(ctx, err) }()
	cfg, name, err := loadConfig(ctx, file)
	if err != nil {
		return err
	}
	log := newLog(cfg.Log, os.Stderr)
	for _, w := range unpriced(cfg) {
		log.Warn("price_unknown", "err", w)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer outlive(log, end)()
	store, err := awaitStore(ctx, cfg, log, served(cfg)...)
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
	token, err := adminToken(cfg, log)
	if err != nil {
		return err
	}
	logins, err := newLogins(cfg, store, loginBase(cfg, listener), log)
	if err != nil {
		return err
	}
	defer logins.Close()
	local, err := newTerminals(cfg, store, log)
	if err != nil {
		return err
	}
	g, err := assemble(cfg, store, store, door{listener, token, logins}, chats{platforms: true, terminals: local}, log)
	if err != nil {
		return err
	}
	code, err := g.FirstAdminCode(ctx)
	if err != nil {
		return err
	}
	welcome(cfg, name, code, listener)
	return serve(ctx, hard, g, local, cfg, log)
}

// served are the channels that the gateway works for. What is left to do of any
// other, one that was taken out of the config say, waits until it is back.
func served(cfg *config.Config) []string {
	list := slices.Collect(maps.Keys(cfg.Channels))
	for agent := range cfg.Agents {
		list = append(list, terminalName(agent))
	}
	return list
}

// serve runs the gateway and, beside it, the control socket, and ends what
// gateways before it left running.
func serve(ctx, hard context.Context, g *gateway.Gateway, local terminals, cfg *config.Config, log *slog.Logger) error {
	beside, stop := context.WithCancel(hard)
	var work sync.WaitGroup
	work.Go(func() { mcp.NewMark(cfg.DataDir).EndOrphans(beside, log) })
	work.Go(func() {
		if err := control.Serve(beside, socketPath(cfg), g, local.find); err != nil {
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
func welcome(cfg *config.Config, name, code string, listener net.Listener) {
	w := os.Stderr
	fmt.Fprintf(w, "Dragoman %s runs with %s.\n", version(), name)
	for _, model := range slices.Sorted(maps.Keys(cfg.Models)) {
		kind := cfg.Models[model].Type
		if kind == "demo" {
			kind = "demo, a stand-in that follows rules; with OPENAI_API_KEY or ANTHROPIC_API_KEY set, or an Ollama here, that is used where the config names no model"
		}
		fmt.Fprintf(w, "Model %q: %s\n", model, kind)
	}
	ways := []string{}
	for _, channel := range slices.Sorted(maps.Keys(cfg.Channels)) {
		switch {
		case cfg.Channels[channel].Type != "web":
			ways = append(ways, fmt.Sprintf("write to the bot of channel %q, in a private chat:  /start %s", channel, code))
		case listener != nil:
			base := "http://" + reachable(listener.Addr())
			fmt.Fprintf(w, "Web chat: %s\n", base)
			ways = append(ways, fmt.Sprintf("open this link:  %s/login?code=%s", base, code))
		default:
			fmt.Fprintf(w, "The web chat %q cannot be reached: \"listen\" is empty.\n", channel)
		}
	}
	if len(cfg.Channels) == 0 {
		fmt.Fprintln(w, "Only \"dragoman chat\" can write to it: the config has no \"channels\".")
	}
	if code == "" || len(ways) == 0 {
		return
	}
	fmt.Fprintln(w, "\nNo admin is known yet. This makes you the admin, once:")
	for _, way := range ways {
		fmt.Fprintln(w, "  "+way)
	}
	fmt.Fprintln(w)
}

// reachable is an address that a browser on this machine can open.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}
