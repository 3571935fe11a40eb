package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCheck(file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Print every fault of the config by line and column",
		Args:  none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, name, err := loadConfig(cmd.Context(), *file)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is good: %s, %s, %s, %s.\n", name, count(len(cfg.Models), "model"), count(len(cfg.Agents), "agent"),
				count(len(cfg.Channels), "channel"), count(len(cfg.MCPServers), "MCP server"))
			return nil
		},
	}
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
