//go:build unix

package mcp

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"dragoman/ports"
)

// remote is a server that nobody here wrote, as a process of its own that
// listens; it can be killed and started again on its port.
type remote struct {
	t       *testing.T
	command string
	args    []string
	path    string
	addr    string
	cmd     *exec.Cmd
}

func newRemote(t *testing.T, name string, args ...string) *remote {
	t.Helper()
	cfg := nodeServer(t, name)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{t: t, command: cfg.Command, args: args, path: cfg.Env["PATH"].Reveal(), addr: l.Addr().String()}
	l.Close()
	t.Cleanup(r.kill)
	r.up()
	return r
}

func (r *remote) up() {
	_, port, err := net.SplitHostPort(r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.cmd = exec.Command(r.command, r.args...)
	r.cmd.Env = []string{"PATH=" + r.path, "PORT=" + port, "HOME=" + r.t.TempDir()}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		conn, err := net.Dial("tcp", r.addr)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s does not listen: %v", r.command, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (r *remote) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

func (r *remote) config() Config {
	return Config{URL: ports.Secret("http://localhost" + r.addr[strings.LastIndex(r.addr, ":"):] + "/mcp"), Timeout: time.Minute}
}

// TestEverythingServerOverHTTP: killed and restarted it forgets its sessions, and
// says so with a 400.
func TestEverythingServerOverHTTP(t *testing.T) {
	s := newRemote(t, "mcp-server-everything", "streamableHttp")
	h := everythingHarness(s.config())
	h.Kill = nil // the rules count children; the loss is tried below
	checkMain(t, h)
	wantContent(t, s.config())

	r := start(t, s.config())
	if state := r.awaitPhase(ports.PhaseReady, 0); state.Protocol != newestLegacy || state.Transport != "http" || !strings.Contains(state.Peer, "everything") {
		t.Errorf("ready as %+v", state)
	}
	if len(r.names()) < 10 {
		t.Errorf("the tools are %v", r.names())
	}
	gave, f := make(chan error, 1), new(filler)
	go func() {
		_, err := r.tool("trigger-long-running-operation").Call(t.Context(), ports.ToolCall{Call: ports.Call{Arguments: []byte(`{"duration":30,"steps":60}`)}}, f)
		gave <- err
	}()
	if _, err := r.call(t.Context(), "echo", `{"message":"beside it"}`); err != nil {
		t.Error(err)
	}
	eventually(t, "the long call runs", func() bool { return len(f.shown()) > 0 })
	s.kill()
	wantKind(t, <-gave, ports.KindUnsure, "")
	s.up()
	eventuallyWithin(t, time.Minute, "it works again", func() bool { // the pauses of the tries grew meanwhile
		result, err := r.call(t.Context(), "echo", `{"message":"again"}`)
		return err == nil && wantText(result, "Echo: again") == nil
	})
	r.await("ready again", 0, func(s ports.State) bool { return s.Phase == ports.PhaseReady && s.Restarts > 0 })
}

// goServer is a server made with mcp-go's package.
func goServer(calls chan<- string) *server.MCPServer {
	s := server.NewMCPServer("go server", "1.0", server.WithToolCapabilities(true))
	s.AddTool(mcpgo.NewTool("echo", mcpgo.WithString("text")), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText(r.GetString("text", "")), nil
	})
	s.AddTool(mcpgo.NewTool("fail"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultError("no luck"), nil
	})
	s.AddTool(mcpgo.NewTool("slow"), func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		calls <- "running"
		select {
		case <-ctx.Done():
			calls <- "cancelled"
			return nil, ctx.Err()
		case <-time.After(20 * time.Second):
			return mcpgo.NewToolResultText("done"), nil
		}
	})
	s.AddTool(mcpgo.NewTool("grow"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		s.AddTool(mcpgo.NewTool("grown"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			return mcpgo.NewToolResultText("new"), nil
		})
		return mcpgo.NewToolResultText("grown"), nil
	})
	return s
}

func TestGoServerOverHTTP(t *testing.T) {
	calls := newCalls()
	web := httptest.NewServer(server.NewStreamableHTTPServer(goServer(calls), server.WithStateful(true)))
	t.Cleanup(web.Close) // after the source, whose stream it waits for
	checkGoServer(t, Config{URL: ports.Secret(web.URL + "/mcp")}, "http", calls)
}

// TestGoServerIsReplaced: another server, that knows no session, answers at the
// address. To one of the modern revision nothing was lost.
func TestGoServerIsReplaced(t *testing.T) {
	for version, restarts := range map[string]int{newestLegacy: 1, newestModern: 0} {
		t.Run(version, func(t *testing.T) { checkReplaced(t, version, restarts) })
	}
}

func checkReplaced(t *testing.T, version string, restarts int) {
	calls := newCalls()
	fresh := func() http.Handler { return server.NewStreamableHTTPServer(goServer(calls), server.WithStateful(true)) }
	var now atomic.Value // of http.Handler, of one type
	var listens atomic.Int64
	now.Store(fresh())
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := now.Load().(http.Handler)
		if r.Method == http.MethodGet {
			listens.Add(1)
		}
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close) // after the source, whose stream it waits for
	r := start(t, Config{URL: ports.Secret(web.URL + "/mcp"), ProtocolVersion: version}).ready()
	r.wantEcho("one")
	if version == newestLegacy { // or its stream, if it opens late, tells of the loss before the call does
		eventually(t, "the client listens", func() bool { return listens.Load() > 0 })
	}
	now.Store(fresh())
	r.wantEcho("two")
	r.await("ready again", 0, func(s ports.State) bool {
		return s.Phase == ports.PhaseReady && s.Restarts == restarts && s.Protocol == version
	})
}
