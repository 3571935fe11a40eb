package mcp

import (
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
)

// skimFactor is how many times max_message_bytes a message may be long whose end
// is still read, and thrown away, so that it costs no more than its call.
const skimFactor = 64

// takeLong skims over a message beyond the limit, which costs the call that it
// answers. It reports false if the connection is over: the line does not end
// within reason, or does not tell what it answers.
func (s *stdio) takeLong(lines *lineReader) bool {
	var e envelope
	length, err := lines.skim(skimFactor*s.cfg.MaxMessageBytes, e.feed)
	s.trace.omitted(inwards, length)
	large := &tooLargeError{what: fmt.Sprintf("the server sent a message of more than %d bytes (max_message_bytes)", s.cfg.MaxMessageBytes)}
	m, whole := e.message()
	id, ours := m.number()
	ours = ours && e.answer && !e.method && !e.broken
	if ours {
		s.settle(id, outcome{err: large})
	}
	switch {
	case err != nil && !errors.Is(err, errLineTooLong):
		s.hungUp("the server closed its output", err)
		return false
	case err != nil, !whole, !ours && !e.method:
		s.fail(large.what, errLineTooLong)
		return false
	}
	s.log.Warn("mcp_message_too_large", "bytes", length, "limit", s.cfg.MaxMessageBytes)
	s.talked()
	if e.method && m.hasID() {
		s.reply(s.encode(m.ID, nil, &mcp.JSONRPCErrorDetails{Code: mcp.INVALID_REQUEST, Message: "the message is too long"}))
	}
	return true
}

// takeBroken is for a line that begins like a message and is no JSON: if it
// answers a call, that need not wait any longer.
func (s *stdio) takeBroken(line []byte) bool {
	var e envelope
	e.feed(line)
	m, whole := e.message()
	id, ok := m.number()
	if !whole || !ok || !e.answer || e.method {
		return false
	}
	return s.settle(id, outcome{err: malformed("the answer is no JSON-RPC")})
}
