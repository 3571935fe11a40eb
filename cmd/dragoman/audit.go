package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dragoman/ports"
)

// auditShown is how many entries are listed where nobody says otherwise.
const auditShown = 50

func newAudit(file *string) *cobra.Command {
	var (
		asJSON bool
		limit  int
	)
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "What admins did and what was given up, the latest first",
		Args:  none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usageError{fmt.Errorf("--limit must be at least 1, not %d", limit)}
			}
			return withRecords(cmd.Context(), *file, func(ctx context.Context, a ports.Admin) error {
				list, err := a.Entries(ctx, limit)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), append([]ports.AuditEntry{}, list...))
				}
				return printAudit(cmd.OutOrStdout(), list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&limit, "limit", auditShown, "how many entries")
	return cmd
}

func printAudit(w io.Writer, list []ports.AuditEntry) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "There is nothing in the audit.")
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "WHEN\tWHO\tWHAT\tABOUT\tDETAIL")
	for _, e := range list {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", e.At.Local().Format(time.DateTime), oneLine(e.Actor), e.What, oneLine(e.Ref), oneLine(string(e.Detail)))
	}
	return tab.Flush()
}
