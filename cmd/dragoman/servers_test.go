package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dragoman/ports"
)

func TestServersTable(t *testing.T) {
	var b strings.Builder
	err := printServers(&b, []ports.ServerInfo{
		{Name: "a-server-with-a-rather-long-name", Tools: 12, State: ports.State{Phase: ports.PhaseReady, Transport: "stdio", Protocol: "2025-11-25", Stderr: []string{"listening"}}},
		{Name: "api", State: ports.State{Phase: ports.PhaseDegraded, Transport: "http", Restarts: 3, RetryIn: 1500 * time.Millisecond,
			Err: "it said \x1b[31m" + strings.Repeat("no and ", 30) + "\x1b]0;title\a\nno", Stderr: []string{"1", "2", "3", "4\r\n", strings.Repeat("x", 150), "\u009b6"}}},
		{Name: "new", State: ports.State{Phase: ports.PhaseConnecting}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `
SERVER                            TRANSPORT  STATE       PROTOCOL    TOOLS  RESTARTS
a-server-with-a-rather-long-name  stdio      ready       2025-11-25  12     0
api                               http       degraded    -           0      3
  last error: it said [31mno and no and no and no and no and no and no and no and no and no and no
              and no and no and no and no and no and no and no and no and no and no and no and no
              and no and no and no and no and no and no and no and ]0;title no; next try in 1.5s
  stderr: 2
  stderr: 3
  stderr: 4
  stderr: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
          xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  stderr: 6
new                               -          connecting  -           0      0
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(line) > pageWidth+1 {
			t.Errorf("too wide: %s", line)
		}
	}
}

// How many connections a server has is told where one has more than one.
func TestServersTableTellsOfSeveralConnections(t *testing.T) {
	var b strings.Builder
	one := ports.ServerInfo{Name: "one", State: ports.State{Phase: ports.PhaseReady, Transport: "http", Connections: 1}}
	own := ports.ServerInfo{Name: "own", State: ports.State{Phase: ports.PhaseReady, Transport: "stdio", Connections: 3}}
	off := ports.ServerInfo{Name: "off", DisabledBy: ports.ByConfig, State: ports.State{Phase: ports.PhaseDisabled}}
	in := ports.ServerInfo{Name: "in", State: ports.State{Phase: ports.PhaseParked, Transport: "http", Login: "https://example.org/login"}}
	if err := printServers(&b, []ports.ServerInfo{one, own, off, in}); err != nil {
		t.Fatal(err)
	}
	want := `
SERVER  TRANSPORT  STATE     PROTOCOL  TOOLS  RESTARTS  CONNECTIONS
one     http       ready     -         0      0         1
own     stdio      ready     -         0      0         3
off     -          disabled  -         0      0         0
  disabled by the config
in      http       parked    -         0      0         0
  log in at: https://example.org/login
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestContentForScripts(t *testing.T) {
	var b strings.Builder
	err := printJSON(&b, contentOf([]ports.Block{
		{Kind: ports.BlockText},
		{Kind: ports.BlockImage, MIME: "image/png", Data: []byte("png")},
		{Kind: ports.BlockAudio, MIME: "audio/wav", Data: []byte("wav")},
		{Kind: ports.BlockResource, URI: "file:///a", MIME: "text/plain", Text: "a"},
		{Kind: ports.BlockResource, URI: "file:///b", Data: []byte("b")},
		{Kind: ports.BlockLink, URI: "file:///c", Name: "c", Text: "about c"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"text","text":""},` +
		`{"type":"image","data":"cG5n","mimeType":"image/png"},` +
		`{"type":"audio","data":"d2F2","mimeType":"audio/wav"},` +
		`{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"a"}},` +
		`{"type":"resource","resource":{"uri":"file:///b","blob":"Yg=="}},` +
		`{"type":"resource_link","uri":"file:///c","name":"c","description":"about c"}]`
	got := strings.NewReplacer("\n", "", `": `, `":`).Replace(b.String())
	for strings.Contains(got, "  ") {
		got = strings.ReplaceAll(got, "  ", "")
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
