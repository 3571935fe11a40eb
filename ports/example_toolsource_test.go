package ports_test

import (
	"context"
	"encoding/json"
	"fmt"

	"dragoman/ports"
)

// pantry is where tools come from. This one is at hand; a server would be
// connected to here, and kept connected, until ctx ends.
type pantry map[string]int

var _ ports.ToolSource = pantry(nil)

// Run registers first and says ready then. It leaves no goroutine behind, and
// does not touch reg once it has returned.
func (p pantry) Run(ctx context.Context, reg ports.Registrar) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	reg.State(ports.State{Phase: ports.PhaseConnecting})
	reg.Register(ports.Catalog{Tools: []ports.ToolPort{count{p}}})
	reg.State(ports.State{Phase: ports.PhaseReady})
	<-ctx.Done()
	reg.State(ports.State{Phase: ports.PhaseStopped})
	return ctx.Err()
}

// count is a tool: how many there are of something.
type count struct{ pantry pantry }

// Spec leaves Server empty: the gateway stamps it. Class is what makes a call run
// unasked, or again after a crash, so that unsafe is the honest word unless an
// admin trusts the source.
func (count) Spec() ports.ToolSpec {
	return ports.ToolSpec{
		Name: "count", Description: "Counts what is in the pantry.", Class: ports.ClassUnsafe,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"thing":{"type":"string"}},"required":["thing"]}`),
	}
}

// Call tells two failures apart. What the model can mend is a result; an error
// means that the tool did not answer.
func (c count) Call(ctx context.Context, call ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	const op = "pantry count"
	if err := ctx.Err(); err != nil {
		return ports.ToolResult{}, &ports.Error{Kind: ports.KindOf(err), Op: op, Err: err}
	}
	var args struct{ Thing string }
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return ports.ToolResult{}, &ports.Error{Kind: ports.KindInvalid, Op: op, Err: err}
	}
	n, ok := c.pantry[args.Thing]
	if !ok {
		return said(true, "there is no shelf for %s: ask for tea", args.Thing), nil
	}
	return said(false, "%d packets of %s", n, args.Thing), nil
}

func said(failed bool, format string, args ...any) ports.ToolResult {
	return ports.ToolResult{IsError: failed, Content: []ports.Block{{Kind: ports.BlockText, Text: fmt.Sprintf(format, args...)}}}
}

// shelf is a Registrar that keeps what was registered until its source is ready.
type shelf struct {
	tools []ports.ToolPort
	ready chan []ports.ToolPort
}

func (s *shelf) Register(c ports.Catalog) { s.tools = c.Tools }

func (s *shelf) State(st ports.State) {
	fmt.Println("the pantry is", st.Phase)
	if st.Phase == ports.PhaseReady {
		s.ready <- s.tools
	}
}

// A source of tools registers them and keeps them alive. The kit
// tests/toolsourcetest proves one.
func ExampleToolSource() {
	ctx, stop := context.WithCancel(context.Background())
	reg := &shelf{ready: make(chan []ports.ToolPort, 1)}
	done := make(chan error)
	go func() { done <- pantry{"tea": 3}.Run(ctx, reg) }()

	tool := (<-reg.ready)[0]
	for _, args := range []string{`{"thing":"tea"}`, `{"thing":"gold"}`, `"tea"`} {
		result, err := tool.Call(ctx, ports.ToolCall{Call: ports.Call{Name: "count", Arguments: json.RawMessage(args)}}, nil)
		if err != nil {
			fmt.Printf("%s is no answer: %s\n", args, ports.KindOf(err))
			continue
		}
		fmt.Printf("%s failed=%t: %s\n", args, result.IsError, result.Content[0].Text)
	}
	stop()
	fmt.Println("Run:", <-done)
	// Output:
	// the pantry is connecting
	// the pantry is ready
	// {"thing":"tea"} failed=false: 3 packets of tea
	// {"thing":"gold"} failed=true: there is no shelf for gold: ask for tea
	// "tea" is no answer: invalid
	// the pantry is stopped
	// Run: context canceled
}
