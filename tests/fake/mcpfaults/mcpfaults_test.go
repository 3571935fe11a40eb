package mcpfaults_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"dragoman/tests/fake/mcpfaults"
)

// asServer starts the test binary as a server over stdio.
const asServer = "mcp-fault"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == asServer {
		mcpfaults.Run(os.Args[2], os.Args[3])
	}
	os.Exit(m.Run())
}

func TestEachFaultHasANameOfItsOwnAndAReason(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range mcpfaults.Faults() {
		if f.Name == "" || f.Why == "" || seen[f.Name] {
			t.Errorf("the fault %q (%q) is there twice, or has no name or no reason", f.Name, f.Why)
		}
		seen[f.Name] = true
	}
}

// A client that nobody here wrote gets along with every fault that is mended.
func TestAForeignClientLikesWhatIsMended(t *testing.T) {
	mended := filepath.Join(t.TempDir(), "mended")
	if err := os.WriteFile(mended, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range mcpfaults.Faults() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			like(ctx, t, dial(ctx, t, f, mended))
		})
	}
}

// dial connects to the fault.
func dial(ctx context.Context, t *testing.T, f mcpfaults.Fault, mended string) *client.Client {
	t.Helper()
	if f.Over == mcpfaults.Stdio {
		c, err := client.NewStdioMCPClient(os.Args[0], nil, asServer, f.Name, mended)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	s := mcpfaults.Start(f, mended)
	t.Cleanup(s.Close)
	make := func(url string) (*client.Client, error) { return client.NewStreamableHttpClient(url) }
	if f.Over == mcpfaults.SSE {
		make = func(url string) (*client.Client, error) { return client.NewSSEMCPClient(url) }
	}
	c, err := make(s.URL())
	if err == nil {
		err = c.Start(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func like(ctx context.Context, t *testing.T, c *client.Client) {
	t.Helper()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-11-25"
	hello.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil || len(list.Tools) != 2 {
		t.Fatalf("it lists %+v (%v)", list, err)
	}
	for name, want := range map[string]string{"echo": "hi", "act": "acted"} {
		call := mcp.CallToolRequest{}
		call.Params.Name, call.Params.Arguments = name, map[string]any{"text": "hi"}
		r, err := c.CallTool(ctx, call)
		if err != nil || len(r.Content) != 1 || mcp.GetTextFromContent(r.Content[0]) != want {
			t.Errorf("%s gives %+v (%v)", name, r, err)
		}
	}
	call := mcp.CallToolRequest{}
	call.Params.Name = "no such tool"
	if r, err := c.CallTool(ctx, call); err == nil {
		t.Errorf("a tool that is not there gives %+v", r)
	}
}
