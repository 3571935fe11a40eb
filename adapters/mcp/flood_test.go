//go:build unix

package mcp

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"dragoman/ports"
)

// TestFloodIsGivenUp: a server that prints for ever is ended, with words that
// say why, and not tried again soon.
func TestFloodIsGivenUp(t *testing.T) {
	for mode, says := range map[string]string{
		"flood":       "the server printed 10000 lines that are no messages",
		"wide flood":  "bytes that are no messages",
		"blank flood": "the server printed 10000 lines that are no messages",
	} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, peerConfig(mode))
			s := r.awaitPhase(ports.PhaseDegraded, 0)
			if !strings.Contains(s.Err, says) {
				t.Errorf("the state says %q, want %q in it", s.Err, says)
			}
			if s.RetryIn != lastRetry {
				t.Errorf("the next try is in %s, want %s", s.RetryIn, lastRetry)
			}
		})
	}
}

// TestMessagesEndAFlood: a server that talks between its lines is kept.
func TestMessagesEndAFlood(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	for range 3 {
		r.ask("nearly a flood")
	}
	if n, _ := sessionOf(r.src).link.(*stdio).Noise(); n != 3*(floodLines-1) {
		t.Errorf("%d lines of noise, want %d", n, 3*(floodLines-1))
	}
}

// journal is a log to look into. Safe for many goroutines.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) line(with string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, with) {
			return line
		}
	}
	return ""
}

// TestFailureIsLoggedWithStderr: an admin sees in the log why a server ended,
// without its secrets and without more than a few lines.
func TestFailureIsLoggedWithStderr(t *testing.T) {
	cfg := peerConfig("stillborn")
	cfg.Env["API_KEY"] = "sk-very-secret"
	log := new(journal)
	src, err := New(cfg, Deps{Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r := startSource(t, src)
	s := r.awaitPhase(ports.PhaseDegraded, 0)
	r.end()
	line := log.line("mcp_connection_failed")
	for _, want := range []string{"exit status 3", "stderr=", "line 9", "fatal: the key [redacted] is not accepted"} {
		if !strings.Contains(line, want) {
			t.Errorf("the log says %q, want %q in it", line, want)
		}
	}
	if strings.Contains(line, "line 5") {
		t.Errorf("the log has more than the last lines: %q", line)
	}
	if !strings.Contains(strings.Join(s.Stderr, "\n"), "line 5") {
		t.Errorf("the state has only %q", s.Stderr)
	}
}
