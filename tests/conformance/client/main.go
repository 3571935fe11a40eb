// Command client is the gateway's MCP client for the official conformance suite:
//
//	conformance client --command "go run ./tests/conformance/client" --requirements 2026-07-28
//
// The suite starts a server and then this command with the server's URL. Here is
// no protocol: adapters/mcp is run as the gateway runs it, and this plays the
// people around it. As the admin it gives the scenario's credentials and opens
// the login links; as the model it calls every tool there is; as the person it
// accepts every form as it is. It exits with 1 if something went wrong, which
// some scenarios want.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"dragoman/adapters/mcp"
	"dragoman/ports"
)

// patience is less than that of the suite, which tells nothing of a client that it kills.
const patience = 25 * time.Second

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if len(os.Args) < 2 {
		log.Error("usage", "want", "client URL")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, log, os.Args[len(os.Args)-1]); err != nil {
		log.Error("scenario_failed", "err", err)
		os.Exit(1)
	}
}

// run plays the scenario that the environment names against the server.
func run(ctx context.Context, log *slog.Logger, url string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	scene, err := readScene()
	if err != nil {
		return err
	}
	admin, login, err := newAdmin(log, scene, url)
	if err != nil {
		return err
	}
	src, err := mcp.New(mcp.Config{URL: ports.Secret(url), Timeout: patience}, mcp.Deps{Log: log, Asks: true, Login: login})
	if err != nil {
		return err
	}
	b := newBoard()
	ended := make(chan error, 1)
	go func() { ended <- src.Run(ctx, b) }()
	err = (&game{scene: scene, log: log, board: b, admin: admin}).play(ctx)
	cancel()
	if end := <-ended; !errors.Is(end, context.Canceled) && !errors.Is(end, context.DeadlineExceeded) {
		err = errors.Join(err, fmt.Errorf("run ended: %w", end))
	}
	return err
}

// scene is what the suite tells of a scenario.
type scene struct {
	name  string
	about struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		PrivateKey   string `json:"private_key_pem"`
		Algorithm    string `json:"signing_algorithm"`
		ToolCalls    []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
}

func readScene() (*scene, error) {
	s := &scene{name: os.Getenv("MCP_CONFORMANCE_SCENARIO")}
	if about := os.Getenv("MCP_CONFORMANCE_CONTEXT"); about != "" {
		if err := json.Unmarshal([]byte(about), &s.about); err != nil {
			return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	return s, nil
}
