package mcp

import (
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	maxErrorText  = 500 // bytes of a server's own words in an error
	maxLineText   = 300 // bytes of a line of stderr or noise that are kept
	keptTailLines = 20
)

// clip makes a peer's text fit to be read: valid UTF-8, one line, at most max bytes.
func clip(s string, max int) string {
	cut := len(s) > max
	if cut {
		s = s[:max]
		for range utf8.UTFMax - 1 { // not through a character
			if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size != 1 {
				break
			}
			s = s[:len(s)-1]
		}
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.TrimSpace(s)
	if cut {
		s += "…"
	}
	return s
}

// tail keeps the last lines of a stream. Safe for many goroutines.
type tail struct {
	redact *strings.Replacer

	mu      sync.Mutex
	lines   []string
	version int
}

func (t *tail) add(line string) {
	line = clip(t.redact.Replace(line), maxLineText)
	if line == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == keptTailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, line)
	t.version++
}

// last gives the lines and a number that changes with them.
func (t *tail) last() ([]string, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...), t.version
}
