package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dragoman/adapters/terminal"
	"dragoman/config"
	"dragoman/core/gateway"
	"dragoman/ports"
)

func newReconnect(file *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reconnect NAME",
		Short: "Drop a server's connection, make a new one and say what came of it",
		Long: `Have the gateway that runs on the config's data_dir drop its connection to a
server, make a new one and say what came of it. Where none runs, connect to the
server, say what came of that, and leave nothing behind. Exit code 1 if it could
not be connected.`,
		Args: between(1, 1, "NAME [--json]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			say := func(s ports.ServerInfo) error { return printReconnected(cmd, s, asJSON) }
			ctx := cmd.Context()
			return withAdmin(ctx, *file, func(ctx context.Context, a ports.Admin) error {
				s, err := a.Reconnect(ctx, name)
				if err != nil {
					return meant(ctx, a, name, err)
				}
				return say(s)
			}, func(cfg *config.Config) error { return connectOne(ctx, cfg, name, say) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// connectOne connects to one server of the config, without a gateway.
func connectOne(ctx context.Context, cfg *config.Config, name string, say func(ports.ServerInfo) error) error {
	one, ok := cfg.MCPServers[name]
	if !ok {
		return noServer(name, slices.Sorted(maps.Keys(cfg.MCPServers)))
	}
	only := *cfg
	only.MCPServers = map[string]config.Server{name: one}
	return withOwn(ctx, &only, func(g *gateway.Gateway) error {
		return connected(ctx, g, func(ctx context.Context, a ports.Admin) error {
			list, err := a.Servers(ctx)
			if err != nil {
				return err
			}
			s := list[0]
			if s.Phase == ports.PhaseIdle || s.Phase == ports.PhaseDisabled { // disabled: it says so
				if s, err = a.Reconnect(ctx, name); err != nil {
					return err
				}
			}
			return say(s)
		})
	})
}

// printReconnected says how a server stands; where that is not well the exit code is 1.
func printReconnected(cmd *cobra.Command, s ports.ServerInfo, asJSON bool) error {
	failed := !s.Phase.Callable()
	switch {
	case asJSON:
		if err := printJSON(cmd.OutOrStdout(), forScript(s)); err != nil {
			return err
		}
	case failed:
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is not connected.\n%s", s.Name, trouble(s))
	default:
		fmt.Fprintf(cmd.OutOrStdout(), "%s is connected: %s.\n%s", s.Name, facts(s), trouble(s))
	}
	if failed {
		return errSaid
	}
	return nil
}

// facts are what a connected server is, in a line.
func facts(s ports.ServerInfo) string {
	words := []string{s.Transport}
	if s.Protocol != "" {
		words = append(words, "protocol "+oneLine(s.Protocol))
	}
	if peer := oneLine(s.Peer); peer != "" {
		words = append(words, peer)
	}
	return strings.Join(append(words, count(s.Tools, "tool")), ", ")
}

// newSwitch makes the command that enables a server, or the one that disables it.
func newSwitch(file *string, enable bool) *cobra.Command {
	verb, short := "disable", "Stop a server and take its tools out, also after a restart"
	long := `Stop a server: its process ends, its tools are no longer there. That holds over
restarts, until it is enabled, or until "enabled" changes in the config.`
	if enable {
		verb, short = "enable", "Start a server that is disabled"
		long = `Start a server that is disabled, by an admin or by the config. That holds over
restarts, until it is disabled, or until "enabled" changes in the config.`
	}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Long:  long + "\nWhere no gateway runs it is noted for the next one.",
		Args:  between(1, 1, "NAME [--json]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRecords(cmd.Context(), *file, func(ctx context.Context, a ports.Admin) error {
				s, err := a.SetEnabled(ctx, args[0], enable)
				switch {
				case err != nil:
					return meant(ctx, a, args[0], err)
				case asJSON:
					return printJSON(cmd.OutOrStdout(), forScript(s))
				}
				return printSwitched(cmd.OutOrStdout(), s)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printSwitched says what a server is after it was enabled or disabled. That one
// which is enabled is not connected yet is no failure: the gateway goes on trying.
func printSwitched(w io.Writer, s ports.ServerInfo) error {
	var err error
	switch {
	case s.Phase == ports.PhaseDisabled:
		_, err = fmt.Fprintf(w, "%s is disabled: its tools are gone until it is enabled.\n", s.Name)
	case s.Phase == ports.PhaseStopped:
		_, err = fmt.Fprintf(w, "%s is enabled: the gateway starts it when it is started.\n", s.Name)
	case s.Phase == ports.PhaseIdle:
		_, err = fmt.Fprintf(w, "%s is enabled: it is started when it is needed.\n", s.Name)
	case missing(s):
		_, err = fmt.Fprintf(w, "%s is enabled, and not connected yet.\n%s", s.Name, cmp.Or(trouble(s), "  it is still connecting\n"))
	default:
		_, err = fmt.Fprintf(w, "%s is enabled and connected: %s.\n%s", s.Name, facts(s), trouble(s))
	}
	return err
}

// meant adds to an error about a server that is not there which one may be meant.
func meant(ctx context.Context, a ports.Admin, name string, err error) error {
	if !ports.IsKind(err, ports.KindNotFound) {
		return err
	}
	list, listErr := a.Servers(ctx)
	if listErr != nil {
		return err
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return noServer(name, names)
}

func noServer(name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("there is no MCP server %q (the config has none)", terminal.Printable(name))
	}
	return fmt.Errorf("there is no MCP server %q (%s)", terminal.Printable(name), config.Instead(name, known))
}
