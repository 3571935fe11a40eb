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

func newPair(file *string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "People who asked for access: list, approve, revoke",
		Args:  between(1, 0, "list | approve CODE | revoke ID"),
		RunE:  func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(newPairList(file), newPairApprove(file), newPairRevoke(file))
	return cmd
}

func newPairList(file *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Who waits for access and who has it",
		Args:  none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRecords(cmd.Context(), *file, func(ctx context.Context, a ports.Admin) error {
				list, err := a.Pairings(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), append([]ports.Pairing{}, list...))
				}
				return printPairings(cmd.OutOrStdout(), list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newPairApprove(file *string) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:   "approve CODE",
		Short: "Let in whoever was given this code",
		Args:  between(1, 1, "CODE [--role user|admin]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if role != string(ports.RoleMember) && role != string(ports.RoleAdmin) {
				return usageError{fmt.Errorf("--role must be user or admin, not %q", role)}
			}
			return withRecords(cmd.Context(), *file, func(ctx context.Context, a ports.Admin) error {
				p, err := a.Approve(ctx, args[0], ports.Role(role))
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s is in as %s (id %s).\n", who(p), p.Role, p.ID)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", string(ports.RoleMember), "user or admin")
	return cmd
}

func newPairRevoke(file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Take somebody's access away, by id or by channel:user",
		Args:  between(1, 1, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRecords(cmd.Context(), *file, func(ctx context.Context, a ports.Admin) error {
				p, err := a.Revoke(ctx, args[0])
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s no longer has access.\n", who(p))
				}
				return err
			})
		},
	}
}

func printPairings(w io.Writer, list []ports.Pairing) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "Nobody has asked for access.")
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "STATE\tCODE\tWHO\tNAME\tROLE\tID\tEXPIRES")
	for _, p := range list {
		expires := ""
		if !p.Expires.IsZero() {
			expires = "in " + time.Until(p.Expires).Round(time.Minute).String()
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.State, p.Code, oneLine(p.Identity), oneLine(p.Name), p.Role, p.ID, expires)
	}
	return tab.Flush()
}

func who(p ports.Pairing) string {
	if p.Name == "" {
		return oneLine(p.Identity)
	}
	return fmt.Sprintf("%s (%s)", oneLine(p.Name), oneLine(p.Identity))
}
