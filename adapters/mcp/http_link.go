package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// httpLink is what the links over HTTP have in common: a client, the time that
// an exchange may take, and what follows from one that failed.
type httpLink struct {
	callbacks
	cfg     Config
	origin  string
	redact  *strings.Replacer
	client  *http.Client
	serving chan struct{}
	pulse   func(context.Context) error // asks for a sign of life; nil before SetPulse
	// post has the request that takes a message to the server; set by whoever embeds it.
	post func(body []byte) errand
	// inSession reports whether there is a session that the server might forget.
	inSession func() bool

	span      func(context.Context) *span // the time of one exchange; made by begin
	stop      context.CancelFunc
	wg        sync.WaitGroup
	goodbyes  sync.WaitGroup // of those in wg, what tells the server that a call was given up
	lost      chan struct{}
	doubts    chan struct{} // has room for one: an exchange failed, is the server still there?
	listening atomic.Int64  // streams that show by their end that the server is gone

	mu       sync.Mutex
	err      error
	closed   bool
	protocol string    // "" until it is settled
	quiet    time.Time // until then the server wants no requests
}

func newHTTPLink(cfg Config, log *slog.Logger, login Login) *httpLink {
	return &httpLink{
		callbacks: callbacks{log: log},
		cfg:       cfg,
		origin:    cfg.origin(),
		redact:    cfg.redactor(),
		client:    newClient(cfg, login),
		serving:   make(chan struct{}, maxServing),
		stop:      func() {},
		lost:      make(chan struct{}),
		doubts:    make(chan struct{}, 1),
	}
}

// begin gives the life of the link, which ends with stop. ctx does not bound it.
func (h *httpLink) begin(ctx context.Context) (life context.Context, _ error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	life, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.span = func(ctx context.Context) *span { return newSpan(ctx, life) }
	return life, nil
}

// SetPulse sets how the server is asked for a sign of life. It is called before Start.
func (h *httpLink) SetPulse(pulse func(context.Context) error) { h.pulse = pulse }

// Lost is closed when the server is gone, forgot the session or wants another login.
func (h *httpLink) Lost() <-chan struct{} { return h.lost }

// Err says why the connection is over.
func (h *httpLink) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Stderr is nothing: the server runs elsewhere.
func (h *httpLink) Stderr() ([]string, int) { return nil, 0 }

// end ends what is under way and waits for it: for the word that calls were given
// up a moment, so that the server does not go on with them. It reports whether the
// connection was still there.
func (h *httpLink) end() (healthy bool) {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	told := make(chan struct{})
	h.wg.Go(func() { defer close(told); h.goodbyes.Wait() })
	late := time.NewTimer(byeWithin)
	defer late.Stop()
	select {
	case <-told:
	case <-h.lost:
	case <-late.C:
	}
	healthy = h.fail(&lostError{reason: "the connection was closed"})
	h.stop()
	h.wg.Wait()
	return healthy
}

// enter begins an exchange, which wg counts from here on, and others too.
func (h *httpLink) enter(others ...*sync.WaitGroup) error {
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
	for _, g := range others {
		g.Add(1)
	}
	return nil
}

// settle makes of an exchange's error what its caller gets, and draws the
// conclusions for the connection.
func (h *httpLink) settle(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var lost *lostError
	if errors.As(err, &lost) && lost.session && method != "ping" && !h.forgotAll(ctx) {
		err = lost.cause
	}
	switch e := err.(type) {
	case *unauthorizedError:
		if e.status == http.StatusUnauthorized {
			h.doubt() // it may be the tool's own trouble: a sign of life tells
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

func (h *httpLink) keepQuiet(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.quiet = time.Now().Add(min(d, longestQuiet)) // one tool speaks, and all of them would wait
}

// doubt has the server looked for soon.
func (h *httpLink) doubt() {
	select {
	case h.doubts <- struct{}{}:
	default:
	}
}

// fail ends the connection, and reports whether it was the first to.
func (h *httpLink) fail(err error) bool {
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
func (h *httpLink) tell(ctx context.Context, body []byte) error {
	s := h.span(ctx)
	defer s.end()
	resp, sent, err := h.do(s.ctx, h.post(body))
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

// notify is tell for a notification. That a call was given up is told beside:
// its caller does not wait for it, and on HTTP no order has to be kept.
func (h *httpLink) notify(ctx context.Context, method string, body []byte) error {
	if method == "notifications/cancelled" {
		return h.callOff(ctx, body, nil)
	}
	if err := h.enter(); err != nil {
		return err
	}
	defer h.wg.Done()
	if err := h.tell(ctx, body); err != nil {
		return h.settle(ctx, method, err)
	}
	return nil
}

// callOff tells, beside its caller, that a request was given up, once through is
// closed; nil: at once.
func (h *httpLink) callOff(ctx context.Context, body []byte, through <-chan struct{}) error {
	if err := h.enter(&h.goodbyes); err != nil {
		return err
	}
	go func() {
		defer h.wg.Done()
		defer h.goodbyes.Done()
		if through != nil {
			select {
			case <-through:
			case <-h.lost:
				return
			}
		}
		h.deliver(context.WithoutCancel(ctx), body)
	}()
	return nil
}

// deliver is tell for what nobody waits for.
func (h *httpLink) deliver(ctx context.Context, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	if err := h.tell(ctx, body); err != nil {
		h.log.Debug("mcp_message_undelivered", "err", h.redact.Replace(err.Error()))
	}
}

// takeRequest serves a request of the server beside the reading; its answer is
// a POST of its own. One too many is not answered.
func (h *httpLink) takeRequest(ctx context.Context, m message) {
	select {
	case h.serving <- struct{}{}:
	default:
		h.log.Debug("mcp_request_dropped", "err", "too many requests at a time")
		return
	}
	h.wg.Go(func() {
		defer func() { <-h.serving }()
		s := h.span(context.WithoutCancel(ctx))
		defer s.end()
		if reply := h.serve(s.ctx, m); reply != nil {
			h.deliver(s.ctx, reply)
		}
	})
}

// refused is the error object of an answer with status 200 as an error, if it is
// about the session. Its words are made fit to be shown.
func (h *httpLink) refused(fault *mcp.JSONRPCErrorDetails) error {
	if fault == nil {
		return nil
	}
	fault.Message = h.redact.Replace(fault.Message)
	lost := h.forgotten(http.StatusOK, fault.Code, ": "+clip(fault.Message, maxSample))
	if lost == nil {
		return nil
	}
	lost.cause = newAnswerError(fault)
	return lost
}

// errand is one HTTP request of a link.
type errand struct {
	method string
	url    string
	body   []byte
	header http.Header
}

func (e errand) reader() io.Reader {
	if e.body == nil {
		return nil
	}
	return bytes.NewReader(e.body)
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
