//go:build unix

package mcp

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"

	"dragoman/ports"
	"dragoman/tests/toolsourcetest"
)

func harness(trusted bool) toolsourcetest.Harness {
	return toolsourcetest.Harness{
		New: func() (ports.ToolSource, error) {
			cfg := peerConfig("good")
			cfg.Trusted = trusted
			return New(cfg, Deps{})
		},
		Echo: toolsourcetest.Echo{
			Tool: "echo",
			Args: func(n int) string { return fmt.Sprintf(`{"text":"number %d"}`, n) },
			Want: func(n int, r ports.ToolResult) error { return wantText(r, "number "+strconv.Itoa(n)) },
		},
		Failing: &toolsourcetest.Probe{Tool: "say", Args: `{"result":{"isError":true,"content":[{"type":"text","text":"no luck"}]}}`},
		Slow:    &toolsourcetest.Probe{Tool: "slow"},
		Refused: &toolsourcetest.Probe{Tool: "refuse", Args: `{"code":-32602,"message":"text is missing"}`},
		Kill:    killPeer,
		Trusted: trusted,
	}
}

func TestConformance(t *testing.T) {
	t.Run("untrusted", func(t *testing.T) { toolsourcetest.Run(t, harness(false)) })
	t.Run("trusted", func(t *testing.T) { toolsourcetest.Run(t, harness(true)) })
	t.Run("when needed, for each person", func(t *testing.T) {
		h := harness(true)
		h.New = func() (ports.ToolSource, error) {
			cfg := peerConfig("good")
			cfg.Trusted, cfg.Start, cfg.Scope = true, startLazy, scopePerson
			return New(cfg, Deps{})
		}
		h.Kill = nil // everybody's connection is not missed, so nothing mends it
		toolsourcetest.Run(t, h)
	})
}

// TestConformanceOverHTTP is the same over streamable HTTP, with answers in JSON
// and as streams, from a server that speaks by itself and one that does not.
func TestConformanceOverHTTP(t *testing.T) {
	for name, make := range map[string]func(*httpPeer){
		"json":      func(*httpPeer) {},
		"streams":   func(p *httpPeer) { p.stream = true },
		"no stream": func(p *httpPeer) { p.deaf = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := newHTTPPeer(t, "good")
			make(p)
			h := harness(true)
			h.New = func() (ports.ToolSource, error) {
				cfg := p.config()
				cfg.Trusted = true
				return New(cfg, Deps{})
			}
			h.Kill = func(ports.ToolSource) error { return p.restart() }
			if p.deaf {
				h.Kill = nil // nobody sees it before the next call
			}
			toolsourcetest.Run(t, h)
		})
	}
}

// peerConfig is the test binary as a server. A binary with the race detector
// sleeps for a second before it exits unless it is told not to.
func peerConfig(mode string) Config {
	return Config{Command: os.Args[0], Env: map[string]ports.Secret{modeVar: ports.Secret(mode), "GOMAXPROCS": "1", "GORACE": "atexit_sleep_ms=0"}}
}

func killPeer(src ports.ToolSource) error {
	s := sessionOf(src.(*Source))
	if s == nil {
		return fmt.Errorf("there is no connection")
	}
	return syscall.Kill(s.link.(*stdio).proc.cmd.Process.Pid, syscall.SIGKILL)
}

func wantText(r ports.ToolResult, want string) error {
	if len(r.Content) != 1 || r.Content[0].Kind != ports.BlockText || r.Content[0].Text != want {
		return fmt.Errorf("content is %+v, want the text %q", r.Content, want)
	}
	return nil
}
