//go:build unix

package mcp

import (
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
)

func TestListIsPaged(t *testing.T) {
	r := start(t, peerConfig("paged")).ready()
	if names := r.names(); !slices.Equal(names, []string{"echo", "say", "refuse", "slow", "ask", "t2"}) {
		t.Errorf("the tools are %v", names)
	}
}

func TestListsThatDoNotEnd(t *testing.T) {
	for mode, test := range map[string]struct {
		tools int
		says  string
	}{
		"cursor":        {2, "repeats a cursor"},
		"endless":       {maxPages, "more than 100 pages"},
		"endless-bytes": {10, "or 4194304 bytes"},
		"listless":      {0, ""},
	} {
		t.Run(mode, func(t *testing.T) {
			cfg := peerConfig(mode)
			cfg.MaxMessageBytes = 4 << 20
			r := start(t, cfg)
			s := r.awaitPhase(ports.PhaseReady, 0)
			if n := len(r.names()); n != test.tools || !strings.Contains(s.Err, test.says) {
				t.Errorf("%d tools and the state %q, want %d and %q", n, s.Err, test.tools, test.says)
			}
		})
	}
}

func TestMalformedToolsCostOnlyThemselves(t *testing.T) {
	r := start(t, peerConfig("badtools"))
	s := r.awaitPhase(ports.PhaseReady, 0)
	want := []string{"echo", "nullable", "php", "word_hint", "say", "refuse", "slow", "ask"}
	if names := r.names(); !slices.Equal(names, want) {
		t.Errorf("the tools are %v, want %v", names, want)
	}
	for _, says := range []string{"9 malformed tools left out", "tool 1: it has no name", "true_schema: its inputSchema is no object"} {
		if !strings.Contains(s.Err, says) {
			t.Errorf("the state says %q, want %q in it", s.Err, says)
		}
	}
	if schema := string(r.tool("php").Spec().InputSchema); schema != `{"properties":{},"type":"object"}` {
		t.Errorf("an empty PHP array became %s", schema)
	}
	if class := r.tool("word_hint").Spec().Class; class != ports.ClassUnsafe {
		t.Errorf("readOnlyHint \"yes\" gives class %s", class)
	}
	if text := r.tool("echo").Spec().Description; text != "the first echo" {
		t.Errorf("of two tools of one name the second is there: %q", text)
	}
}

func TestSchemasArePristine(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	if got := string(r.tool("echo").Spec().InputSchema); got != echoSchema {
		t.Errorf("the schema is\n%s, want\n%s", got, echoSchema)
	}
}

func TestClassNeedsTrust(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		cfg := peerConfig("good")
		cfg.Trusted = trusted
		r := start(t, cfg).ready()
		want := []ports.Class{ports.ClassUnsafe, ports.ClassUnsafe, ports.ClassUnsafe}
		if trusted {
			want = []ports.Class{ports.ClassRead, ports.ClassIdempotent, ports.ClassUnsafe}
		}
		for i, name := range []string{"echo", "say", "refuse"} {
			if class := r.tool(name).Spec().Class; class != want[i] {
				t.Errorf("trusted %v: %s is of class %s, want %s", trusted, name, class, want[i])
			}
		}
	}
}

// TestChangedToolsAreListedAgain: five announcements are one list.
func TestChangedToolsAreListedAgain(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	r.ask("grow")
	eventually(t, "the new tool is registered", func() bool { return slices.Contains(r.names(), "grown") })
	if n := r.ask("lists"); n != "2" {
		t.Errorf("the tools were listed %s times, want 2", n)
	}
}
