package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxEndpoint is the longest address taken that a server names, in bytes.
	maxEndpoint = 4 << 10
	// postLinger is how long a POST may go on that nobody waits for any more.
	postLinger = 5 * time.Second
)

// legacySSE is JSON-RPC over HTTP with server-sent events, the transport before
// streamable HTTP (MCP 2024-11-05 basic/transports, "HTTP with SSE"): one stream
// brings all that the server says, its first event says where messages are
// posted to. The end of the stream is the end of the connection, for the answers
// would have come on it.
type legacySSE struct {
	*httpLink
	endpoint string                                    // "" until the server said it; guarded by mu
	pending  map[int64]chan *transport.JSONRPCResponse // guarded by mu
	posting  map[int64]<-chan struct{}                 // closed when the POST of a request is through; guarded by mu
	idle     flood                                     // what came since the last message; of whoever reads
}

var (
	_ link                     = (*legacySSE)(nil)
	_ transport.HTTPConnection = (*legacySSE)(nil)
)

func newLegacySSE(cfg Config, log *slog.Logger, login Login) *legacySSE {
	h := &legacySSE{httpLink: newHTTPLink(cfg, log, login), pending: make(map[int64]chan *transport.JSONRPCResponse), posting: make(map[int64]<-chan struct{})}
	h.inSession = h.found
	h.post = h.errand
	return h
}

// Start opens the stream and waits until the server has said where it takes
// messages. ctx bounds that, and not the link's life.
func (h *legacySSE) Start(ctx context.Context) error {
	life, err := h.begin(ctx)
	if err != nil {
		return err
	}
	s := h.span(ctx)
	body, stream, err := h.open(s.ctx)
	if err != nil {
		s.end()
		return h.settle(ctx, "GET", err)
	}
	s.outlive()
	h.wg.Go(func() {
		defer s.end()
		defer body.Close()
		h.fail(h.read(life, stream))
	})
	h.wg.Go(func() { h.watch(life) })
	return nil
}

// SendRequest posts one request and waits for its answer on the stream. A
// lostError says whether the server may have seen the request.
func (h *legacySSE) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	id, body, err := encodeRequest(r)
	if err != nil {
		return nil, err
	}
	if err := h.enter(); err != nil {
		return nil, err
	}
	defer h.wg.Done()
	answer := make(chan *transport.JSONRPCResponse, 1)
	h.mu.Lock()
	h.pending[id] = answer
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.pending, id)
		h.mu.Unlock()
	}()
	got, err := h.exchange(ctx, id, body, answer)
	if err == nil {
		err = h.refused(got.Error)
	}
	if err = h.settle(ctx, r.Method, err); err != nil {
		return nil, err
	}
	return got, nil
}

// SendNotification posts a notification.
func (h *legacySSE) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode %s: %w", n.Method, err)
	}
	if id, ok := n.Params.AdditionalFields["requestId"].(int64); ok && n.Method == "notifications/cancelled" {
		// Once its own POST is through: a server that hears it first would then begin
		// what nobody wants.
		h.mu.Lock()
		through := h.posting[id]
		h.mu.Unlock()
		return h.callOff(ctx, body, through)
	}
	return h.notify(ctx, n.Method, body)
}

// SetProtocolVersion is called once, before the session is initialized.
func (h *legacySSE) SetProtocolVersion(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.protocol = version
}

// GetSessionId is "": the session is part of the address that messages go to.
func (h *legacySSE) GetSessionId() string { return "" }

// Close ends what is under way and waits for it.
func (h *legacySSE) Close() error {
	h.end()
	h.client.CloseIdleConnections()
	return nil
}

// found reports whether there is such a server: it has said where it takes messages.
func (h *legacySSE) found() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endpoint != ""
}

// open opens the stream and reads it up to the address.
func (h *legacySSE) open(ctx context.Context) (io.ReadCloser, *events, error) {
	resp, sent, err := h.do(ctx, errand{method: http.MethodGet, url: h.cfg.URL.Reveal(), header: http.Header{"Accept": {"text/event-stream"}}})
	if err != nil {
		return nil, nil, h.broken(err, sent)
	}
	stream, err := h.opened(resp)
	if err != nil {
		resp.Body.Close()
		return nil, nil, err
	}
	return resp.Body, stream, nil
}

func (h *legacySSE) opened(resp *http.Response) (*events, error) {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode/100 != 2:
		return nil, h.refusal(resp)
	case media != "text/event-stream":
		return nil, malformed("%s answers with %s and not with a stream of events: is the url right?", h.origin, clip(media, 60))
	}
	stream := newEvents(resp.Body, h.cfg.MaxMessageBytes, new(cursor), h.idle.count)
	stream.named = append(stream.named, "endpoint")
	for {
		data, err := stream.next()
		switch {
		case err != nil:
			return nil, h.ended(err)
		case stream.name == "endpoint":
			return stream, h.moveTo(resp.Request.URL, strings.TrimSpace(string(data)))
		}
		if err := h.idle.count(data); err != nil {
			return nil, h.ended(err)
		}
	}
}

// moveTo takes the address that messages are posted to. Everything that is
// secret goes along with them, so that no other origin will do.
func (h *legacySSE) moveTo(base *url.URL, address string) error {
	to, err := base.Parse(address)
	switch {
	case err != nil || address == "" || len(address) > maxEndpoint:
		return malformed("the server does not say where it takes messages (%d bytes that are no address)", len(address))
	case !sameOrigin(to, base):
		return malformed("the server wants its messages at %s, where the headers must not go along", clip(to.Scheme+"://"+to.Host, maxSample))
	}
	to.User, to.Fragment = base.User, ""
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endpoint = to.String()
	return nil
}

// errand is the request that takes a message to the server.
func (h *legacySSE) errand(body []byte) errand {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := errand{method: http.MethodPost, url: h.endpoint, body: body, header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}}
	if h.protocol != "" {
		e.header.Set(headerProtocol, h.protocol)
	}
	return e
}

// exchange posts a request and waits for its answer, which may be there before
// the POST is through.
func (h *legacySSE) exchange(ctx context.Context, id int64, body []byte, answer <-chan *transport.JSONRPCResponse) (*transport.JSONRPCResponse, error) {
	posting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	posted, through := make(chan error, 1), make(chan struct{})
	h.mu.Lock()
	h.posting[id] = through
	h.mu.Unlock()
	h.wg.Go(func() {
		posted <- h.tell(posting, body)
		h.mu.Lock()
		delete(h.posting, id)
		h.mu.Unlock()
		close(through)
	})
	for pending := posted; ; {
		select {
		case a := <-answer:
			h.linger(pending, cancel)
			return a, nil
		case err := <-pending:
			if err != nil {
				cancel()
				return nil, err
			}
			pending = nil
		case <-ctx.Done():
			h.linger(pending, cancel)
			return nil, ctx.Err()
		case <-h.lost:
			cancel()
			var unsent *lostError
			if pending != nil && errors.As(<-pending, &unsent) && !unsent.sent {
				return nil, h.Err()
			}
			select { // an answer that came with the last words counts
			case a := <-answer:
				return a, nil
			default:
				return nil, &lostError{reason: h.Err().Error(), cause: h.Err(), sent: true}
			}
		}
	}
}

// linger lets a POST that nobody waits for any more come to its end: to cancel it
// would cost a connection, which may be another's by then. posted is nil if it is over.
func (h *legacySSE) linger(posted <-chan error, cancel context.CancelFunc) {
	if posted == nil {
		cancel()
		return
	}
	h.wg.Go(func() {
		defer cancel()
		late := time.NewTimer(postLinger)
		defer late.Stop()
		select {
		case <-posted:
		case <-late.C:
		}
	})
}

// read takes what comes on the stream until it ends, and says why.
func (h *legacySSE) read(life context.Context, stream *events) error {
	for {
		data, err := stream.next()
		if err != nil {
			return h.ended(err)
		}
		if h.take(life, bytes.TrimSpace(data)) {
			h.idle = flood{}
		} else if err := h.idle.count(data); err != nil {
			return h.ended(err)
		}
	}
}

// ended is why the stream cannot be read any more.
func (h *legacySSE) ended(err error) error {
	var noise *malformedError
	switch {
	case errors.As(err, &noise):
		return &lostError{reason: noise.what, cause: errFlood}
	case errors.Is(err, errLineTooLong):
		return &lostError{reason: h.tooLarge().Error(), cause: err}
	case errors.Is(err, io.EOF):
		return &lostError{reason: h.origin + " ended the stream", cause: err}
	}
	return h.broken(err, true)
}

// take handles what came, and reports whether it was a message.
func (h *legacySSE) take(life context.Context, raw []byte) (talked bool) {
	if len(raw) == 0 || raw[0] != '[' || !json.Valid(raw) {
		return h.takeOne(life, raw)
	}
	_ = eachItem(raw, func(one json.RawMessage) bool { // a batch of revision 2025-03-26
		talked = h.takeOne(life, one) || talked
		return true
	})
	return talked
}

func (h *legacySSE) takeOne(life context.Context, raw []byte) bool {
	var m message
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
		return false
	}
	switch {
	case m.Method != "" && m.hasID():
		h.takeRequest(life, m)
	case m.Method != "":
		h.takeNotification(m)
	default:
		return h.takeAnswer(m)
	}
	return true
}

// takeAnswer reports false for what answers nothing.
func (h *legacySSE) takeAnswer(m message) bool {
	id, ok := m.number()
	h.mu.Lock()
	waiting := h.pending[id]
	delete(h.pending, id)
	h.mu.Unlock()
	if !ok || waiting == nil {
		h.log.Debug("mcp_answer_unexpected")
		return ok
	}
	waiting <- m.answer(id)
	return true
}
