package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// message is any JSON-RPC message; its members tell which kind it is.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// take handles one line of the child's output. What is not JSON-RPC is noise:
// many servers print a banner or a log there.
func (s *stdio) take(life context.Context, line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		s.idle(line)
		return
	}
	if line[0] != '[' {
		s.takeOne(life, line)
		return
	}
	// Revision 2025-03-26 had batches, and asked clients to take them.
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil {
		s.takeNoise(line)
		return
	}
	if len(batch) == 0 {
		s.idle(line)
	}
	for _, one := range batch {
		if s.takeOne(life, one); s.flooded() {
			return
		}
	}
}

func (s *stdio) takeOne(life context.Context, line []byte) {
	var m message
	if line[0] != '{' || json.Unmarshal(line, &m) != nil {
		s.takeNoise(line)
		return
	}
	hasID := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method != "" && hasID:
		s.talked()
		s.takeRequest(life, m)
	case m.Method != "":
		s.talked()
		s.takeNotification(m)
	case hasID && s.takeAnswer(m):
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
	id, err := strconv.ParseInt(string(bytes.Trim(m.ID, `"`)), 10, 64)
	if err != nil {
		return false
	}
	s.mu.Lock()
	waiting, ok := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	if !ok {
		s.log.Debug("mcp_answer_unexpected")
		return true
	}
	answer := &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Result: m.Result}
	if len(m.Error) > 0 && string(m.Error) != "null" {
		answer.Error = decodeErrorObject(m.Error)
	}
	waiting <- answer
	return true
}

// decodeErrorObject takes an error object that does not follow JSON-RPC as an
// error without a code.
func decodeErrorObject(raw json.RawMessage) *mcp.JSONRPCErrorDetails {
	var d mcp.JSONRPCErrorDetails
	if json.Unmarshal(raw, &d) != nil {
		return &mcp.JSONRPCErrorDetails{Message: string(raw[:min(len(raw), maxErrorText)])}
	}
	return &d
}

func (s *stdio) takeNotification(m message) {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = m.Method
	if len(m.Params) > 0 && json.Unmarshal(m.Params, &n.Params) != nil {
		n.Params = mcp.NotificationParams{}
	}
	if s.onNotify != nil {
		s.onNotify(n)
	}
}

// takeRequest serves a request of the server beside the reading. One too many
// is answered at once; one that asks without reading the answers is not answered.
func (s *stdio) takeRequest(life context.Context, m message) {
	select {
	case s.serving <- struct{}{}:
	default:
		s.reply(m.ID, nil, &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: "too many requests at a time"})
		return
	}
	s.wg.Go(func() {
		defer func() { <-s.serving }()
		result, fault := s.serve(life, m)
		s.reply(m.ID, result, fault)
	})
}

func (s *stdio) serve(life context.Context, m message) (result any, fault *mcp.JSONRPCErrorDetails) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("mcp_request_panicked", "err", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, fault = nil, &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: "internal error"}
		}
	}()
	if s.onAsk == nil {
		return nil, &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "method not found"}
	}
	r := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(m.ID), Method: m.Method, Params: m.Params}
	answer, err := s.onAsk(life, r)
	if err != nil {
		return nil, &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: err.Error()}
	}
	return answer.Result, answer.Error
}

// reply queues an answer if there is room. It never waits: it may be called
// from the reading goroutine.
func (s *stdio) reply(id json.RawMessage, result any, fault *mcp.JSONRPCErrorDetails) {
	body := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id}
	if fault != nil {
		body["error"] = fault
	} else {
		body["result"] = result
	}
	line, err := json.Marshal(body)
	if err != nil {
		s.log.Error("mcp_answer_unencodable", "err", err)
		return
	}
	select {
	case s.out <- frame{line: append(line, '\n')}:
	default:
		s.log.Debug("mcp_answer_dropped", "err", "the server does not read")
	}
}
