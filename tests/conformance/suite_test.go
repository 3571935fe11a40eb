package conformance

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "dragoman/adapters/mcp" // what the client is made of: go test keeps no result when it changes
)

var update = flag.Bool("update", false, "write score.md")

// set is a run of the official suite, and what is asked of it.
type set struct {
	name    string   // its column in score.md
	folder  string   // of the package, in node_modules
	version string   // of the package
	args    []string // which scenarios
	alone   []string // the same for one scenario
	least   int      // scenarios that have to pass, of those that are scored
	of      int      // scored scenarios
	also    []string // scenarios that are not scored and have to pass
}

// beside are extensions, which nobody is required to have and we do.
var beside = []string{"auth/client-credentials-basic", "auth/client-credentials-jwt", "auth/dpop", "auth/dpop-nonce"}

var sets = []set{
	{
		name: "2025-11-25", folder: "@modelcontextprotocol/conformance", version: "0.2.0-alpha.12", least: 18, of: 18, also: beside,
		args: []string{"--requirements", "2025-11-25"}, alone: []string{"--force", "--spec-version", "2025-11-25"},
	},
	{
		name: "2026-07-28", folder: "@modelcontextprotocol/conformance", version: "0.2.0-alpha.12", least: 32, of: 32, also: beside,
		args: []string{"--requirements", "2026-07-28"}, alone: []string{"--force", "--spec-version", "2026-07-28"},
	},
	{
		name: "0.1.16", folder: "conformance-0.1", version: "0.1.16", least: 24, of: 26,
		args: []string{"--suite", "all"},
	},
}

// timed are scenarios that measure our pauses to a fraction of a second. The suite
// runs all scenarios at once, so on a busy machine one that failed is tried again
// by itself.
var timed = []string{"sse-retry"}

// TestTheOfficialSuiteIsPassed runs every set, one after another: each is some
// twenty clients at once.
func TestTheOfficialSuiteIsPassed(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "client")
	scores := map[string]score{}
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			s.installed(t)
			build(t, bin)
			got := s.run(t, bin)
			scores[s.name] = got
			if got.scored() != s.of {
				t.Errorf("the suite scored %d scenarios, want %d: has it changed?", got.scored(), s.of)
			}
			if got.passed() < s.least {
				t.Errorf("%d of %d scenarios passed, want at least %d", got.passed(), s.of, s.least)
			}
			for _, name := range s.also {
				if !got[name].ok() {
					t.Errorf("%s did not pass", name)
				}
			}
		})
	}
	if len(scores) < len(sets) {
		return
	}
	compare(t, table(scores))
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets[:2] {
		if says := fmt.Sprintf("%s (%d of %d)", s.name, scores[s.name].passed(), scores[s.name].scored()); !strings.Contains(string(readme), says) {
			t.Errorf("README.md does not say %q", says)
		}
	}
}

// compare holds score.md to what was measured, or writes it.
func compare(t *testing.T, page string) {
	t.Helper()
	t.Log("\n" + page)
	if *update {
		if err := os.WriteFile("score.md", []byte(page), 0o600); err != nil {
			t.Error(err)
		}
		return
	}
	kept, err := os.ReadFile("score.md")
	if err != nil || string(kept) != page {
		t.Errorf("score.md says something else (%v): look what changed, then run this test with -update", err)
	}
}

// installed skips the test without the suite, and fails it where nothing may be
// left out.
func (s set) installed(t *testing.T) {
	t.Helper()
	for _, file := range []string{s.program(), nodeBin()} {
		_, err := os.Stat(file)
		switch {
		case err == nil:
		case os.Getenv("CI") == "true":
			t.Fatalf("%v: tests/run installs it", err)
		default:
			t.Skipf("LEFT OUT: %v: tests/run installs it", err)
		}
	}
}

func (s set) program() string {
	return filepath.Join("..", "node_modules", filepath.FromSlash(s.folder), "dist", "index.js")
}

func nodeBin() string { return filepath.Join("..", "node_modules", ".bin", "node") }

func build(t *testing.T, bin string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./client").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// run runs the set and says of each scenario that failed what the suite and our
// client said.
func (s set) run(t *testing.T, bin string) score {
	t.Helper()
	results := t.TempDir()
	got := parse(s.suite(t, append(s.args, "--command", bin, "--output-dir", results)))
	for _, name := range timed {
		if result, run := got[name]; run && !result.ok() {
			alone := s.suite(t, append(s.alone, "--command", bin, "--scenario", name, "--output-dir", results))
			got[name] = result.again(alone)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !got[name].ok() {
			t.Logf("%s\n%s", name, why(results, name))
		}
	}
	return got
}

// suite runs the official suite. It exits with 1 if a scenario fails; what it says
// is what counts.
func (s set) suite(t *testing.T, args []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, nodeBin(), slices.Concat([]string{s.program(), "client"}, args)...)
	cmd.WaitDelay = time.Second
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the suite: %v", err)
	}
	return said.String()
}
