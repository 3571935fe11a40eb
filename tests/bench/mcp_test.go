package main

import (
	"bytes"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMCPSmoke has MCP servers measured a little, and looks at whether the figures
// can be true.
func TestMCPSmoke(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("it builds and runs the gateway, on Linux")
	}
	dir := t.TempDir()
	history := filepath.Join(dir, "history.jsonl")
	args := []string{"-mcp", "-bin", gatewayBinary(t), "-calls", "64", "-rounds", "1", "-starts", "1", "-settle", "100ms", "-dir", dir, "-history", history}
	var out, progress bytes.Buffer
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	all, err := readHistory(history)
	if err != nil || len(all) != 1 || all[0].MCP == nil {
		t.Fatalf("the history has %d runs (%v)", len(all), err)
	}
	r := all[0].MCP
	if len(r.Calling) != 8 || len(r.Fleets) != 3 {
		t.Fatalf("%d ways to call and %d fleets, want 8 and 3:\n%s", len(r.Calling), len(r.Fleets), out.String())
	}
	for _, c := range r.Calling {
		if c.P50US <= 0 || c.BareP50US <= 0 || c.P99US < c.P50US || c.BareP99US < c.BareP50US || c.Ratio <= 0 {
			t.Errorf("%s: %+v", c.name(), c)
		}
	}
	for _, f := range r.Fleets {
		if f.ReadyMS <= 0 || f.IdleMB < 5 || f.IdleMB > 500 || f.AnonMB >= f.IdleMB {
			t.Errorf("%+v", f)
		}
	}
	for _, says := range []string{"stdio 2026-07-28, 16 at a time", "memory for each MCP server"} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("%q is not in\n%s", says, out.String())
		}
	}
}

func TestWhatAServerCostsIsWhatManyCostMore(t *testing.T) {
	r := MCPResult{Fleets: []Fleet{{Servers: 0, IdleMB: 30}, {Servers: 5, IdleMB: 1000}, {Servers: manyServers, IdleMB: 40}}}
	if got, ok := r.perServer(); !ok || got != 0.5 {
		t.Errorf("%v MB, %t", got, ok)
	}
	if _, ok := (&MCPResult{}).perServer(); ok {
		t.Error("of nothing there is a figure")
	}
}
