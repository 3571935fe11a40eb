// Command dragoman is a self-hosted chat bot gateway: people write to a bot, a
// language model answers and calls the tools of MCP servers.
//
// This package is the only place that knows every adapter: wire.go has one line
// for each, the other files one subcommand each.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	_ "time/tzdata" // zones also where the machine has none

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func main() {
	ctx, hard, stop := signals()
	defer stop()
	root := newRoot(hard)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return
	}
	code := exitFailed
	var usage usageError
	if errors.As(err, &usage) {
		code = exitUsage
	}
	if !errors.Is(err, errSaid) {
		fmt.Fprintln(os.Stderr, err)
	}
	stop()
	os.Exit(code)
}

// errSaid ends a command whose output has said all there is to say.
var errSaid = errors.New("failed")

func newRoot(hard context.Context) *cobra.Command {
	var file string
	root := &cobra.Command{
		Use:           "dragoman",
		Short:         "A chat bot gateway: people ask, a model answers, MCP servers do the work",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          none,
		RunE:          func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), hard, file) },
	}
	root.PersistentFlags().StringVar(&file, "config", "", "config file (default ./dragoman.json if it is there, else the built-in default)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newRun(hard, &file), newChat(hard, &file), newInit(&file), newCheck(&file), newSchema(), newServers(&file), newTools(&file), newCall(&file), newPair(&file), newReplay(&file), newAudit(&file), newUsage(&file), newBackup(&file), newVersion(), newDesk())
	root.SetHelpCommand(newHelp(root))
	return root
}

// newHelp is cobra's own, but that a topic it does not know is wrong usage.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("there is no command %q to help with (dragoman -h lists them)", strings.Join(args, " "))}
			}
			return about.Help()
		},
	}
}

// none refuses arguments; as for every command, wrong usage is told apart.
func none(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	known := []string{}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	if cmd.HasParent() || len(known) == 0 {
		return usageError{fmt.Errorf("%s takes no argument, but got %q", cmd.CommandPath(), args[0])}
	}
	return usageError{fmt.Errorf("there is no command %q (there are: %s)", args[0], strings.Join(known, ", "))}
}

// between takes from least to most arguments, named in what.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError{fmt.Errorf("usage: %s %s", cmd.CommandPath(), what)}
		}
		return nil
	}
}
