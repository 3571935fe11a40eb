package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/config"
	"dragoman/ports"
)

func newCheck(file *string) *cobra.Command {
	var connect, asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Print every fault of the config by line and column; --connect also dials what it names",
		Long: `Print every fault of the config as FILE:LINE:COL: key.path: what is wrong (what
would be right), and end with exit code 1 if there is one. A warning is about what
works, but is most likely not what was meant.

With --connect, also dial each MCP server, model and channel, and list what was
found: a model is asked for one word, a chat platform who the bot is. Exit code 1
if one of them failed. Where a gateway runs on the config's data_dir, the servers
are as it sees them.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON && !connect {
				return usageError{errors.New("--json is for what --connect finds: give both")}
			}
			cfg, name, err := loadConfig(cmd.Context(), *file)
			if err != nil {
				return err
			}
			for _, w := range append(cfg.Unmatched(builtInNames(cmd.Context())...), unpriced(cfg)...) {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %v\n", w)
			}
			if !asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is good: %s, %s, %s, %s.\n", name, count(len(cfg.Models), "model"), count(len(cfg.Agents), "agent"),
					count(len(cfg.Channels), "channel"), count(len(cfg.MCPServers), "MCP server"))
			}
			if !connect {
				return nil
			}
			return checkConnections(cmd, cfg, *file, name, asJSON)
		},
	}
	cmd.Flags().BoolVar(&connect, "connect", false, "also dial each MCP server, model and channel")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what --connect found as JSON")
	return cmd
}

// checkConnections dials what the config names and prints what it found.
func checkConnections(cmd *cobra.Command, cfg *config.Config, file, name string, asJSON bool) error {
	f, err := dial(cmd.Context(), cfg, file, name)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(cmd.OutOrStdout(), f)
	} else {
		err = printFound(cmd.OutOrStdout(), f)
	}
	if err == nil && !f.OK {
		err = errSaid
	}
	return err
}

// builtInNames are the names of the built-in tools. No tool is called, so they need no store.
func builtInNames(ctx context.Context) []string {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &nameTaker{stop: stop}
	_ = builtIn(nil).Run(ctx, r) // it ends as it is told to
	return r.names
}

// nameTaker takes the names of the first catalog, and ends the source that offers it.
type nameTaker struct {
	names []string
	stop  context.CancelFunc
}

// Register implements ports.Registrar.
func (r *nameTaker) Register(c ports.Catalog) {
	for _, t := range c.Tools {
		r.names = append(r.names, t.Spec().Name)
	}
	r.stop()
}

// State implements ports.Registrar.
func (r *nameTaker) State(ports.State) {}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
