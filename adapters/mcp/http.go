package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// byeWithin is how long the end of the session may take to tell.
	byeWithin = time.Second
	// listenHead is how long the listening stream is waited for before the
	// tools are listed: what changes in between would not be heard of.
	listenHead = 500 * time.Millisecond
	// maxSessionID is the longest session id taken, in bytes.
	maxSessionID = 4 << 10
	// firstModern is the first revision without sessions, without a stream of the
	// server's own and without taking streams up again.
	firstModern = "2026-07-28"
	// methodListen is the request whose stream brings news of the server for as
	// long as it is open.
	methodListen = "subscriptions/listen"
)

// streamable is JSON-RPC over streamable HTTP (MCP basic/transports, "Streamable
// HTTP"): a POST for each message, answered by JSON or by a stream of events,
// and up to 2025-11-25 a GET for what the server says by itself. mcp-go's own
// transport has no limit to what it reads, hides status, words and Retry-After of
// a refusal, and cannot begin a session anew once a server forgot it with a 400.
//
// In which era it is, SetProtocolVersion says; before, it does only what is
// right in both. A request's Header goes with its POST and wins over the link's
// own. In the modern era a request whose context ends is cancelled by that: its
// stream is closed.
type streamable struct {
	*httpLink
	goodbye func()        // ends the session at the server; made by Start
	settled chan struct{} // closed when the era and the session are known
	heard   chan struct{} // closed when the server answered to the wish to listen
	modern  atomic.Bool
	session string // guarded by mu
}

var (
	_ link                     = (*streamable)(nil)
	_ transport.HTTPConnection = (*streamable)(nil)
)

func newStreamable(cfg Config, log *slog.Logger, login Login) *streamable {
	h := &streamable{httpLink: newHTTPLink(cfg, log, login), settled: make(chan struct{}), heard: make(chan struct{})}
	h.inSession = func() bool { return h.GetSessionId() != "" }
	h.post = func(body []byte) errand { return h.errand(http.MethodPost, body, nil) }
	return h
}

// Start connects nothing yet: each message does. ctx does not bound the link's life.
func (h *streamable) Start(ctx context.Context) error {
	life, err := h.begin(ctx)
	if err != nil {
		return err
	}
	h.goodbye = func() { h.endSession(context.WithoutCancel(ctx)) }
	h.wg.Go(func() { h.live(life) })
	return nil
}

// SendRequest posts one request and waits for its answer. A lostError says
// whether the server may have seen the request.
func (h *streamable) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	id, body, err := encodeRequest(r)
	if err != nil {
		return nil, err
	}
	if err := h.enter(); err != nil {
		return nil, err
	}
	defer h.wg.Done()
	x := &exchange{streamable: h, id: id, method: r.Method}
	answer, err := x.run(ctx, h.errand(http.MethodPost, body, r.Header))
	if err == nil {
		err = h.refused(answer.Error)
	}
	if err = h.settle(ctx, r.Method, err); err != nil {
		return nil, err
	}
	return answer, nil
}

// SendNotification posts a notification.
func (h *streamable) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode %s: %w", n.Method, err)
	}
	if err := h.notify(ctx, n.Method, body); err != nil {
		return err
	}
	if n.Method == "notifications/initialized" {
		h.settleEra()
		h.awaitListener(ctx)
	}
	return nil
}

// SetProtocolVersion is called once, when it is settled what is spoken: in the
// modern era after the server said so, before that before the session is initialized.
func (h *streamable) SetProtocolVersion(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.protocol = version
	if version >= firstModern {
		h.modern.Store(true)
		h.session = ""
		h.settleEra()
	}
}

func (h *streamable) settleEra() {
	if !isClosed(h.settled) {
		close(h.settled)
	}
}

// GetSessionId is the server's name for the session; "" if it has none.
func (h *streamable) GetSessionId() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

// Close ends what is under way, waits for it, and ends the session at a server
// that is still there.
func (h *streamable) Close() error {
	if healthy := h.end(); healthy && h.goodbye != nil && h.GetSessionId() != "" {
		h.goodbye()
	}
	h.client.CloseIdleConnections()
	return nil
}

// live watches over the session once it is settled.
func (h *streamable) live(life context.Context) {
	select {
	case <-life.Done():
		return
	case <-h.settled:
	}
	if !h.modern.Load() {
		h.wg.Go(func() { h.listen(life) })
	}
	h.watch(life)
}

// errand is a request to the server with the headers that it has to have now.
// Those of extra replace them.
func (h *streamable) errand(method string, body []byte, extra http.Header) errand {
	h.mu.Lock()
	session, protocol := h.session, h.protocol
	h.mu.Unlock()
	e := errand{method: method, url: h.cfg.URL.Reveal(), body: body, header: make(http.Header)}
	for name, value := range map[string]string{headerSession: session, headerProtocol: protocol} {
		if value != "" {
			e.header.Set(name, value)
		}
	}
	switch method {
	case http.MethodPost:
		e.header.Set("Content-Type", "application/json")
		e.header.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		e.header.Set("Accept", "text/event-stream")
	}
	for name, values := range extra {
		e.header[http.CanonicalHeaderKey(name)] = values
	}
	return e
}

// taking asks for a stream of the server's own, or for what came after the event.
func (h *streamable) taking(lastEvent string) errand {
	if lastEvent == "" {
		return h.errand(http.MethodGet, nil, nil)
	}
	return h.errand(http.MethodGet, nil, http.Header{"Last-Event-Id": {lastEvent}})
}

func (h *streamable) endSession(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, byeWithin)
	defer cancel()
	resp, _, err := h.do(ctx, h.errand(http.MethodDelete, nil, nil))
	if err != nil {
		h.log.Debug("mcp_session_not_ended", "err", h.redact.Replace(h.broken(err, true).Error()))
		return
	}
	discard(resp.Body)
	resp.Body.Close()
}

// awaitListener gives the listening stream a moment to open.
func (h *streamable) awaitListener(ctx context.Context) {
	t := time.NewTimer(listenHead)
	defer t.Stop()
	select {
	case <-h.heard:
	case <-t.C:
	case <-ctx.Done():
	case <-h.lost:
	}
}
