package telegram

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

// Longest answers that are read. A hundred updates of the longest messages stay far below.
const (
	maxAnswer  = 1 << 20
	maxUpdates = 32 << 20
)

// client calls methods of the Bot API. Safe for many goroutines.
type client struct {
	http  *http.Client
	base  string // holds the token
	token ports.Secret
}

func newClient(base string, token ports.Secret) *client {
	return &client{http: newHTTP(), base: base, token: token}
}

// newHTTP makes the HTTP client. HTTP/2 is off: with it one stalled connection
// would stall the poll and every send at once, and a POST on a dead connection
// is harder to tell from one that was never written.
func newHTTP() *http.Client {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     30 * time.Second,
		Protocols:           new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return &http.Client{
		Transport: t,
		// A redirect would carry the token to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answer is the envelope of every answer
// (https://core.telegram.org/bots/api#making-requests).
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// post calls a method and decodes its result into result, unless that is nil.
// The error is an *apiError if Telegram refused, else a *callError.
func (c *client) post(ctx context.Context, method string, timeout time.Duration, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return &callError{err: err, stage: stageBuild}
	}
	return c.call(ctx, method, timeout, "application/json", bytes.NewReader(body), result)
}

// call is post for a body of any form.
func (c *client) call(ctx context.Context, method string, timeout time.Duration, form string, body io.Reader, result any) error {
	limit := int64(maxAnswer)
	if method == "getUpdates" {
		limit = maxUpdates
	}
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	a, err := c.roundTrip(inner, method, form, body, limit)
	if err != nil {
		var call *callError
		if errors.As(err, &call) {
			call.caller = ctx.Err()
			call.late = inner.Err() != nil
		}
		return c.scrub(err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(a, result); err != nil {
		return &callError{err: fmt.Errorf("unreadable result: %w", err), stage: stageDone}
	}
	return nil
}

// roundTrip sends one request and gives the result of an answer that is ok.
func (c *client) roundTrip(ctx context.Context, method, form string, body io.Reader, limit int64) (json.RawMessage, error) {
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+method, body)
	if err != nil {
		return nil, &callError{err: bare(err), stage: stageBuild}
	}
	req.Header.Set("Content-Type", form)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fail(bare(err))
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, fail(fmt.Errorf("answer broke off: %w", err))
	case int64(len(text)) > limit:
		return nil, &callError{err: fmt.Errorf("answer is longer than %d bytes", limit), stage: stageDone}
	}
	return parse(res.StatusCode, text)
}

// parse reads the envelope. A proxy in between may answer with anything: then
// the status alone counts.
func parse(status int, text []byte) (json.RawMessage, error) {
	var a answer
	err := json.Unmarshal(text, &a)
	switch {
	case err == nil && a.OK && status < http.StatusMultipleChoices:
		return a.Result, nil
	case err == nil && !a.OK && a.Code != 0:
		return nil, &apiError{
			Code: a.Code, Description: a.Description,
			RetryAfter: time.Duration(a.Parameters.RetryAfter) * time.Second, MigrateTo: a.Parameters.MigrateTo,
		}
	case status >= http.StatusMultipleChoices:
		return nil, &apiError{Code: status, Description: http.StatusText(status), Foreign: true}
	}
	return nil, &callError{err: fmt.Errorf("status %d with an answer that is not of the Bot API", status), stage: stageDone}
}

// bare takes the URL, and the token in it, out of an error of net/http.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// scrub is the last guard: an error that shows the token all the same (a proxy
// that quotes the request line) is replaced by its text without it.
func (c *client) scrub(err error) error {
	token := c.token.Reveal()
	if !strings.Contains(err.Error(), token) {
		return err
	}
	clean := strings.ReplaceAll
	var api *apiError
	if errors.As(err, &api) {
		api.Description = clean(api.Description, token, "[redacted]")
		return err
	}
	var call *callError
	if errors.As(err, &call) {
		call.err = errors.New(clean(call.err.Error(), token, "[redacted]"))
	}
	return err
}
