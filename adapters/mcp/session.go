package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/time/rate"
)

const (
	clientName    = "dragoman"
	clientVersion = "1"
	// farewell is how long the word that a call was given up may wait for room
	// in the queue.
	farewell = 200 * time.Millisecond
)

// session is MCP over a link, from the settled version to the loss of the link.
// Safe for many goroutines once open has returned.
type session struct {
	link    link
	log     *slog.Logger
	offers  offers
	lastID  atomic.Int64
	agreed  atomic.Bool // the version is settled: what follows does not change any more
	version string      // the revision that is spoken
	modern  bool        // each request carries what it takes; there was no handshake
	// signature is in the _meta of each request of a modern revision.
	signature map[string]any
	can       capabilities
	peer      string
	changed   chan struct{}     // has room for one: the server said that its tools changed
	redact    *strings.Replacer // takes the config's secrets out of what the server says
	logLimit  *rate.Limiter

	mu      sync.Mutex
	flights map[int64]*flight // calls under way, by the id of their request
}

func newSession(l link, o offers, redact *strings.Replacer, log *slog.Logger) *session {
	return &session{link: l, log: log, offers: o, redact: redact, changed: make(chan struct{}, 1), flights: make(map[int64]*flight),
		logLimit: rate.NewLimiter(logsPerSecond, logsBurst)}
}

// ask is a request on its way to the server.
type ask struct {
	method string
	params map[string]any
	meta   map[string]any
	name   string      // what it is about, for intermediaries: a tool, a URI, a task
	header http.Header // further headers of revision 2026-07-28
}

// request sends a request and gives the raw result.
func (s *session) request(ctx context.Context, a ask) (json.RawMessage, error) {
	return s.requestAs(ctx, s.lastID.Add(1), a)
}

func (s *session) requestAs(ctx context.Context, id int64, a ask) (json.RawMessage, error) {
	r := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Method: a.method}
	r.Params, r.Header = s.dress(a)
	answer, err := s.link.SendRequest(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case answer.Error != nil:
		return nil, s.answered(answer.Error)
	case len(answer.Result) == 0:
		return nil, malformed("the answer to %s has neither result nor error", a.method)
	}
	return answer.Result, nil
}

// answered is an error that the server gave, without what the config keeps secret:
// servers repeat the key that they refuse.
func (s *session) answered(d *mcp.JSONRPCErrorDetails) error {
	d.Message = s.redact.Replace(d.Message)
	return newAnswerError(d)
}

// dress gives a request's params and headers as the revision wants them: from
// 2026-07-28 on each request says who asks, in which version, and with which
// abilities (MCP basic, "_meta"), and repeats a part of it in headers
// (basic/transports/streamable-http, "Request Metadata").
func (s *session) dress(a ask) (params any, header http.Header) {
	meta := a.meta
	if s.modern {
		meta = maps.Clone(s.signature)
		maps.Copy(meta, a.meta)
		header = make(http.Header)
		maps.Copy(header, a.header)
		header.Set(headerProtocol, s.version)
		header.Set("Mcp-Method", a.method)
		if a.name != "" {
			header.Set("Mcp-Name", headerValue(a.name))
		}
	}
	if len(meta) == 0 {
		if len(a.params) == 0 {
			return nil, header
		}
		return a.params, header
	}
	all := maps.Clone(a.params)
	if all == nil {
		all = make(map[string]any, 1)
	}
	all["_meta"] = meta
	return all, header
}

// call is request for what somebody may give up: then the server is told to
// stop (MCP basic/utilities/cancellation). Over HTTP the end of the stream tells
// it, from revision 2026-07-28 on.
func (s *session) call(ctx context.Context, id int64, a ask) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // what was never asked cannot be given up
	}
	raw, err := s.requestAs(ctx, id, a)
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return raw, err
	}
	if s.modern && s.overHTTP() {
		return nil, err
	}
	tell, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	// A server that cannot be told will see that nobody takes its answer.
	_ = s.notify(tell, "notifications/cancelled", map[string]any{"requestId": id, "reason": context.Cause(ctx).Error()})
	return nil, err
}

func (s *session) notify(ctx context.Context, method string, params map[string]any) error {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = method
	n.Params.AdditionalFields = params
	return s.link.SendNotification(ctx, n)
}

// alive asks the server for a sign of life. Before the version is settled there is
// nothing to ask: the handshake itself is one.
func (s *session) alive(ctx context.Context) error {
	if !s.agreed.Load() {
		return nil
	}
	method := "ping"
	if s.modern {
		method = methodDiscover
	}
	_, err := s.request(ctx, ask{method: method})
	return err
}

func (s *session) overHTTP() bool {
	_, ok := s.link.(transport.HTTPConnection)
	return ok
}

// wanted is what is taken of the server's list of tools.
func (s *Source) wanted(over *session) wanted {
	return wanted{trusted: s.cfg.Trusted, headers: over.modern && over.overHTTP(), maxBytes: s.cfg.MaxMessageBytes}
}
