package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/config"
)

// FuzzParse: no text makes Parse or Decode panic, each error is Faults in order
// with positions inside the file, and what has no fault is complete.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/bad/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "testdata/good.json") {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), "file:") {
			t.Skip("it may name any file of the machine")
		}
		cfg, err := config.Parse("c", text, "", environment)
		inside(t, text, err)
		if err == nil && (cfg == nil || len(cfg.Agents) == 0 || cfg.Version != 1) {
			t.Errorf("no fault, but not complete: %+v", cfg)
		}
		if cfg != nil {
			inside(t, text, decodeSections(cfg))
		}
	})
}

// inside fails where a fault has no place in the text.
func inside(t *testing.T, text []byte, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var faults config.Faults
	if !errors.As(err, &faults) || len(faults) == 0 {
		t.Fatalf("an error without faults: %v", err)
	}
	lines := strings.Split(strings.TrimPrefix(string(text), "\uFEFF"), "\n")
	last := config.Fault{}
	for _, fault := range faults {
		if fault.Line < 1 || fault.Line > len(lines) {
			t.Fatalf("a line outside the file: %v", fault)
		}
		if fault.Col < 1 || fault.Col > utf8.RuneCountInString(lines[fault.Line-1])+1 {
			t.Fatalf("a column outside the line: %v", fault)
		}
		if fault.Line < last.Line || fault.Line == last.Line && fault.Col < last.Col || fault == last {
			t.Fatalf("not in order, or twice: %v after %v", fault, last)
		}
		if fault.Text == "" || strings.ContainsAny(fault.Error(), "\n\x00") {
			t.Fatalf("not one line of text: %q", fault.Error())
		}
		last = fault
	}
}

// TestDeepNesting: the parser is recursive, so depth must be bounded before it runs.
func TestDeepNesting(t *testing.T) {
	for _, unit := range []string{"[", `{"a":`, `[/*"*/`} {
		_, err := config.Parse("c", []byte(strings.Repeat(unit, 3<<20/len(unit))), "", nil)
		if err == nil || !strings.Contains(err.Error(), "is nested more than 64 levels deep") {
			t.Errorf("%s: got %.200v", unit, err)
		}
	}
}
