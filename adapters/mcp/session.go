package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// newestProtocol is what initialize asks for.
	newestProtocol = "2025-11-25"
	clientName     = "dragoman"
	clientVersion  = "1"
	// farewell is how long the word that a call was given up may wait for room
	// in the queue.
	farewell = 200 * time.Millisecond
)

// protocols are the revisions that a session can speak.
func protocols() []string {
	return []string{"2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", newestProtocol}
}

// session is MCP over a link, from the handshake to the loss of the link.
type session struct {
	link     link
	lastID   atomic.Int64
	protocol string
	peer     string
	changed  chan struct{} // has room for one: the server said that its tools changed
}

// open starts l and shakes hands. It leaves closing l to its caller, also when it fails.
func open(ctx context.Context, l link) (*session, error) {
	s := &session{link: l, changed: make(chan struct{}, 1)}
	l.SetNotificationHandler(s.notified)
	l.SetRequestHandler(s.asked)
	l.SetPulse(s.ping)
	if err := l.Start(ctx); err != nil {
		return nil, err
	}
	if err := s.initialize(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// initialize is the handshake (MCP basic/lifecycle, "Initialization"). No
// client capability is declared: roots, sampling and elicitation are not served.
func (s *session) initialize(ctx context.Context) error {
	raw, err := s.request(ctx, "initialize", map[string]any{
		"protocolVersion": newestProtocol,
		"capabilities":    struct{}{},
		"clientInfo":      map[string]string{"name": clientName, "version": clientVersion},
	})
	if err != nil {
		return s.explain(ctx, err)
	}
	var answer struct {
		ProtocolVersion string          `json:"protocolVersion"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return malformed("the answer to initialize is malformed: %v", err)
	}
	switch {
	case answer.ProtocolVersion == "":
		return malformed("the answer to initialize names no protocol version; this does not look like an MCP server")
	case !slices.Contains(protocols(), answer.ProtocolVersion):
		return malformed("the server speaks MCP %s; supported are %s to %s", clip(answer.ProtocolVersion, 40), protocols()[0], newestProtocol)
	}
	s.protocol = answer.ProtocolVersion
	s.peer = peerName(answer.ServerInfo)
	if h, ok := s.link.(transport.HTTPConnection); ok {
		h.SetProtocolVersion(s.protocol)
	}
	return s.notify(ctx, "notifications/initialized", nil)
}

// ping asks for a sign of life (MCP basic/utilities/ping).
func (s *session) ping(ctx context.Context) error {
	_, err := s.request(ctx, "ping", nil)
	return err
}

// explain says in words why there is no handshake.
func (s *session) explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer to initialize: %w", ctx.Err())
	}
	noisy, ok := s.link.(interface{ Noise() (int, string) })
	if !ok {
		return err
	}
	if lines, first := noisy.Noise(); lines > 0 {
		return fmt.Errorf("%w (%d lines of its output are not JSON-RPC, the first: %q)", err, lines, first)
	}
	return err
}

// request sends a request and gives the raw result.
func (s *session) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return s.requestAs(ctx, s.lastID.Add(1), method, params)
}

func (s *session) requestAs(ctx context.Context, id int64, method string, params any) (json.RawMessage, error) {
	answer, err := s.link.SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Method: method, Params: params,
	})
	switch {
	case err != nil:
		return nil, err
	case answer.Error != nil:
		return nil, newAnswerError(answer.Error)
	case len(answer.Result) == 0:
		return nil, malformed("the answer to %s has neither result nor error", method)
	}
	return answer.Result, nil
}

// call is request for a call that somebody may give up: then the server is told
// to stop (MCP basic/utilities/cancellation).
func (s *session) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id := s.lastID.Add(1)
	raw, err := s.requestAs(ctx, id, method, params)
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return raw, err
	}
	tell, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	// A server that cannot be told will see that nobody takes its answer.
	_ = s.notify(tell, "notifications/cancelled", map[string]any{"requestId": id, "reason": ctx.Err().Error()})
	return nil, err
}

func (s *session) notify(ctx context.Context, method string, params map[string]any) error {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = method
	n.Params.AdditionalFields = params
	return s.link.SendNotification(ctx, n)
}

// notified runs on the reading goroutine: it notes and returns.
func (s *session) notified(n mcp.JSONRPCNotification) {
	if n.Method == "notifications/tools/list_changed" {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// asked answers requests of the server: ping, and nothing that was not declared.
func (s *session) asked(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if r.Method == "ping" {
		return &transport.JSONRPCResponse{Result: json.RawMessage(`{}`)}, nil
	}
	return &transport.JSONRPCResponse{Error: &mcp.JSONRPCErrorDetails{
		Code: mcp.METHOD_NOT_FOUND, Message: "method not found: " + clip(r.Method, 100),
	}}, nil
}

func peerName(raw json.RawMessage) string {
	var info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if json.Unmarshal(raw, &info) != nil {
		return ""
	}
	return clip(info.Name+" "+info.Version, 120)
}
