// Package call is what the adapters of chat platforms share of a call over HTTP: the
// client, and what is known of a call that got no usable answer. That decides whether
// it may be made again, without a message that is posted twice or lost.
package call

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

	"dragoman/ports"
)

// Stage is how far a call came that got no answer.
type Stage uint8

const (
	StageBuild Stage = iota // never left us
	StageDial               // no connection: the platform cannot have it
	StageSent               // may have been written: the platform may have it
	StageDone               // carried out, by an answer that makes no sense
)

// Error is a call without a usable answer.
type Error struct {
	Err    error
	Stage  Stage
	Late   bool  // our deadline or the caller's passed
	Caller error // why the caller's context ended, if it did
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives what went wrong, and why the caller left.
func (e *Error) Unwrap() []error {
	if e.Caller != nil {
		return []error{e.Err, e.Caller}
	}
	return []error{e.Err}
}

// Kind is the kind of the failure. once says that doing the call twice would be seen.
func (e *Error) Kind(once bool) ports.Kind {
	switch {
	case e.Stage == StageBuild:
		return ports.KindInternal
	case errors.Is(e.Caller, context.DeadlineExceeded):
		return ports.KindTimeout
	case e.Caller != nil:
		return ports.KindCancelled
	case e.Stage == StageDial:
		return ports.KindTemporary
	case once:
		return ports.KindUnsure
	case e.Stage == StageDone:
		return ports.KindProtocol
	case e.Late:
		return ports.KindTimeout
	}
	return ports.KindTemporary
}

// NewClient makes the HTTP client of an adapter; dial bounds the making of a connection.
// HTTP/2 is off: with it one stalled connection would stall all calls at once, and a POST
// on a dead connection is harder to tell from one that was never written. No redirect is
// followed: it would carry the token to another place. Safe for many goroutines.
func NewClient(dial time.Duration) *http.Client {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dial, KeepAlive: dial}).DialContext,
		TLSHandshakeTimeout: dial,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     30 * time.Second,
		Protocols:           new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Do sends a request and reads its answer, of at most limit bytes, whatever its status;
// the body of the response is closed. The error is an *Error without Late and Caller.
func Do(client *http.Client, req *http.Request, limit int64) (*http.Response, []byte, error) {
	var connected atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	fail := func(err error) error {
		if connected.Load() {
			return &Error{Err: err, Stage: StageSent}
		}
		return &Error{Err: err, Stage: StageDial}
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, fail(Bare(err))
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, nil, fail(fmt.Errorf("answer broke off: %w", err))
	case int64(len(text)) > limit:
		return nil, nil, &Error{Err: fmt.Errorf("answer is longer than %d bytes", limit), Stage: StageDone}
	}
	return res, text, nil
}

// Ended notes in err, where it is an *Error, how the contexts of the call ended: the
// caller's, and ours within it.
func Ended(err error, caller, ours context.Context) {
	var e *Error
	if errors.As(err, &e) {
		e.Caller = caller.Err()
		e.Late = ours.Err() != nil
	}
}

// Bare takes the URL, and what may be secret in it, out of an error of net/http.
func Bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
