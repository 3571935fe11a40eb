package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// score is what a set gave, by scenario.
type score map[string]result

// result is the suite's verdict on one scenario.
type result struct {
	checks, failed, warned int
	unscored               string // why it does not count; "" = it counts
}

func (r result) ok() bool { return r.checks > 0 && r.failed == 0 && r.warned == 0 }

// again is r if the scenario passes when it runs alone.
func (r result) again(said string) result {
	if strings.Contains(said, "OVERALL: PASSED") {
		r.failed, r.warned = 0, 0
	}
	return r
}

func (s score) scored() int { return s.count(func(r result) bool { return r.unscored == "" }) }
func (s score) passed() int {
	return s.count(func(r result) bool { return r.unscored == "" && r.ok() })
}

func (s score) count(is func(result) bool) int {
	n := 0
	for _, r := range s {
		if is(r) {
			n++
		}
	}
	return n
}

var (
	verdict  = regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed(?:, (\d+) warnings)?$`)
	unscored = regexp.MustCompile(`(?m)^  [✓✗] (\S+) \((\S+)\)$`)
)

// parse reads the summary that the suite prints.
func parse(said string) score {
	got := score{}
	for _, m := range verdict.FindAllStringSubmatch(said, -1) {
		passed, failed, warned := number(m[2]), number(m[3]), number(m[4])
		got[m[1]] = result{checks: passed + failed + warned, failed: failed, warned: warned}
	}
	for _, m := range unscored.FindAllStringSubmatch(said, -1) {
		r := got[m[1]]
		r.unscored = m[2]
		got[m[1]] = r
	}
	return got
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // digits by the pattern; "" is 0
	return n
}

// table is score.md. It has no counts of checks: they depend on what the suite
// happens to see.
func table(scores map[string]score) string {
	var b strings.Builder
	b.WriteString("# How our client stands in the official MCP conformance suite\n\n")
	b.WriteString("Written by `go test ./tests/conformance -update`; the test fails if this is no longer so.\n\n")
	b.WriteString("| scenarios | suite | passed |\n|---|---|---|\n")
	names := map[string]bool{}
	for _, s := range sets {
		got := scores[s.name]
		what := "required by " + s.name
		if s.args[0] == "--suite" {
			what = "all of " + s.name
		}
		fmt.Fprintf(&b, "| %s | %s | **%d of %d** |\n", what, s.version, got.passed(), got.scored())
		for name := range got {
			names[name] = true
		}
	}
	b.WriteString("\n✓ passed, ✗ failed, – not in the set; in brackets: not scored there.\n\n| scenario |")
	for _, s := range sets {
		b.WriteString(" " + s.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(sets)) + "\n")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b.WriteString("| " + name + " |")
		for _, s := range sets {
			r, run := scores[s.name][name]
			b.WriteString(" " + r.mark(run) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r result) mark(run bool) string {
	mark := "✗"
	switch {
	case !run:
		return "–"
	case r.ok():
		mark = "✓"
	}
	if r.unscored != "" {
		return "(" + mark + ")"
	}
	return mark
}

// why is what the suite found and what our client said, of a scenario that failed.
func why(results, name string) string {
	folders, _ := filepath.Glob(filepath.Join(results, name+"-20*"))
	if len(folders) == 0 {
		return "it left no results"
	}
	slices.Sort(folders)
	last := folders[len(folders)-1]
	var checks []struct {
		ID, Status, Description, ErrorMessage string
	}
	if b, err := os.ReadFile(filepath.Join(last, "checks.json")); err != nil || json.Unmarshal(b, &checks) != nil {
		return "it left no checks"
	}
	var b strings.Builder
	for _, c := range checks {
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			fmt.Fprintf(&b, "  %s %s: %s: %s\n", c.Status, c.ID, c.Description, c.ErrorMessage)
		}
	}
	said, _ := os.ReadFile(filepath.Join(last, "stderr.txt"))
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	for _, line := range lines[max(0, len(lines)-12):] {
		fmt.Fprintf(&b, "  | %.400s\n", line)
	}
	return b.String()
}

func TestTheSummaryOfTheSuiteIsRead(t *testing.T) {
	got := parse("✓ initialize: 1 passed, 0 failed\n✗ a/b: 3 passed, 0 failed, 2 warnings\n✗ c: 0 passed, 4 failed\n✓ empty: 0 passed, 0 failed\n✓ x: 2 passed, 0 failed\n\n" +
		"Not scored for 2025-11-25: 1 scenario(s) run, 0 failing.\n  ✓ x (extension)\n")
	want := score{
		"initialize": {checks: 1}, "a/b": {checks: 5, warned: 2}, "c": {checks: 4, failed: 4}, "empty": {}, "x": {checks: 2, unscored: "extension"},
	}
	if !maps.Equal(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	if got.passed() != 1 || got.scored() != 4 {
		t.Errorf("%d of %d passed, want 1 of 4", got.passed(), got.scored())
	}
}
