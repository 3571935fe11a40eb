//go:build unix

package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
)

var update = flag.Bool("update", false, "write the tool schemas of real servers anew")

// recordedSchemas is what the projections of schemas are tried with, also where
// no server can run.
const recordedSchemas = "../../tests/schemarules/testdata/real.json"

// recordedTool is a tool as its server defines it.
type recordedTool struct {
	Server      string          `json:"server"` // package and version
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// TestRecordedSchemasAreThoseOfTheServers runs the servers that tests/package.json pins.
func TestRecordedSchemasAreThoseOfTheServers(t *testing.T) {
	dir := t.TempDir()
	var all []recordedTool
	for _, s := range []struct {
		pack, bin string
		args      []string
	}{
		{"@modelcontextprotocol/server-everything", "mcp-server-everything", []string{"stdio"}},
		{"@modelcontextprotocol/server-filesystem", "mcp-server-filesystem", []string{dir}},
		{"@modelcontextprotocol/server-memory", "mcp-server-memory", nil},
		{"@modelcontextprotocol/server-sequential-thinking", "mcp-server-sequential-thinking", nil},
		{"@playwright/mcp", "playwright-mcp", []string{"--caps=vision,pdf,testing,network,storage,devtools"}},
	} {
		all = append(all, toolsOf(t, s.pack, nodeServer(t, s.bin, s.args...), dir)...)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(recordedSchemas, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(recordedSchemas)
	if err != nil || !bytes.Equal(recorded, b.Bytes()) {
		t.Errorf("the servers have other tools than %s: run the test with -update (%v)", recordedSchemas, err)
	}
}

// toolsOf lists a server's tools, sorted. What it says of this machine is left out.
func toolsOf(t *testing.T, pack string, cfg Config, dir string) []recordedTool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../tests/node_modules", filepath.FromSlash(pack), "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Version string }
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	r := start(t, cfg)
	r.await("ready with tools", 0, func(s ports.State) bool { return s.Phase == ports.PhaseReady && len(r.names()) > 0 })
	var tools []recordedTool
	for _, name := range r.names() {
		spec := r.tool(name).Spec()
		tools = append(tools, recordedTool{
			Server:      pack + "@" + manifest.Version,
			Name:        spec.Name,
			Description: strings.ReplaceAll(spec.Description, dir, "/tmp"),
			InputSchema: spec.InputSchema,
		})
	}
	slices.SortFunc(tools, func(a, b recordedTool) int { return strings.Compare(a.Name, b.Name) })
	t.Logf("%s: %d tools", pack, len(tools))
	return tools
}
