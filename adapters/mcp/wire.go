package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// encodeRequest gives a request as it goes over the wire, and its id, which is one
// of ours.
func encodeRequest(r transport.JSONRPCRequest) (id int64, body []byte, err error) {
	id, ok := r.ID.Value().(int64)
	if !ok {
		return 0, nil, fmt.Errorf("request id %v is not an int64", r.ID)
	}
	if body, err = json.Marshal(r); err != nil {
		return 0, nil, fmt.Errorf("encode %s: %w", r.Method, err)
	}
	return id, body, nil
}

// message is any JSON-RPC message; its members tell which kind it is.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (m message) hasID() bool { return len(m.ID) > 0 && string(m.ID) != "null" }

// number is the message's id as one of ours. Some servers answer with it as text.
func (m message) number() (int64, bool) {
	id, err := strconv.ParseInt(strings.Trim(string(m.ID), `"`), 10, 64)
	return id, err == nil
}

// answer is m as the answer to the request with the id.
func (m message) answer(id int64) *transport.JSONRPCResponse {
	a := &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Result: m.Result}
	if !isNull(m.Error) {
		a.Error = decodeErrorObject(m.Error)
	}
	return a
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

// callbacks are what a link does with the messages that the server begins. The
// handlers are set before Start.
type callbacks struct {
	log      *slog.Logger
	onNotify func(mcp.JSONRPCNotification)
	onAsk    transport.RequestHandler
}

// SetNotificationHandler is called before Start.
func (c *callbacks) SetNotificationHandler(h func(mcp.JSONRPCNotification)) { c.onNotify = h }

// SetRequestHandler is called before Start.
func (c *callbacks) SetRequestHandler(h transport.RequestHandler) { c.onAsk = h }

func (c *callbacks) takeNotification(m message) {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = m.Method
	if len(m.Params) > 0 && json.Unmarshal(m.Params, &n.Params) != nil {
		n.Params = mcp.NotificationParams{}
	}
	if c.onNotify != nil {
		c.onNotify(n)
	}
}

// serve answers a request of the server; reply is the message to send.
func (c *callbacks) serve(ctx context.Context, m message) (reply []byte) {
	result, fault := c.ask(ctx, m)
	return c.encode(m.ID, result, fault)
}

func (c *callbacks) ask(ctx context.Context, m message) (result any, fault *mcp.JSONRPCErrorDetails) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("mcp_request_panicked", "err", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, fault = nil, &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: "internal error"}
		}
	}()
	if c.onAsk == nil {
		return nil, &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "method not found"}
	}
	r := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(m.ID), Method: m.Method, Params: m.Params}
	answer, err := c.onAsk(ctx, r)
	if err != nil {
		return nil, &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: err.Error()}
	}
	return answer.Result, answer.Error
}

// tooMany refuses a request of the server that there is no room for.
func (c *callbacks) tooMany(m message) []byte {
	return c.encode(m.ID, nil, &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: "too many requests at a time"})
}

func (c *callbacks) encode(id json.RawMessage, result any, fault *mcp.JSONRPCErrorDetails) []byte {
	body := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id}
	if fault != nil {
		body["error"] = fault
	} else {
		body["result"] = result
	}
	text, err := json.Marshal(body)
	if err != nil {
		c.log.Error("mcp_answer_unencodable", "err", err)
	}
	return text
}
