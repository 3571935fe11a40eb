package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dragoman/ports"
)

// errEncode is a request that cannot be written down: a fault of ours.
var errEncode = errors.New("the request cannot be encoded")

// ProtocolError is a peer that did not keep to the wire.
type ProtocolError struct {
	What string
	Err  error
}

// Broken is a peer that did not keep to the wire: KindProtocol.
func Broken(what string, err error) error { return &ProtocolError{What: what, Err: err} }

// Error is for logs.
func (e *ProtocolError) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *ProtocolError) Unwrap() error { return e.Err }

// declined is a reply that the provider's filter took away.
type declined struct{ reason string }

// Declined is a reply that the provider's filter ended: KindRefused.
func Declined(reason string) error { return &declined{reason: reason} }

func (e *declined) Error() string { return "the provider's filter ended the reply: " + e.reason }

// ProviderError is a failure in the provider's own words. Those of an error that
// a Client gave have no API key in them, and are bounded.
type ProviderError struct {
	Status     int // 200 for one inside a stream
	Problem    Problem
	RetryAfter time.Duration
}

// Failed is the error that came as an event of a stream: the kind is by its
// words, since the status was 200.
func Failed(data []byte) error {
	return &ProviderError{Status: http.StatusOK, Problem: readProblem(data)}
}

// Error is for logs.
func (e *ProviderError) Error() string {
	words := []string{"status " + strconv.Itoa(e.Status)}
	for _, w := range []string{e.Problem.Type, e.Problem.Code, e.Problem.Message} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ": ")
}

// wrap makes the error of the seam. ctx is the request's own: its end explains
// every error that came with it.
func (c *Client) wrap(ctx context.Context, err error) error {
	out := &ports.Error{Kind: ports.KindTemporary, Op: c.o.Op, Err: err} // what is left is the network
	var (
		answer *ProviderError
		broken *ProtocolError
		filter *declined
	)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errIdle), errors.Is(cause, errTotal):
		out.Kind, out.Err = ports.KindTimeout, fmt.Errorf("%w (%w)", cause, ctx.Err())
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		out.Kind, out.Err = ports.KindTimeout, ctx.Err()
	case ctx.Err() != nil:
		out.Kind, out.Err = ports.KindCancelled, ctx.Err()
	case errors.As(err, &answer):
		p := answer.Problem
		p.Type, p.Code, p.Message, p.Param = c.scrub(p.Type), c.scrub(p.Code), c.scrub(p.Message), c.scrub(p.Param)
		out.Err = &ProviderError{Status: answer.Status, Problem: p, RetryAfter: answer.RetryAfter}
		out.Kind, out.RetryAfter = answer.kind(), answer.RetryAfter
	case errors.As(err, &broken):
		out.Kind = ports.KindProtocol
	case errors.As(err, &filter):
		out.Kind = ports.KindRefused
	case errors.Is(err, errEncode):
		out.Kind = ports.KindInternal
	}
	out.Err = c.hide(out.Err)
	return out
}

// maxError bounds what is read of an error: some list a fault of each tool, with
// all of it twice.
const maxError = 256 << 10

// statusError reads an answer whose status is a failure.
func statusError(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxError))
	_ = res.Body.Close()
	p := readProblem(body)
	if to, err := res.Location(); err == nil && res.StatusCode < 400 {
		p.Message = "it redirects to " + to.Scheme + "://" + to.Host + to.Path + ", which is not followed: correct base_url"
	}
	if !p.found() {
		p.Message = "an answer that is no error of this API"
		if kind := res.Header.Get("Content-Type"); kind != "" {
			p.Message += " (" + kind + ")"
		}
		if err != nil {
			p.Message += ", cut short"
		}
	}
	return &ProviderError{Status: res.StatusCode, Problem: p, RetryAfter: retryAfter(res.Header, time.Now())}
}

// scrub takes the API key out of a provider's words, and bounds them.
func (c *Client) scrub(text string) string {
	if key := c.o.Key.Reveal(); key != "" {
		text = strings.ReplaceAll(text, key, c.o.Key.String())
	}
	const most = 1000
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// hide takes the API key out of an error in words of the peer's: of one that breaks
// HTTP itself or says something odd as well. It bounds them, too.
func (c *Client) hide(err error) error {
	text := err.Error()
	if c.scrub(text) == text {
		return err
	}
	return &hidden{text: c.scrub(text), err: err}
}

// hidden is an error in words that may be shown.
type hidden struct {
	text string
	err  error
}

func (e *hidden) Error() string { return e.text }
func (e *hidden) Unwrap() error { return e.err }
