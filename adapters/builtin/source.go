package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"dragoman/ports"
)

// Source offers the built-in tools. Safe for many goroutines.
type Source struct {
	tools []ports.ToolPort
}

var _ ports.ToolSource = (*Source)(nil)

// New makes the source; artifacts is what read_artifact reads from.
func New(artifacts ports.Artifacts) *Source {
	return &Source{tools: []ports.ToolPort{
		readArtifact(artifacts),
		clock(),
	}}
}

// Run registers the tools and waits for the end of ctx.
func (s *Source) Run(ctx context.Context, reg ports.Registrar) error {
	if ctx.Err() == nil {
		reg.Register(ports.Catalog{Tools: s.tools})
		reg.State(ports.State{Phase: ports.PhaseReady})
	}
	<-ctx.Done()
	reg.State(ports.State{Phase: ports.PhaseStopped})
	return ctx.Err()
}

// tool is a tool made of a function. run gets arguments that are an object
// with no members but the known ones.
type tool struct {
	spec ports.ToolSpec
	run  func(ctx context.Context, in ports.Conversation, args json.RawMessage) (ports.ToolResult, error)
}

var _ ports.ToolPort = (*tool)(nil)

// Spec describes the tool.
func (t *tool) Spec() ports.ToolSpec { return t.spec }

// Call runs the tool.
func (t *tool) Call(ctx context.Context, call ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	if err := ctx.Err(); err != nil {
		return ports.ToolResult{}, wrap(t.spec.Name, err)
	}
	args := bytes.TrimSpace(call.Arguments)
	if len(args) == 0 {
		args = []byte(`{}`)
	}
	result, err := t.run(ctx, call.In, args)
	if err != nil {
		return ports.ToolResult{}, wrap(t.spec.Name, err)
	}
	return result, nil
}

// decode reads the arguments of a call into a struct.
func decode(args json.RawMessage, into any) error {
	if args[0] != '{' {
		return invalid("the arguments are no JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return invalid("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return invalid("there is more than one JSON value")
	}
	return nil
}

func textResult(format string, args ...any) ports.ToolResult {
	return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: fmt.Sprintf(format, args...)}}}
}

func failure(format string, args ...any) ports.ToolResult {
	r := textResult(format, args...)
	r.IsError = true
	return r
}
