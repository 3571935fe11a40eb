package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dragoman/adapters/terminal"
	"dragoman/ports"
)

// stderrShown is how many of a server's last words a listing shows.
const stderrShown = 5

func newTools(file *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tools [NAME]",
		Short: "List the tools with their policy and state; with NAME its schema",
		Args:  between(0, 1, "[NAME]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withServers(cmd.Context(), *file, func(ctx context.Context, a ports.Admin) error {
				list, err := a.Tools(ctx)
				if err == nil {
					err = printUnconnected(ctx, cmd.ErrOrStderr(), a, "")
				}
				if err != nil {
					return err
				}
				if len(args) == 1 {
					list = slices.DeleteFunc(list, func(t ports.ToolInfo) bool { return t.Name != args[0] })
					if len(list) == 0 {
						return fmt.Errorf("there is no tool %q (dragoman tools lists them)", args[0])
					}
				}
				for i := range list { // every key of a listing has a value of its kind
					if len(list[i].InputSchema) == 0 {
						list[i].InputSchema = json.RawMessage(`{"type":"object"}`)
					}
				}
				w := cmd.OutOrStdout()
				switch {
				case asJSON:
					return printJSON(w, list)
				case len(args) == 1:
					return printTool(w, list[0])
				}
				return printTools(w, list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// missing reports whether a server should be there and is not.
func missing(s ports.ServerInfo) bool {
	return !s.Phase.Callable() && s.Phase != ports.PhaseDisabled
}

// printUnconnected says which servers are missing from a listing, and why: of all,
// or of the one that it is about.
func printUnconnected(ctx context.Context, w io.Writer, a ports.Admin, about string) error {
	servers, err := a.Servers(ctx)
	for _, s := range servers {
		if !missing(s) || about != "" && s.Name != about {
			continue
		}
		fmt.Fprintf(w, "server %s is not connected: %s\n", s.Name, terminal.Printable(cmp.Or(s.Err, string(s.Phase))))
		if s.Login != "" {
			fmt.Fprintf(w, "  log in: %s\n", terminal.Printable(s.Login))
		}
		for _, line := range s.Stderr[max(0, len(s.Stderr)-stderrShown):] {
			fmt.Fprintf(w, "  %s\n", terminal.Printable(line))
		}
	}
	return err
}

func printTools(w io.Writer, list []ports.ToolInfo) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "There is no tool.")
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "TOOL\tPOLICY\tSTATE\tDESCRIPTION")
	longest := 0
	for _, t := range list {
		longest = max(longest, len(t.Name))
	}
	room := max(pageWidth-longest-len("  POLICY  unavailable  "), 30)
	for _, t := range list {
		line, _, _ := strings.Cut(strings.TrimSpace(terminal.Printable(t.Description)), "\n")
		if short := []rune(line); len(short) > room {
			line = string(short[:room-1]) + "…"
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\n", t.Name, t.Policy, t.State, line)
	}
	return tab.Flush()
}

func printTool(w io.Writer, t ports.ToolInfo) error {
	var schema bytes.Buffer
	if err := json.Indent(&schema, t.InputSchema, "", "  "); err != nil {
		return fmt.Errorf("the schema of %s is not JSON: %w", t.Name, err)
	}
	_, err := fmt.Fprintf(w, "%s  (policy %s, %s)\n\n%s\n\n%s\n", t.Name, t.Policy, t.State, strings.TrimSpace(terminal.Printable(t.Description)), terminal.Printable(schema.String()))
	return err
}
