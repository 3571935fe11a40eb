//go:build unix

package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/toolsourcetest"
)

// nodeServer is a server that nobody here wrote, installed under tests/ by npm ci.
func nodeServer(t *testing.T, name string, args ...string) Config {
	t.Helper()
	bin, err := filepath.Abs("../../tests/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(bin, name)
	if _, err := os.Stat(command); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed: run npm ci in tests/", name)
		}
		t.Skipf("NOT TESTED against the real %s: run npm ci in tests/", name)
	}
	return Config{
		Command: command,
		Args:    args,
		Env:     map[string]ports.Secret{"PATH": ports.Secret(bin + string(os.PathListSeparator) + os.Getenv("PATH"))},
		Timeout: time.Minute, // a loaded machine starts node slowly
	}
}

func TestFilesystemServer(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "grüße.txt"), []byte("Grüße, 世界!\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := nodeServer(t, "mcp-server-filesystem", dir)
	cfg.Trusted = true
	r := start(t, cfg)
	s := r.await("ready", 0, func(s ports.State) bool { return s.Phase == ports.PhaseReady })
	if s.Protocol != newestLegacy || !strings.Contains(s.Peer, "filesystem") || len(r.names()) < 10 {
		t.Errorf("ready as %+v with %v", s, r.names())
	}
	path, err := json.Marshal(filepath.Join(dir, "grüße.txt"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.call(t.Context(), "read_text_file", `{"path":`+string(path)+`}`)
	if err != nil || result.IsError || wantText(result, "Grüße, 世界!\n") != nil {
		t.Errorf("read_text_file gives %+v, %v", result, err)
	}
	outside, err := r.call(t.Context(), "read_text_file", `{"path":"/etc/hostname"}`)
	if err != nil || !outside.IsError {
		t.Errorf("a file outside gives %+v, %v; want the server's refusal", outside, err)
	}
	if class := r.tool("read_text_file").Spec().Class; class != ports.ClassRead {
		t.Errorf("read_text_file is of class %s", class)
	}
	if class := r.tool("write_file").Spec().Class; class == ports.ClassRead {
		t.Error("write_file is of class read")
	}
}

// everythingHarness has the reference server's tools.
func everythingHarness(cfg Config) toolsourcetest.Harness {
	return toolsourcetest.Harness{
		New: func() (ports.ToolSource, error) { return New(cfg, Deps{}) },
		Echo: toolsourcetest.Echo{
			Tool: "echo",
			Args: func(n int) string { return fmt.Sprintf(`{"message":"number %d"}`, n) },
			Want: func(n int, r ports.ToolResult) error { return wantText(r, fmt.Sprintf("Echo: number %d", n)) },
		},
		Failing:  &toolsourcetest.Probe{Tool: "echo", Args: `{"message":7}`},
		Slow:     &toolsourcetest.Probe{Tool: "trigger-long-running-operation", Args: `{"duration":30,"steps":3}`},
		Kill:     killPeer,
		Patience: time.Minute,
	}
}

// checkMain checks the rules that depend most on the peer.
func checkMain(t *testing.T, h toolsourcetest.Harness) {
	rules := []string{
		"phases_in_order", "run_leaves_nothing", "specs_complete", "calls_get_their_own_results", "tool_failure_is_a_result",
		"bad_arguments_are_contained", "cancelled_call_returns", "loss_fails_calls_in_flight", "loss_is_told_and_mended",
	}
	for _, rule := range toolsourcetest.Rules() {
		if !slices.Contains(rules, rule.Name) {
			continue
		}
		t.Run(rule.Name, func(t *testing.T) {
			err := rule.Check(t.Context(), h)
			if errors.Is(err, toolsourcetest.ErrSkip) {
				t.Skip(err)
			}
			if err != nil {
				t.Errorf("%v\nthe rule: %s", err, rule.Why)
			}
		})
	}
}

func TestEverythingServer(t *testing.T) {
	checkMain(t, everythingHarness(nodeServer(t, "mcp-server-everything", "stdio")))
}

func TestEverythingServerContent(t *testing.T) {
	wantContent(t, nodeServer(t, "mcp-server-everything", "stdio"))
}

func wantContent(t *testing.T, cfg Config) {
	r := start(t, cfg)
	r.awaitPhase(ports.PhaseReady, 0)
	for call, want := range map[string][]ports.BlockKind{
		`get-tiny-image {}`:                             {ports.BlockText, ports.BlockImage, ports.BlockText},
		`get-structured-content {"location":"Chicago"}`: {ports.BlockText},
		`get-resource-links {"count":2}`:                {ports.BlockText, ports.BlockLink, ports.BlockLink},
		`get-resource-reference {}`:                     {ports.BlockText, ports.BlockResource, ports.BlockText},
	} {
		name, args, _ := strings.Cut(call, " ")
		result, err := r.call(t.Context(), name, args)
		if err != nil || result.IsError {
			t.Errorf("%s gives %+v, %v", call, result, err)
			continue
		}
		var kinds []ports.BlockKind
		for _, b := range result.Content {
			kinds = append(kinds, b.Kind)
		}
		if fmt.Sprint(kinds) != fmt.Sprint(want) {
			t.Errorf("%s gives %v, want %v", call, kinds, want)
		}
		if strings.HasPrefix(name, "get-structured") && !json.Valid(result.Structured) {
			t.Errorf("%s gives no structured content", call)
		}
	}
}
