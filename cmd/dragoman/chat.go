package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"dragoman/adapters/control"
	"dragoman/adapters/sqlstore"
	"dragoman/adapters/terminal"
	"dragoman/config"
	"dragoman/core/gateway"
	"dragoman/ports"
)

const (
	// quietFor is how long a wait at the start or at the end goes on without a word.
	quietFor = time.Second
	// attachPause is the pause between two looks for a gateway.
	attachPause = 50 * time.Millisecond
)

func newChat(hard context.Context, file *string) *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to an agent in the terminal, or through a pipe",
		Long: `Talk to an agent of the gateway that runs on the config's data_dir; where none
runs, of one that runs for as long as the chat does.

In a terminal, answers appear as they are made; Ctrl-C stops what runs, Ctrl-C
again or Ctrl-D leaves. In a pipe, each line is a message and stdout gets the
answers alone, each in the order of its line; the exit code is 1 if a message
failed or a question stays open.

A terminal finds the conversation that it left. One that is opened beside
another has its own.`,
		Example: `  echo "what time is it in Tokyo?" | dragoman chat`,
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			notes := terminal.NewNotes(os.Stderr)
			c := &chat{agent: agent, notes: notes, front: &terminal.Front{In: os.Stdin, Out: os.Stdout, Notes: notes}}
			return c.run(cmd.Context(), hard, *file)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "the agent to talk to (default: the only one, or \"main\")")
	return cmd
}

// chat is one run of the command.
type chat struct {
	agent string
	front *terminal.Front
	notes *terminal.Notes
}

// run talks until the person or stdin ends it, or ctx does. hard ends the drain of
// a gateway of its own.
func (c *chat) run(ctx, hard context.Context, file string) error {
	var none terminal.NotBegun
	if running := findRunning(ctx, file); running != nil {
		err := c.front.Talk(ctx, running.Terminal(c.agent))
		if !errors.As(err, &none) || !ports.IsKind(err, ports.KindUnavailable) || ctx.Err() != nil {
			return err
		}
	}
	cfg, _, err := loadConfig(ctx, file)
	if err != nil {
		return err
	}
	cfg.Log.Level = "error" // what the chat prints is its answers
	log := newLogTo(cfg.Log, c.notes, os.Stderr)
	for began := time.Now(); ; {
		running, store, err := findGateway(ctx, cfg, log)
		switch {
		case err != nil:
			return err
		case running == nil:
			return c.own(ctx, hard, cfg, store, log)
		}
		err = c.front.Talk(ctx, running.Terminal(c.agent))
		if !errors.As(err, &none) || !ports.IsKind(err, ports.KindUnavailable) || ctx.Err() != nil || time.Since(began) > lockPatience {
			return err
		}
		// That one is about to stop: soon there is room for one of our own.
		select {
		case <-time.After(attachPause):
		case <-ctx.Done():
		}
	}
}

// findGateway finds the gateway that runs on the data folder or, where none does,
// opens the store for one. Another one that is about to start or to stop is
// waited for, for a while.
func findGateway(ctx context.Context, cfg *config.Config, log *slog.Logger) (running *control.Client, store *sqlstore.Store, err error) {
	var mine []string
	for agent := range cfg.Agents {
		mine = append(mine, terminalName(agent))
	}
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		if running, err = control.Dial(ctx, socketPath(cfg)); err == nil {
			return struct{}{}, nil
		}
		running = nil
		store, err = openStore(ctx, cfg, log, mine...)
		if err != nil && !ports.IsKind(err, ports.KindConflict) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(lockPatience))
	return running, store, err
}

// own talks to a gateway that has nothing but its terminals. It lasts as long as
// the chat, and ends what runs.
func (c *chat) own(ctx, hard context.Context, cfg *config.Config, store *sqlstore.Store, log *slog.Logger) (err error) {
	defer func() { err = errors.Join(err, store.Close()) }()
	local, err := newTerminals(cfg, store, log)
	if err != nil {
		return err
	}
	t, err := local.find(c.agent)
	if err != nil {
		return err
	}
	logins, err := newLogins(cfg, store, loginBase(cfg, nil), log)
	if err != nil {
		return err
	}
	defer logins.Close()
	g, err := assemble(cfg, store, store, door{logins: logins}, chats{terminals: local}, log)
	if err != nil {
		return err
	}
	// It outlives the first signal, which ends the chat. One more ends its drain.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	hard, cut := context.WithCancel(hard)
	defer cut()
	served := make(chan error, 1)
	go func() { served <- serve(serving, hard, g, local, cfg, log) }()
	c.connect(ctx, g)
	said := c.front.Talk(ctx, t)
	spoken := c.after(quietFor, "Another chat uses this gateway: it runs until that one ends. Ctrl-C ends both.")
	local.close(ctx)
	spoken()
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, cut)()
	}
	stop()
	defer c.after(quietFor, "Finishing what runs. Ctrl-C leaves it to the next start.")()
	return errors.Join(said, <-served)
}

// connect waits until each MCP server was reached or given up for now: without
// their tools the first answer would be another one.
func (c *chat) connect(ctx context.Context, g *gateway.Gateway) {
	spoken := c.after(quietFor, "Connecting to the MCP servers …")
	g.Settled(ctx)
	spoken()
	servers, err := g.Servers(ctx)
	if err != nil || ctx.Err() != nil {
		return
	}
	for _, s := range servers {
		if missing(s) {
			fmt.Fprintf(c.notes, "MCP server %s is not connected, and its tools are missing: %s\n", s.Name, terminal.Printable(cmp.Or(s.Err, string(s.Phase))))
		}
	}
}

// after says something unless it is called off before.
func (c *chat) after(d time.Duration, text string) (callOff func()) {
	timer := time.AfterFunc(d, func() { fmt.Fprintln(c.notes, text) })
	return func() { timer.Stop() }
}
