package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/ports"
)

func newCheck(file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Print every fault of the config by line and column",
		Long: `Print every fault of the config as FILE:LINE:COL: key.path: what is wrong (what
would be right), and end with exit code 1 if there is one. A warning is about what
works, but is most likely not what was meant.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, name, err := loadConfig(cmd.Context(), *file)
			if err != nil {
				return err
			}
			for _, w := range cfg.Unmatched(builtInNames(cmd.Context())...) {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %v\n", w)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is good: %s, %s, %s, %s.\n", name, count(len(cfg.Models), "model"), count(len(cfg.Agents), "agent"),
				count(len(cfg.Channels), "channel"), count(len(cfg.MCPServers), "MCP server"))
			return nil
		},
	}
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
