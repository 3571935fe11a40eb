package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed starter.json
var starter []byte

// schemaFile is what the starter's "$schema" points at.
const schemaFile = "dragoman.schema.json"

func newInit(file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a starter config, and its schema for editors beside it",
		Long: `Write a starter dragoman.json (--config FILE: under another name), and beside it
the schema that lets editors complete it. It runs at once, with a web chat and no
key; blocks for Telegram and an MCP server are in it as comments. A file that is
there already is never written over.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name := *file
			if name == "" {
				name = defaultFile
			}
			return initConfig(cmd, name)
		},
	}
}

func initConfig(cmd *cobra.Command, name string) error {
	schema, err := schemaText()
	if err != nil {
		return err
	}
	// It may hold a token soon.
	err = writeNew(name, starter, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already, and is left as it is (--config FILE writes another one)", name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s is not there (make it first)", filepath.Dir(name))
	case err != nil:
		return fmt.Errorf("write the config: %w", err)
	}
	beside := filepath.Join(filepath.Dir(name), schemaFile)
	err = writeNew(beside, append(schema, '\n'), 0o644)
	kept := errors.Is(err, fs.ErrExist)
	if err != nil && !kept {
		return errors.Join(fmt.Errorf("write the schema: %w", err), os.Remove(name))
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s is written.\n", name)
	if old, err := os.ReadFile(beside); kept && (err != nil || !bytes.Equal(bytes.TrimSpace(old), schema)) {
		fmt.Fprintf(w, "%s was there already, and is left as it is; \"dragoman schema\" prints that of this version.\n", beside)
	}
	option := ""
	if name != defaultFile {
		option = " --config " + name
	}
	_, err = fmt.Fprintf(w, `
Next:
  %[2]s%[1]s          runs it; the link to the web chat that it prints makes you the admin
  %[2]s check%[1]s    names every fault after you have changed the file

Telegram and an MCP server wait in the file as comments: take the // away and fill them in.
`, option, typedName())
	return err
}

// writeNew writes a file that is not there yet, whole or not at all.
func writeNew(name string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// typedName is how the command was called, where that can be typed again.
func typedName() string {
	if self := os.Args[0]; strings.HasPrefix(self, ".") {
		return self
	}
	return "dragoman"
}
