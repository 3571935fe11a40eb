package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dragoman/adapters/sqlstore"
	"dragoman/config"
)

func newBackup(file *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database to a new file, also while the gateway runs",
		Long: `Copy the database, as it is at one moment, to a new file; the gateway may run and
write meanwhile. A file that is there already is never written over.

To go back to a copy, stop the gateway, name the file in the config as
"store": {"path": FILE}, and start it: it runs on that file from then on. Do not
copy one over dragoman.db, beside which SQLite may have left files of the old one.

The files of data_dir that are not the database, as admin-token, are not in it.`,
		Args: between(1, 1, "FILE [--json]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return usageError{errors.New("the name of the new file is empty")}
			}
			cfg, err := storeOf(*file)
			if err != nil {
				return err
			}
			c, err := sqlstore.Backup(cmd.Context(), sqlstore.Config{Dir: cfg.DataDir, Path: cfg.Store.Path}, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), backupLine{args[0], c.Bytes, c.Conversations, c.Messages})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is written: %s, %s, %s.\n", args[0],
				count(int(c.Bytes), "byte"), count(int(c.Conversations), "conversation"), count(int(c.Messages), "message"))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// backupLine is a backup as a script sees it.
type backupLine struct {
	File          string `json:"file"`
	Bytes         int64  `json:"bytes"`
	Conversations int64  `json:"conversations"`
	Messages      int64  `json:"messages"` // of people; each may have an answer
}

// storeOf reads of a config only where its database is, whatever else is wrong
// with it: a backup must be had from any shell, also of a gateway whose file was
// spoilt since.
func storeOf(file string) (*config.Config, error) {
	if file == "" {
		file = defaultFile
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return locate("")
		}
	}
	return loadFor(file, func(f config.Fault) bool {
		return f.Path == "data_dir" || f.Path == "store" || strings.HasPrefix(f.Path, "store.")
	})
}

// loadFor reads a config for a command that needs a part of it: only faults that
// matter to it are errors.
func loadFor(file string, matters func(config.Fault) bool) (*config.Config, error) {
	cfg, err := config.Load(file, os.LookupEnv)
	var faults config.Faults
	if !errors.As(err, &faults) {
		return cfg, err
	}
	if cfg == nil || slices.ContainsFunc(faults, matters) {
		return nil, err
	}
	return cfg, nil
}
