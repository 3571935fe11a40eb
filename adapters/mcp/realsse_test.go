//go:build unix

package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/ports"
	"dragoman/tests/toolsourcetest"
)

// sseConfig is the remote at its older address.
func (r *remote) sseConfig() Config {
	cfg := r.config()
	cfg.URL = ports.Secret(strings.TrimSuffix(cfg.URL.Reveal(), "/mcp") + "/sse")
	return cfg
}

// TestEverythingServerOverSSE: found out by its 404 for the POST. Killed and
// restarted it is connected to again.
func TestEverythingServerOverSSE(t *testing.T) {
	s := newRemote(t, "mcp-server-everything", "sse")
	h := everythingHarness(s.sseConfig())
	h.Kill = nil // the rules count children; the loss is tried below
	checkMain(t, h)
	wantContent(t, s.sseConfig())

	r := start(t, s.sseConfig())
	if state := r.awaitPhase(ports.PhaseReady, 0); state.Transport != "sse" || !strings.Contains(state.Peer, "everything") || state.Protocol == "" {
		t.Errorf("ready as %+v", state)
	}
	gave := make(chan error, 1)
	go func() {
		_, err := r.call(t.Context(), "trigger-long-running-operation", `{"duration":30,"steps":3}`)
		gave <- err
	}()
	if _, err := r.call(t.Context(), "echo", `{"message":"beside it"}`); err != nil {
		t.Error(err)
	}
	<-time.After(200 * time.Millisecond) // the long call is on its way
	s.kill()
	wantKind(t, <-gave, ports.KindUnsure, "")
	s.up()
	eventually(t, "it works again", func() bool {
		result, err := r.call(t.Context(), "echo", `{"message":"again"}`)
		return err == nil && wantText(result, "Echo: again") == nil
	})
}

// goHarness has the tools of goServer and gosdkServer.
func goHarness(cfg Config) toolsourcetest.Harness {
	return toolsourcetest.Harness{
		New: func() (ports.ToolSource, error) { return New(cfg, Deps{}) },
		Echo: toolsourcetest.Echo{
			Tool: "echo",
			Args: func(n int) string { return fmt.Sprintf(`{"text":"number %d"}`, n) },
			Want: func(n int, r ports.ToolResult) error { return wantText(r, fmt.Sprintf("number %d", n)) },
		},
		Failing: &toolsourcetest.Probe{Tool: "fail"},
		Slow:    &toolsourcetest.Probe{Tool: "slow"},
	}
}

// gosdkServer is goServer made with the official package.
func gosdkServer(calls chan<- string) *gosdk.Server {
	type text struct {
		Text string `json:"text,omitempty"`
	}
	say := func(words string) *gosdk.CallToolResult {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: words}}}
	}
	s := gosdk.NewServer(&gosdk.Implementation{Name: "official go server", Version: "1.0"}, nil)
	gosdk.AddTool(s, &gosdk.Tool{Name: "echo"}, func(_ context.Context, _ *gosdk.CallToolRequest, in text) (*gosdk.CallToolResult, any, error) {
		return say(in.Text), nil, nil
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "fail"}, func(context.Context, *gosdk.CallToolRequest, struct{}) (*gosdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("no luck")
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "slow"}, func(ctx context.Context, _ *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		calls <- "running"
		select {
		case <-ctx.Done():
			calls <- "cancelled"
			return nil, nil, ctx.Err()
		case <-time.After(20 * time.Second):
			return say("done"), nil, nil
		}
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "grow"}, func(context.Context, *gosdk.CallToolRequest, struct{}) (*gosdk.CallToolResult, any, error) {
		gosdk.AddTool(s, &gosdk.Tool{Name: "grown"}, func(context.Context, *gosdk.CallToolRequest, struct{}) (*gosdk.CallToolResult, any, error) {
			return say("new"), nil, nil
		})
		return say("grown"), nil, nil
	})
	return s
}

// TestGoServersOverSSE: of both Go packages, found out and asked for.
func TestGoServersOverSSE(t *testing.T) {
	for name, make := range map[string]func(chan<- string) http.Handler{
		"mcp-go": func(calls chan<- string) http.Handler { return server.NewSSEServer(goServer(calls)) },
		"go-sdk": func(calls chan<- string) http.Handler {
			s := gosdkServer(calls)
			return gosdk.NewSSEHandler(func(*http.Request) *gosdk.Server { return s }, nil)
		},
	} {
		for _, transport := range []string{"", "sse"} {
			t.Run(name+" "+transport, func(t *testing.T) {
				calls := newCalls()
				web := httptest.NewServer(make(calls))
				t.Cleanup(web.Close) // after the source, whose stream it waits for
				checkGoServer(t, Config{URL: ports.Secret(web.URL + "/sse"), Transport: transport}, "sse", calls)
			})
		}
	}
}

// TestOfficialGoServerOverHTTP: it answers with streams that have ids.
func TestOfficialGoServerOverHTTP(t *testing.T) {
	calls := newCalls()
	s := gosdkServer(calls)
	web := httptest.NewServer(gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s },
		&gosdk.StreamableHTTPOptions{EventStore: gosdk.NewMemoryEventStore(nil)}))
	t.Cleanup(web.Close)
	checkGoServer(t, Config{URL: ports.Secret(web.URL + "/mcp")}, "http", calls)
}

func newCalls() chan string { return make(chan string, 100) }

func checkGoServer(t *testing.T, cfg Config, transport string, calls chan string) {
	t.Helper()
	checkMain(t, goHarness(cfg))
	r := start(t, cfg)
	if state := r.awaitPhase(ports.PhaseReady, 0); state.Transport != transport {
		t.Errorf("ready as %+v", state)
	}
	if _, err := r.call(t.Context(), "grow", `{}`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new tool is registered", func() bool { return slices.Contains(r.names(), "grown") })
	for len(calls) > 0 {
		<-calls
	}
	for within, arrived := 300*time.Millisecond, false; !arrived; within *= 4 { // it may be given up before it is sent
		ctx, cancel := context.WithTimeout(t.Context(), within)
		_, err := r.call(ctx, "slow", `{}`)
		cancel()
		wantKind(t, err, ports.KindTimeout, "deadline")
		select {
		case <-calls:
			arrived = true
		case <-time.After(5 * time.Second):
			if within > 10*time.Second {
				t.Fatal("the server does not see the call")
			}
		}
	}
	for told := false; !told; {
		select {
		case what := <-calls:
			told = what == "cancelled"
		case <-time.After(10 * time.Second):
			t.Fatal("the server was not told that the call was given up")
		}
	}
}
