package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dragoman/adapters/terminal"
	"dragoman/ports"
)

// pageWidth is how many columns a listing may take for its sentences.
const pageWidth = 100

func newServers(file *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "The MCP servers: list them, reconnect, enable or disable one",
		Long: `List the MCP servers of the gateway that runs on the config's data_dir:
transport, state, protocol, tools, restarts, last error, end of stderr. Where
none runs, connect to them, wait for each until it is ready or its timeout is
over, and leave nothing behind.`,
		Args: listingOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withServers(cmd.Context(), *file, func(ctx context.Context, a ports.Admin) error {
				list, err := a.Servers(ctx)
				switch {
				case err != nil:
					return err
				case asJSON:
					return printJSON(cmd.OutOrStdout(), forScripts(list))
				}
				return printServers(cmd.OutOrStdout(), list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(newReconnect(file), newSwitch(file, true), newSwitch(file, false))
	return cmd
}

// listingOnly takes no argument, and says what one might look for here.
func listingOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("usage: %s [reconnect|enable|disable NAME] [--json], without %q (the listing has every server)", cmd.CommandPath(), args[0])}
}

// serverLine is a server as a script sees it: every key is always there.
type serverLine struct {
	ports.ServerInfo
	DisabledAt string   `json:"disabled_at"` // "" = no admin disabled it
	RetryIn    string   `json:"retry_in"`    // "" = it does not wait for a new try
	Login      string   `json:"login"`       // "" = no login is wanted
	Stderr     []string `json:"stderr"`
}

func forScripts(list []ports.ServerInfo) []serverLine {
	lines := make([]serverLine, len(list))
	for i, s := range list {
		lines[i] = forScript(s)
	}
	return lines
}

func forScript(s ports.ServerInfo) serverLine {
	line := serverLine{ServerInfo: s, Login: s.Login, Stderr: append([]string{}, s.Stderr...)}
	if s.RetryIn > 0 {
		line.RetryIn = s.RetryIn.String()
	}
	if !s.DisabledAt.IsZero() {
		line.DisabledAt = s.DisabledAt.Format(time.RFC3339)
	}
	return line
}

// printServers prints a row for each server, and under it, if it is in trouble, why.
func printServers(w io.Writer, list []ports.ServerInfo) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, `There is no MCP server: the config has none under "mcp_servers".`)
		return err
	}
	var table strings.Builder
	tab := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	several := slices.ContainsFunc(list, func(s ports.ServerInfo) bool { return s.Connections > 1 })
	row := func(cells ...any) {
		if !several {
			cells = cells[:len(cells)-1]
		}
		fmt.Fprintf(tab, strings.Repeat("\t%v", len(cells))[1:]+"\n", cells...)
	}
	row("SERVER", "TRANSPORT", "STATE", "PROTOCOL", "TOOLS", "RESTARTS", "CONNECTIONS")
	for _, s := range list {
		row(s.Name, cmp.Or(s.Transport, "-"), s.Phase, cmp.Or(terminal.Printable(s.Protocol), "-"), s.Tools, s.Restarts, s.Connections)
	}
	err := tab.Flush()
	rows := strings.SplitAfter(table.String(), "\n")
	_, headErr := io.WriteString(w, rows[0])
	for i, s := range list {
		_, rowErr := io.WriteString(w, rows[i+1]+trouble(s))
		err = errors.Join(err, rowErr)
	}
	return errors.Join(err, headErr)
}

// trouble says what is wrong with a server, with its last words; "" if nothing is.
func trouble(s ports.ServerInfo) string {
	var b strings.Builder
	switch s.DisabledBy {
	case ports.ByConfig:
		b.WriteString("  disabled by the config\n")
	case ports.ByAdmin:
		fmt.Fprintf(&b, "  disabled by an admin, %s\n", s.DisabledAt.Local().Format("2006-01-02 15:04 MST"))
	}
	why := oneLine(s.Err)
	if !missing(s) && why == "" && s.Login == "" {
		return b.String()
	}
	if s.RetryIn > 0 {
		why = strings.TrimPrefix(why+"; next try in "+s.RetryIn.Round(100*time.Millisecond).String(), "; ")
	}
	if why != "" {
		wrap(&b, "  last error: ", why)
	}
	if s.Login != "" {
		b.WriteString("  log in at: " + terminal.Printable(s.Login) + "\n") // one line, to be copied
	}
	for _, line := range s.Stderr[max(0, len(s.Stderr)-stderrShown):] {
		wrap(&b, "  stderr: ", oneLine(line))
	}
	return b.String()
}

// oneLine is a text of others without line ends and what steers a terminal.
func oneLine(s string) string { return strings.Join(strings.Fields(terminal.Printable(s)), " ") }

// wrap writes a text behind a label, in as many lines as it needs.
func wrap(b *strings.Builder, label, text string) {
	indent := strings.Repeat(" ", len(label))
	rest := []rune(text)
	for room := pageWidth - len(label); len(rest) > room; label = indent {
		end := room
		for end > room/2 && rest[end] != ' ' { // a word longer than half a line is cut
			end--
		}
		if rest[end] != ' ' {
			end = room
		}
		fmt.Fprintf(b, "%s%s\n", label, string(rest[:end]))
		rest = []rune(strings.TrimLeft(string(rest[end:]), " "))
	}
	fmt.Fprintf(b, "%s%s\n", label, string(rest))
}
