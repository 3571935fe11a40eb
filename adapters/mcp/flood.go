package mcp

import (
	"errors"
	"fmt"
)

const (
	// floodLines and floodBytes are how much a server may print between two
	// messages that is no message. Servers print banners and logs there; one
	// that does nothing else would be read and thrown away for ever.
	floodLines = 10_000
	floodBytes = 8 << 20
)

// errFlood is a server that prints and does not talk.
var errFlood = errors.New("this is no MCP server, or it logs to stdout")

// flood counts what came since the last message.
type flood struct{ lines, bytes int }

// over says in words that it is too much, and "" while it is not.
func (f flood) over() string {
	switch {
	case f.lines >= floodLines:
		return fmt.Sprintf("the server printed %d lines that are no messages", f.lines)
	case f.bytes >= floodBytes:
		return fmt.Sprintf("the server printed %d bytes that are no messages", f.bytes)
	}
	return ""
}

// idle counts a line that is no message, and gives the connection up when it
// is one too many.
func (s *stdio) idle(line []byte) {
	s.mu.Lock()
	s.flood.lines++
	s.flood.bytes += len(line) + 1
	words := s.flood.over()
	s.mu.Unlock()
	if words != "" {
		s.fail(words, errFlood)
	}
}

// talked begins the count anew: a message came.
func (s *stdio) talked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flood = flood{}
}

func (s *stdio) flooded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flood.over() != ""
}
