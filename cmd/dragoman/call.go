package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"dragoman/adapters/terminal"
	"dragoman/ports"
)

func newCall(file *string) *cobra.Command {
	var timeout time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call one tool as an admin",
		Long: `Call one tool as an admin: a policy of "deny" holds, "ask" is skipped, and the
call is audited. JSON is the tool's arguments, {} by default. A call that did not
go well ends with exit code 1; --json prints what came of it either way.`,
		Example: `  dragoman call files__read_text_file '{"path": "notes.txt"}'`,
		Args:    between(1, 2, "NAME [JSON] [--timeout D]"),
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
					if err := printUnconnected(ctx, cmd.ErrOrStderr(), a, r.Server); err != nil {
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
		if err := printJSON(cmd.OutOrStdout(), scriptReport{r, contentOf(r.Content)}); err != nil {
			return err
		}
	case r.IsError:
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", r.Outcome, terminal.Printable(r.Text))
	default:
		fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(r.Text))
	}
	if r.IsError {
		return errSaid
	}
	return nil
}

// scriptReport is a report as a script sees it: every key is always there.
type scriptReport struct {
	ports.CallReport
	Content []content `json:"content"`
}

// content is a piece of a result in the form that MCP gives it (MCP, schema, ContentBlock).
type content struct {
	Type        string    `json:"type"`
	Text        *string   `json:"text,omitempty"`
	Data        []byte    `json:"data,omitempty"`
	MIMEType    string    `json:"mimeType,omitempty"`
	URI         string    `json:"uri,omitempty"`
	Name        string    `json:"name,omitempty"`
	Description string    `json:"description,omitempty"`
	Size        int64     `json:"size,omitempty"`
	Resource    *resource `json:"resource,omitempty"`
}

// resource is what content of type "resource" holds.
type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     []byte  `json:"blob,omitempty"`
}

func contentOf(blocks []ports.Block) []content {
	list := []content{}
	for _, b := range blocks {
		switch b.Kind {
		case ports.BlockLink:
			list = append(list, content{Type: "resource_link", URI: b.URI, Name: b.Name, Description: b.Text, MIMEType: b.MIME, Size: b.Size})
		case ports.BlockResource:
			r := &resource{URI: b.URI, MIMEType: b.MIME, Blob: b.Data}
			if len(b.Data) == 0 {
				r.Text = &b.Text
			}
			list = append(list, content{Type: "resource", Resource: r})
		case ports.BlockText:
			list = append(list, content{Type: "text", Text: &b.Text})
		default:
			list = append(list, content{Type: string(b.Kind), Data: b.Data, MIMEType: b.MIME})
		}
	}
	return list
}
