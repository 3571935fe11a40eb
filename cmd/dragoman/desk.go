package main

import (
	"os"

	"github.com/spf13/cobra"

	"dragoman/adapters/desk"
)

func newDesk() *cobra.Command {
	return &cobra.Command{
		Use:    "desk",
		Short:  "Serve the small MCP server of the built-in default on stdio",
		Args:   none,
		Hidden: true,
		RunE:   func(cmd *cobra.Command, _ []string) error { return desk.Serve(cmd.Context(), os.Stdin, os.Stdout) },
	}
}
