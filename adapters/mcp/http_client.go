package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
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
func newClient(cfg Config, login Login) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	dialer := &net.Dialer{Timeout: min(reachWithin, cfg.Timeout), KeepAlive: 15 * time.Second}
	t.DialContext = dialer.DialContext
	t.TLSHandshakeTimeout = reachWithin
	t.MaxIdleConnsPerHost = 16
	t.MaxResponseHeaderBytes = 256 << 10
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	if login != nil {
		return &http.Client{Transport: login.Wrap(t), CheckRedirect: stayHome}
	}
	return &http.Client{Transport: t, CheckRedirect: stayHome}
}

// stayHome follows a redirection that asks for the same again on the same origin
// (307 and 308). Anywhere else the headers with their token would go along, and
// the others turn a POST into a GET.
func stayHome(req *http.Request, via []*http.Request) error {
	same := req.Response.StatusCode == http.StatusTemporaryRedirect || req.Response.StatusCode == http.StatusPermanentRedirect
	if len(via) > maxRedirects || !same || !sameOrigin(req.URL, via[0].URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// sameOrigin reports whether what may be sent to one address may be sent to the
// other (RFC 6454 section 5).
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// do sends one HTTP request with the config's headers and its own, which win.
// sent says whether the server may have had it.
func (h *httpLink) do(ctx context.Context, e errand) (_ *http.Response, sent bool, err error) {
	var reached atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, e.method, e.url, e.reader())
	if err != nil {
		return nil, false, err
	}
	for name, value := range h.cfg.Headers {
		req.Header.Set(name, value.Reveal())
	}
	maps.Copy(req.Header, e.header)
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", clientName+"/"+clientVersion)
	}
	resp, err := h.client.Do(req)
	return resp, reached.Load(), err
}

// broken is an exchange that ended without an answer. The URL is taken out of
// net/http's words: it may hold a key.
func (h *httpLink) broken(err error, sent bool) error {
	if login := wantedLogin(err); login != nil {
		return login
	}
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
