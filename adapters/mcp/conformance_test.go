//go:build unix

package mcp

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"testing"

	"dragoman/ports"
	"dragoman/tests/toolsourcetest"
)

func TestConformance(t *testing.T) {
	harness := func(trusted bool) toolsourcetest.Harness {
		return toolsourcetest.Harness{
			New: func() (ports.ToolSource, error) {
				cfg := peerConfig("good")
				cfg.Trusted = trusted
				return New(cfg, slog.New(slog.DiscardHandler))
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
	t.Run("untrusted", func(t *testing.T) { toolsourcetest.Run(t, harness(false)) })
	t.Run("trusted", func(t *testing.T) { toolsourcetest.Run(t, harness(true)) })
}

// peerConfig is the test binary as a server. A binary with the race detector
// sleeps for a second before it exits unless it is told not to.
func peerConfig(mode string) Config {
	return Config{Command: os.Args[0], Env: map[string]ports.Secret{modeVar: ports.Secret(mode), "GOMAXPROCS": "1", "GORACE": "atexit_sleep_ms=0"}}
}

func killPeer(src ports.ToolSource) error {
	s := src.(*Source).session.Load()
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
