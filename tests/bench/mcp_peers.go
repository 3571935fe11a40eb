package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	wire "github.com/mark3labs/mcp-go/mcp"

	"dragoman/adapters/mcp"
	"dragoman/ports"
)

// link is a way to the echo server, and the revision of MCP that is spoken on it.
type link struct {
	URL     string // "" = stdio
	Version string
}

// peer is a client that is connected. say makes one call and looks at its answer.
type peer struct {
	say   func(ctx context.Context, text string) error
	close func() error
}

// adapterPeer is the whole adapter: a source as the gateway runs it, with a log
// that is written and thrown away.
func adapterPeer(ctx context.Context, bins binaries, l link) (peer, error) {
	cfg := mcp.Config{ProtocolVersion: l.Version}
	if l.URL != "" {
		cfg.URL = ports.Secret(l.URL)
	} else {
		cfg.Command = bins.echo
	}
	source, err := mcp.New(cfg, mcp.Deps{Log: slog.New(slog.NewJSONHandler(io.Discard, nil))})
	if err != nil {
		return peer{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	reg, ended := make(registrar, 1), make(chan error, 1)
	go func() { ended <- source.Run(ctx, reg) }()
	stop := func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case tool := <-reg:
		return peer{say: sayer(tool), close: stop}, nil
	case <-late.C:
		return peer{}, errors.Join(errors.New("the adapter has no tool"), stop())
	case <-ctx.Done():
		return peer{}, errors.Join(ctx.Err(), stop())
	}
}

func sayer(tool ports.ToolPort) func(ctx context.Context, text string) error {
	return func(ctx context.Context, text string) error {
		call := ports.ToolCall{Call: ports.Call{Name: "echo", Arguments: json.RawMessage(`{"text":"` + text + `"}`)}, Turn: "bench", Key: "bench/" + text}
		r, err := tool.Call(ctx, call, nil)
		switch {
		case err != nil:
			return err
		case len(r.Content) != 1 || r.Content[0].Text != text:
			return fmt.Errorf("the adapter gave %+v for %q", r, text)
		}
		return nil
	}
}

// registrar hands on the first tool that is registered.
type registrar chan ports.ToolPort

func (r registrar) Register(c ports.Catalog) {
	if len(c.Tools) == 0 {
		return
	}
	select {
	case r <- c.Tools[0]:
	default:
	}
}

func (registrar) State(ports.State) {}

// barePeer is mcp-go's own client.
func barePeer(ctx context.Context, bins binaries, l link) (peer, error) {
	var way transport.Interface = transport.NewStdio(bins.echo, nil)
	if l.URL != "" {
		overHTTP, err := transport.NewStreamableHTTP(l.URL)
		if err != nil {
			return peer{}, err
		}
		way = overHTTP
	}
	c := client.NewClient(way, client.WithProtocolVersion(l.Version))
	if err := c.Start(ctx); err != nil {
		return peer{}, err
	}
	hello := wire.InitializeRequest{}
	hello.Params.ProtocolVersion, hello.Params.ClientInfo = l.Version, wire.Implementation{Name: "bench", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return peer{}, errors.Join(err, c.Close())
	}
	say := func(ctx context.Context, text string) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		call := wire.CallToolRequest{}
		call.Params.Name, call.Params.Arguments = "echo", map[string]any{"text": text}
		r, err := c.CallTool(ctx, call)
		if err != nil {
			return err
		}
		if len(r.Content) == 1 {
			if got, ok := wire.AsTextContent(r.Content[0]); ok && got.Text == text {
				return nil
			}
		}
		return fmt.Errorf("mcp-go's client gave %+v for %q", r, text)
	}
	return peer{say: say, close: c.Close}, nil
}

// serveEcho starts the echo server on HTTP, in a folder.
func serveEcho(ctx context.Context, bins binaries, dir string) (p *process, url string, err error) {
	if p, err = start(dir, []string{"HOME=" + dir}, bins.echo, "-http"); err != nil {
		return nil, "", err
	}
	for until := time.Now().Add(patience); time.Now().Before(until); {
		printed, err := os.ReadFile(filepath.Join(dir, "output.log"))
		if line, _, ok := strings.Cut(string(printed), "\n"); err == nil && ok {
			return p, line, nil
		}
		if err := errors.Join(p.alive(), pause(ctx, 5*time.Millisecond)); err != nil {
			p.kill()
			return nil, "", err
		}
	}
	p.kill()
	return nil, "", errors.New("the echo server does not say where it is")
}
