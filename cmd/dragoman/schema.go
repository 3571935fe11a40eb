package main

import (
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"dragoman/config"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the config, for editors",
		Long: `Print the JSON Schema (2020-12) of the config.

An editor that knows it completes every key and marks what is wrong:

  dragoman schema > dragoman.schema.json

and in dragoman.json, as its first key:

  "$schema": "./dragoman.schema.json"`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := schemaText()
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
			}
			return err
		},
	}
}

// schemaText is the schema with the sections of every adapter there is.
func schemaText() ([]byte, error) {
	return config.Schema(config.Adapters{Models: configsOf(models), Channels: configsOf(channels), Server: server.config})
}

func configsOf[P any](table map[string]factory[P]) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for word, f := range table {
		types[word] = f.config
	}
	return types
}
