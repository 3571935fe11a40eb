package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"dragoman/adapters/demo"
	"dragoman/adapters/sqlstore"
	"dragoman/core/access"
	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// phone is the chat platform: Ann says one thing and reads the answer.
type phone struct{ says, reads chan string }

func (p phone) Traits() ports.Traits { return ports.Traits{} }

func (p phone) Run(ctx context.Context, in ports.Receiver) error {
	m := ports.Message{Event: "1", ID: "1", In: ports.Conversation{Chat: "ann"}, Private: true, From: "ann", Text: <-p.says}
	if err := in.Receive(ctx, ports.Batch{Messages: []ports.Message{m}}); err != nil {
		return err
	}
	<-ctx.Done() // stored: from here on it is the gateway's
	return nil
}

func (p phone) Send(_ context.Context, m ports.Outgoing) (ports.MessageID, error) {
	p.reads <- m.Content.Text
	return "2", nil
}

// shop is the server, with one tool: price.
type shop struct{}

func (s shop) Run(ctx context.Context, reg ports.Registrar) error {
	reg.Register(ports.Catalog{Tools: []ports.ToolPort{s}})
	reg.State(ports.State{Phase: ports.PhaseReady})
	<-ctx.Done()
	return nil
}

func (shop) Spec() ports.ToolSpec {
	schema := `{"type":"object","properties":{"item":{"type":"string"}},"required":["item"]}`
	return ports.ToolSpec{Name: "price", Description: "What an item costs.", InputSchema: json.RawMessage(schema), Class: ports.ClassRead}
}

func (shop) Call(_ context.Context, c ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: fmt.Sprintf("%s costs 4 euros", c.Arguments)}}}, nil
}

// The hexagon whole: a store, a model, a chat and a tool, each known to the core
// by its port alone. Put another adapter in the place of any of them, and nothing
// else changes.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	log := slog.New(slog.DiscardHandler)
	dir, _ := os.MkdirTemp("", "dragoman")
	defer os.RemoveAll(dir)
	store, err := sqlstore.Open(ctx, sqlstore.Config{Dir: dir, Sync: "full"}, log)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	model, _ := demo.New(demo.Config{}, log)
	ann := phone{says: make(chan string, 1), reads: make(chan string)}

	g := gateway.New(gateway.Options{
		Store: store, Audit: store, Log: log, Turns: 8, Drain: 5 * time.Second,
		Channels: []gateway.Channel{{Name: "phone", Port: ann, Agent: "main", SendsInFlight: 1}},
		Sources:  []gateway.Source{{Source: toolbox.Source{Name: "shop", Timeout: time.Second}, Port: shop{}}},
		Agents: []gateway.Agent{{Config: agent.Config{Name: "main", MaxSteps: 5, TurnTimeout: time.Minute,
			Models: []agent.Model{{Name: "demo", Port: model, ContextTokens: 32000}}}}},
		Access: access.Config{Channels: map[string]access.Rules{"phone": {Mode: access.Open}}},
		Tools:  toolbox.Config{Default: ports.PolicyAllow, ResultBytes: 4096},
	})
	done := make(chan error)
	go func() { done <- g.Run(ctx, context.WithoutCancel(ctx)) }()

	ann.says <- `call shop__price {"item":"tea"}`
	answer, _, _ := strings.Cut(<-ann.reads, "\n") // below it the demo model says what it is
	fmt.Println(answer)
	stop()
	fmt.Println("stopped:", <-done)
	// Output:
	// {"item":"tea"} costs 4 euros
	// stopped: <nil>
}
