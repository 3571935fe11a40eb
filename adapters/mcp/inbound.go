package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// logsPerSecond and logsBurst bound what a server's own log may add to ours.
	logsPerSecond = 10
	logsBurst     = 50
)

// notified runs on the reading goroutine: it notes and returns.
func (s *session) notified(n mcp.JSONRPCNotification) {
	switch n.Method {
	case "notifications/tools/list_changed", "notifications/subscriptions/acknowledged":
		s.toolsChanged()
	case "notifications/progress":
		s.progressed(n)
	case "notifications/message":
		s.said(n)
	}
}

func (s *session) toolsChanged() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// said passes a line of the server's log on (MCP server/utilities/logging).
func (s *session) said(n mcp.JSONRPCNotification) {
	if !s.logLimit.Allow() {
		return
	}
	fields := n.Params.AdditionalFields
	name, _ := fields["level"].(string)
	write := s.log.Info
	switch name {
	case "debug":
		write = s.log.Debug
	case "warning":
		write = s.log.Warn
	case "error", "critical", "alert", "emergency":
		write = s.log.Error
	}
	text, ok := fields["data"].(string)
	if !ok {
		raw, err := json.Marshal(fields["data"])
		if err != nil {
			return
		}
		text = string(raw)
	}
	logger, _ := fields["logger"].(string)
	write("mcp_server_log", "text", clip(s.redact.Replace(text), maxErrorText), "logger", clip(s.redact.Replace(logger), 60))
}

// wantLog asks a legacy server for its log. It need not obey.
func (s *session) wantLog(ctx context.Context) {
	if !s.can.logging {
		return
	}
	if _, err := s.request(ctx, ask{method: "logging/setLevel", params: map[string]any{"level": logLevel}}); err != nil {
		s.log.Debug("mcp_log_level_refused", "err", err)
	}
}

// asked answers requests of a legacy server. What was not declared is not served.
func (s *session) asked(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	params, _ := r.Params.(json.RawMessage)
	answer, served := s.answer(ctx, inputRequest{Method: r.Method, Params: params}, s.flightOf(ctx))
	if r.Method == "ping" {
		answer, served = struct{}{}, true
	}
	if !served {
		return &transport.JSONRPCResponse{Error: &mcp.JSONRPCErrorDetails{
			Code: mcp.METHOD_NOT_FOUND, Message: "method not found: " + clip(r.Method, 100),
		}}, nil
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("encode the answer to %s: %w", r.Method, err)
	}
	return &transport.JSONRPCResponse{Result: raw}, nil
}

// originKey holds, in the context of a server's request, the id of the request of
// ours on whose stream it came.
type originKey struct{}

func withOrigin(ctx context.Context, id int64) context.Context {
	return context.WithValue(ctx, originKey{}, id)
}

// flightOf is the call that a request of the server belongs to: the one on whose
// stream it came, else (on a stream of no request, 0) the only one there is. nil:
// nobody can tell, and a question must not reach a person whose call it is not about.
func (s *session) flightOf(ctx context.Context) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, _ := ctx.Value(originKey{}).(int64); id != 0 {
		return s.flights[id]
	}
	if len(s.flights) != 1 {
		return nil
	}
	for _, f := range s.flights {
		return f
	}
	return nil
}
