package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"dragoman/ports"
)

// maxAnswer bounds what is read of an answer. A hundred of the longest messages
// with their embeds stay below.
const maxAnswer = 16 << 20

// agent is what Discord wants of a program that calls it: it refuses others
// (https://discord.com/developers/docs/reference#user-agent).
const agent = "DiscordBot (dragoman, 1)"

// client calls the REST API. Safe for many goroutines.
type client struct {
	http  *http.Client
	base  string
	token ports.Secret
	holds holds
}

func newClient(base string, token ports.Secret) *client {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     30 * time.Second,
		Protocols:           new(http.Protocols),
	}
	// With HTTP/2 one stalled connection would stall every call.
	t.Protocols.SetHTTP1(true)
	return &client{base: base, token: token, http: &http.Client{
		Transport: t,
		// A redirect would carry the token to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// request is one call.
type request struct {
	method, path string
	body         any    // marshalled to JSON; nil = none
	raw          []byte // instead of body, of this kind
	kind         string
	timeout      time.Duration
	bare         bool // without our token: the path's own is enough
}

// do makes a call and decodes the answer into result, unless that is nil. The
// error is an *apiError if Discord refused, else a *callError.
func (c *client) do(ctx context.Context, r request, result any) error {
	if r.body != nil {
		body, err := json.Marshal(r.body)
		if err != nil {
			return &callError{err: err, stage: stageBuild}
		}
		r.raw, r.kind = body, "application/json"
	}
	if err := c.holds.check(r); err != nil {
		return err
	}
	inner, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	answer, err := c.roundTrip(inner, r)
	if err != nil {
		var call *callError
		if errors.As(err, &call) {
			call.caller = ctx.Err()
			call.late = inner.Err() != nil
		}
		return c.scrub(err)
	}
	if result == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return &callError{err: fmt.Errorf("unreadable answer: %w", err), stage: stageDone}
	}
	return nil
}

func (c *client) roundTrip(ctx context.Context, r request) ([]byte, error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	fail := func(err error) error {
		if connected.Load() {
			return &callError{err: err, stage: stageSent}
		}
		return &callError{err: err, stage: stageDial}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, bytes.NewReader(r.raw))
	if err != nil {
		return nil, &callError{err: bare(err), stage: stageBuild}
	}
	req.Header.Set("User-Agent", agent)
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if !r.bare {
		req.Header.Set("Authorization", "Bot "+c.token.Reveal())
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fail(bare(err))
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fail(fmt.Errorf("answer broke off: %w", err))
	case len(text) > maxAnswer:
		return nil, &callError{err: fmt.Errorf("answer is longer than %d bytes", maxAnswer), stage: stageDone}
	}
	c.holds.note(r, res)
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, parseRefusal(res, text)
	}
	return text, nil
}

// bare takes the URL, and what may be secret in it, out of an error of net/http.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// scrub is the last guard: an error that shows the token all the same (a proxy
// that quotes the request) is replaced by its text without it.
func (c *client) scrub(err error) error {
	token := c.token.Reveal()
	if !strings.Contains(err.Error(), token) {
		return err
	}
	var api *apiError
	if errors.As(err, &api) {
		api.Message = strings.ReplaceAll(api.Message, token, "[redacted]")
		return err
	}
	var call *callError
	if errors.As(err, &call) {
		call.err = errors.New(strings.ReplaceAll(call.err.Error(), token, "[redacted]"))
	}
	return err
}
