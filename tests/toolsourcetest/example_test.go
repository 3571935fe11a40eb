package toolsourcetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"dragoman/ports"
	"dragoman/tests/toolsourcetest"
)

// echo is a source with one tool that gives back its arguments. It has one fault.
type echo struct{}

func (e echo) Run(ctx context.Context, reg ports.Registrar) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	reg.State(ports.State{Phase: ports.PhaseConnecting})
	reg.Register(ports.Catalog{Tools: []ports.ToolPort{e}})
	reg.State(ports.State{Phase: ports.PhaseReady})
	<-ctx.Done()
	reg.State(ports.State{Phase: ports.PhaseStopped})
	return ctx.Err()
}

func (echo) Spec() ports.ToolSpec {
	return ports.ToolSpec{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`), Class: ports.ClassRead} // the fault
}

func (echo) Call(ctx context.Context, c ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	if err := ctx.Err(); err != nil {
		return ports.ToolResult{}, &ports.Error{Kind: ports.KindOf(err), Op: "echo", Err: err}
	}
	return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: string(c.Arguments)}}}, nil
}

// In a test, toolsourcetest.Run(t, h) is all. Here the rules are gone through by
// hand: the one that is broken names the fault.
//
// An echo has no peer to lose and nothing slow; a source that has says so in
// Harness.Kill and Harness.Slow, and more rules apply.
func Example() {
	args := func(n int) string { return fmt.Sprintf(`{"n":%d}`, n) }
	h := toolsourcetest.Harness{
		New: func() (ports.ToolSource, error) { return echo{}, nil },
		Echo: toolsourcetest.Echo{Tool: "echo", Args: args, Want: func(n int, r ports.ToolResult) error {
			if got := r.Content[0].Text; got != args(n) {
				return fmt.Errorf("it says %s, want %s", got, args(n))
			}
			return nil
		}},
	}
	for _, rule := range toolsourcetest.Rules() {
		err := rule.Check(context.Background(), h)
		if err != nil && !errors.Is(err, toolsourcetest.ErrSkip) {
			fmt.Printf("%s: %v\n", rule.Name, err)
		}
	}
	// Output:
	// class_unsafe_unless_trusted: tool "echo": it is of class read and the source is not trusted
}
