package mcp

import (
	"bytes"
	"context"
	"encoding/json"
)

// take handles one line of the child's output. What is not JSON-RPC is noise:
// many servers print a banner or a log there.
func (s *stdio) take(life context.Context, line []byte) {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\uFEFF")))
	if len(line) == 0 {
		s.idle(line)
		return
	}
	if line[0] != '[' {
		s.takeOne(life, line)
		return
	}
	// Revision 2025-03-26 had batches, and asked clients to take them.
	if !json.Valid(line) {
		s.takeNoise(line)
		return
	}
	empty := true
	_ = eachItem(line, func(one json.RawMessage) bool {
		empty = false
		s.takeOne(life, one)
		return !s.flooded()
	})
	if empty {
		s.idle(line)
	}
}

func (s *stdio) takeOne(life context.Context, line []byte) {
	var m message
	if line[0] != '{' || json.Unmarshal(line, &m) != nil {
		if line[0] != '{' || !s.takeBroken(line) {
			s.takeNoise(line)
		}
		return
	}
	switch {
	case m.Method != "" && m.hasID():
		s.talked()
		s.takeRequest(life, m)
	case m.Method != "":
		s.talked()
		s.takeNotification(m)
	case m.hasID() && s.takeAnswer(m):
		s.talked()
	default:
		s.takeNoise(line)
	}
}

func (s *stdio) takeNoise(line []byte) {
	text := clip(s.stderr.redact.Replace(string(line[:min(len(line), 4*maxLineText)])), maxLineText)
	s.mu.Lock()
	s.noise++
	if s.noise == 1 {
		s.oddLine = text
	}
	n := s.noise
	s.mu.Unlock()
	s.log.Debug("mcp_server_noise", "text", text, "lines", n)
	s.idle(line)
}

// takeAnswer reports false for what is no answer at all. An answer that nobody
// waits for any more is dropped.
func (s *stdio) takeAnswer(m message) bool {
	id, ok := m.number()
	if !ok {
		return false
	}
	if !s.settle(id, outcome{response: m.answer(id)}) {
		s.log.Debug("mcp_answer_unexpected")
	}
	return true
}

// settle hands out what came of a request, and reports false if nobody waits for it.
func (s *stdio) settle(id int64, o outcome) bool {
	s.mu.Lock()
	waiting, ok := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	if ok {
		waiting <- o
	}
	return ok
}

// takeRequest serves a request of the server beside the reading. One too many
// is answered at once; one that asks without reading the answers is not answered.
func (s *stdio) takeRequest(life context.Context, m message) {
	select {
	case s.serving <- struct{}{}:
	default:
		s.reply(s.tooMany(m))
		return
	}
	s.wg.Go(func() {
		defer func() { <-s.serving }()
		s.reply(s.callbacks.serve(life, m))
	})
}

// reply queues an answer if there is room. It never waits: it may be called
// from the reading goroutine.
func (s *stdio) reply(line []byte) {
	if line == nil {
		return
	}
	select {
	case s.out <- frame{line: append(line, '\n')}:
	default:
		s.log.Debug("mcp_answer_dropped", "err", "the server does not read")
	}
}
