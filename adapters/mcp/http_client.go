package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	// reachWithin is for a connection, and again for its TLS handshake. The
	// rest of an exchange has the time of its call.
	reachWithin = 10 * time.Second
	// maxRedirects is how often a server may send a request elsewhere on it.
	maxRedirects = 5
	// maxDiscard is how much of an unwanted body is read to keep the connection.
	maxDiscard = 64 << 10

	headerSession  = "Mcp-Session-Id"
	headerProtocol = "Mcp-Protocol-Version"
)

// newClient is a client for one link, proxies from the environment included.
func newClient(cfg Config) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	dialer := &net.Dialer{Timeout: min(reachWithin, cfg.Timeout), KeepAlive: 15 * time.Second}
	t.DialContext = dialer.DialContext
	t.TLSHandshakeTimeout = reachWithin
	t.MaxIdleConnsPerHost = 16
	t.MaxResponseHeaderBytes = 256 << 10
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	return &http.Client{Transport: t, CheckRedirect: stayHome}
}

// stayHome follows a redirection that asks for the same on the same origin.
// Anywhere else the headers with their token would go along, and a 301, 302 or
// 303 turns a POST into a GET.
func stayHome(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// do sends one HTTP request. sent says whether the server may have had it.
// lastEvent asks for what came after that event.
func (h *streamable) do(ctx context.Context, method string, body io.Reader, lastEvent string) (_ *http.Response, sent bool, err error) {
	var reached atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, method, h.cfg.URL.Reveal(), body)
	if err != nil {
		return nil, false, err
	}
	for name, value := range h.cfg.Headers {
		req.Header.Set(name, value.Reveal())
	}
	h.mu.Lock()
	session, protocol := h.session, h.protocol
	h.mu.Unlock()
	set := func(name, value string) {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	set(headerSession, session)
	set(headerProtocol, protocol)
	set("Last-Event-ID", lastEvent)
	switch method {
	case http.MethodPost:
		set("Content-Type", "application/json")
		set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		set("Accept", "text/event-stream")
	}
	if req.Header.Get("User-Agent") == "" {
		set("User-Agent", clientName+"/"+clientVersion)
	}
	resp, err := h.client.Do(req)
	return resp, reached.Load(), err
}

// broken is an exchange that ended without an answer. The URL is taken out of
// net/http's words: it may hold a key.
func (h *streamable) broken(err error, sent bool) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	switch {
	case !sent:
		return &lostError{reason: fmt.Sprintf("%s cannot be reached: %v", h.origin, err), cause: err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &lostError{reason: h.origin + " closed the connection", cause: err, sent: true}
	case errors.Is(err, context.Canceled) && h.Err() != nil:
		return &lostError{reason: h.Err().Error(), cause: h.Err(), sent: true}
	}
	return &lostError{reason: fmt.Sprintf("the connection to %s broke: %v", h.origin, err), cause: err, sent: true}
}

// discard reads a short rest, so that the connection can be used again.
func discard(body io.Reader) {
	_, _ = io.CopyN(io.Discard, body, maxDiscard)
}
