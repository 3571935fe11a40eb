package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
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
)

// streamable is JSON-RPC over streamable HTTP (MCP basic/transports, "Streamable
// HTTP"): a POST for each message, answered by JSON or by a stream of events,
// and a GET for what the server says by itself. mcp-go's own transport has no
// limit to what it reads, hides status, words and Retry-After of a refusal, and
// cannot begin a session anew once a server forgot it with a 400.
type streamable struct {
	callbacks
	cfg     Config
	origin  string
	redact  *strings.Replacer
	client  *http.Client
	serving chan struct{}
	pingID  atomic.Int64

	span      func(context.Context) *span // the time of one exchange; made by Start
	goodbye   func()                      // ends the session at the server; made by Start
	stop      context.CancelFunc
	wg        sync.WaitGroup
	lost      chan struct{}
	doubts    chan struct{} // has room for one: an exchange failed, is the server still there?
	begun     chan struct{} // closed when the server knows that the session is initialized
	heard     chan struct{} // closed when the server answered to the wish to listen
	listening atomic.Bool

	mu       sync.Mutex
	err      error
	closed   bool
	session  string
	protocol string
	quiet    time.Time // until then the server wants no requests
}

var (
	_ link                     = (*streamable)(nil)
	_ transport.HTTPConnection = (*streamable)(nil)
)

func newStreamable(cfg Config, log *slog.Logger) *streamable {
	return &streamable{
		callbacks: callbacks{log: log},
		cfg:       cfg,
		origin:    cfg.origin(),
		redact:    cfg.redactor(),
		client:    newClient(cfg),
		serving:   make(chan struct{}, maxServing),
		stop:      func() {},
		lost:      make(chan struct{}),
		doubts:    make(chan struct{}, 1),
		begun:     make(chan struct{}),
		heard:     make(chan struct{}),
	}
}

// Start connects nothing yet: each message does. ctx does not bound the link's life.
func (h *streamable) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	base := context.WithoutCancel(ctx)
	life, stop := context.WithCancel(base)
	h.stop = stop
	h.span = func(ctx context.Context) *span { return newSpan(ctx, life) }
	h.goodbye = func() { h.endSession(base) }
	h.wg.Go(func() { h.live(life) })
	return nil
}

// SendRequest posts one request and waits for its answer. A lostError says
// whether the server may have seen the request.
func (h *streamable) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	id, ok := r.ID.Value().(int64)
	if !ok {
		return nil, fmt.Errorf("request id %v is not an int64", r.ID)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", r.Method, err)
	}
	if err := h.enter(); err != nil {
		return nil, err
	}
	defer h.wg.Done()
	x := &exchange{streamable: h, id: id, method: r.Method}
	answer, err := x.run(ctx, body)
	if err == nil && answer.Error != nil {
		answer.Error.Message = h.redact.Replace(answer.Error.Message)
		lost := h.forgotten(http.StatusOK, answer.Error.Code, ": "+clip(answer.Error.Message, maxSample))
		if lost != nil && (r.Method == "ping" || h.forgotAll(ctx)) {
			err = lost
		}
	}
	if err != nil {
		return nil, h.settle(ctx, err)
	}
	return answer, nil
}

// SendNotification posts a notification. That a call was given up is told beside:
// its caller does not wait for it, and on HTTP no order has to be kept.
func (h *streamable) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode %s: %w", n.Method, err)
	}
	if err := h.enter(); err != nil {
		return err
	}
	defer h.wg.Done()
	if n.Method == "notifications/cancelled" {
		h.wg.Go(func() { h.deliver(context.WithoutCancel(ctx), body) })
		return nil
	}
	if err := h.tell(ctx, body); err != nil {
		return h.settle(ctx, err)
	}
	if n.Method == "notifications/initialized" {
		close(h.begun)
		h.awaitListener(ctx)
	}
	return nil
}

// SetProtocolVersion is called once, before the session is initialized.
func (h *streamable) SetProtocolVersion(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.protocol = version
}

// GetSessionId is the server's name for the session; "" if it has none.
func (h *streamable) GetSessionId() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

// Lost is closed when the server is gone, forgot the session or wants another login.
func (h *streamable) Lost() <-chan struct{} { return h.lost }

// Err says why the connection is over.
func (h *streamable) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Stderr is nothing: the server runs elsewhere.
func (h *streamable) Stderr() ([]string, int) { return nil, 0 }

// Close ends what is under way, waits for it, and ends the session at a server
// that is still there.
func (h *streamable) Close() error {
	healthy := h.fail(&lostError{reason: "the connection was closed"})
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.wg.Wait()
	if healthy && h.goodbye != nil && h.GetSessionId() != "" {
		h.goodbye()
	}
	h.client.CloseIdleConnections()
	return nil
}

// enter begins an exchange, which wg counts from here on.
func (h *streamable) enter() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch left := time.Until(h.quiet); {
	case h.err != nil:
		return h.err
	case h.closed || h.span == nil:
		return &lostError{reason: "the connection was not made"}
	case left > 0:
		return &lostError{reason: "the server asked to wait with further requests", after: left}
	}
	h.wg.Add(1)
	return nil
}

// settle makes of an exchange's error what its caller gets, and draws the
// conclusions for the connection.
func (h *streamable) settle(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch e := err.(type) {
	case *unauthorizedError:
		if e.status == http.StatusUnauthorized {
			h.fail(err)
		}
	case *lostError:
		switch {
		case e.session:
			h.fail(err)
		case e.after > 0:
			h.keepQuiet(e.after)
		default:
			h.doubt()
		}
	}
	return err
}

func (h *streamable) keepQuiet(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.quiet = time.Now().Add(d)
}

// doubt has the server looked for soon.
func (h *streamable) doubt() {
	select {
	case h.doubts <- struct{}{}:
	default:
	}
}

// fail ends the connection, and reports whether it was the first to.
func (h *streamable) fail(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return false
	}
	h.err = err
	close(h.lost)
	return true
}

// tell posts a message that has no answer.
func (h *streamable) tell(ctx context.Context, body []byte) error {
	s := h.span(ctx)
	defer s.end()
	resp, sent, err := h.do(s.ctx, http.MethodPost, bytes.NewReader(body), "")
	if err != nil {
		return h.broken(err, sent)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return h.refusal(resp)
	}
	discard(resp.Body)
	return nil
}

// deliver is tell for what nobody waits for.
func (h *streamable) deliver(ctx context.Context, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	if err := h.tell(ctx, body); err != nil {
		h.log.Debug("mcp_message_undelivered", "err", h.redact.Replace(err.Error()))
	}
}

func (h *streamable) endSession(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, byeWithin)
	defer cancel()
	resp, _, err := h.do(ctx, http.MethodDelete, nil, "")
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

// span is the time of one exchange: until its caller leaves or the link is closed.
type span struct {
	ctx          context.Context
	cancel       context.CancelFunc
	caller, life func() bool
}

func newSpan(ctx, life context.Context) *span {
	s := new(span)
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.caller = context.AfterFunc(ctx, s.cancel)
	s.life = context.AfterFunc(life, s.cancel)
	return s
}

// outlive lets the exchange go on when its caller has left.
func (s *span) outlive() { s.caller() }

func (s *span) end() {
	s.caller()
	s.life()
	s.cancel()
}
