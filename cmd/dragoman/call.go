package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"dragoman/ports"
)

func newCall(file *string) *cobra.Command {
	var timeout time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call one tool as an admin",
		Args:  between(1, 2, "NAME [JSON] [--timeout D]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			input := json.RawMessage("{}")
			if len(args) == 2 {
				input = json.RawMessage(args[1])
			}
			if timeout < 0 {
				return usageError{fmt.Errorf("--timeout must not be negative")}
			}
			if !json.Valid(input) {
				return usageError{fmt.Errorf("the arguments are not valid JSON: %s", input)}
			}
			return withServers(cmd.Context(), *file, func(ctx context.Context, a ports.Admin) error {
				r, err := a.CallTool(ctx, args[0], input, timeout)
				if err != nil {
					return err
				}
				if r.Outcome == ports.CallTransport || r.Outcome == ports.CallNotFound {
					if err := printUnconnected(ctx, cmd.ErrOrStderr(), a); err != nil {
						return err
					}
				}
				return printReport(cmd, r, asJSON)
			})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait for the tool (default: the server's call_timeout)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printReport prints what the call gave; one that did not go well ends with exit code 1.
func printReport(cmd *cobra.Command, r ports.CallReport, asJSON bool) error {
	switch {
	case asJSON:
		if err := printJSON(cmd.OutOrStdout(), r); err != nil {
			return err
		}
	case r.IsError:
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", r.Outcome, plain(r.Text))
	default:
		fmt.Fprintln(cmd.OutOrStdout(), plain(r.Text))
	}
	if r.IsError {
		return errSaid
	}
	return nil
}
