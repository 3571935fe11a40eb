package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/ports"
)

const op = "openai chat"

// wrap makes the error of the seam. ctx is the request's own: its end explains
// every error that came with it.
func (m *Model) wrap(ctx context.Context, err error) error {
	out := &ports.Error{Kind: ports.KindTemporary, Op: op, Err: err} // what is left is the network
	var (
		answer *providerError
		broken *protocolError
		filter *refusal
	)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errIdle), errors.Is(cause, errTotal):
		out.Kind, out.Err = ports.KindTimeout, fmt.Errorf("%w (%w)", cause, ctx.Err())
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		out.Kind, out.Err = ports.KindTimeout, ctx.Err()
	case ctx.Err() != nil:
		out.Kind, out.Err = ports.KindCancelled, ctx.Err()
	case errors.As(err, &answer):
		out.Kind, out.RetryAfter = answer.kind(), answer.retryAfter
	case errors.As(err, &broken):
		out.Kind = ports.KindProtocol
	case errors.As(err, &filter):
		out.Kind = ports.KindRefused
	case errors.Is(err, errEncode):
		out.Kind = ports.KindInternal
	}
	return out
}

// refusal is a reply that the provider's filter took away.
type refusal struct{ reason string }

func (e *refusal) Error() string { return "the provider's filter ended the reply: " + e.reason }

// providerError is a failure in the provider's own words, the API key taken out
// of them.
type providerError struct {
	status     int // 200 for one inside a stream
	problem    problem
	retryAfter time.Duration
}

func (e *providerError) Error() string {
	words := []string{"status " + strconv.Itoa(e.status)}
	for _, w := range []string{e.problem.Type, e.problem.Code, e.problem.Message} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ": ")
}

// kind goes by the provider's words where they are known, since statuses lie
// (an empty account is a 429, an overflow a 400), then by the status.
func (e *providerError) kind() ports.Kind {
	p, status := e.problem, e.status
	if status < 400 { // inside a stream: the code may be the status it would have had
		if n, err := strconv.Atoi(p.Code); err == nil && n >= 400 {
			status = n
		}
	}
	switch {
	case p.is("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"):
		return ports.KindUnauthorized
	case p.is("context_length_exceeded") || status != http.StatusTooManyRequests && p.says(overflowTexts):
		return ports.KindTooLarge
	case p.is("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"):
		return ports.KindRefused
	}
	if kind, ok := kindOfStatus(status); ok {
		return kind
	}
	switch {
	case p.is("rate_limit_exceeded", "rate_limit_error", "too_many_requests", "tokens", "requests"):
		return ports.KindRateLimited
	case p.is("overloaded_error", "overloaded", "server_error", "api_error", "internal_error", "internal_server_error", "service_unavailable", "timeout"):
		return ports.KindTemporary
	case p.is("authentication_error", "invalid_api_key", "permission_error"):
		return ports.KindUnauthorized
	case p.is("invalid_request_error"):
		return ports.KindInvalid
	}
	return ports.KindProtocol
}

func kindOfStatus(status int) (ports.Kind, bool) {
	switch {
	case status < 400:
		return 0, false
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return ports.KindUnauthorized, true
	case status == http.StatusNotFound:
		return ports.KindNotFound, true
	case status == http.StatusRequestEntityTooLarge:
		return ports.KindTooLarge, true
	case status == http.StatusTooManyRequests:
		return ports.KindRateLimited, true
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		return ports.KindTemporary, true
	}
	return ports.KindInvalid, true
}

// overflowTexts are how providers without a code for it say that the prompt is
// beyond the context window.
var overflowTexts = []string{
	"maximum context length", "context_length_exceeded", "context length exceeded", "context window", "context size",
	"prompt is too long", "input is too long", "input token count", "too many tokens in", "reduce the length of",
	"maximum prompt length", "exceeds the model's context", "exceeds the available context",
}

// statusError reads an answer whose status is a failure.
func (m *Model) statusError(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxPrefix))
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
	return m.provider(res.StatusCode, res.Header, p)
}

// frameError reads an error that came inside a stream.
func (m *Model) frameError(data []byte) error {
	return m.provider(http.StatusOK, nil, readProblem(data))
}

func (m *Model) provider(status int, header http.Header, p problem) error {
	p.Type, p.Code, p.Message = m.scrub(p.Type), m.scrub(p.Code), m.scrub(p.Message)
	return &providerError{status: status, problem: p, retryAfter: retryAfter(header, time.Now())}
}

// scrub takes the API key out of a provider's words, and bounds them.
func (m *Model) scrub(text string) string {
	if key := m.cfg.APIKey.Reveal(); key != "" {
		text = strings.ReplaceAll(text, key, m.cfg.APIKey.String())
	}
	const most = 1000
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// hide takes the API key out of an error of the network, which quotes a peer
// that breaks HTTP itself.
func (m *Model) hide(err error) error {
	if key := m.cfg.APIKey.Reveal(); key == "" || !strings.Contains(err.Error(), key) {
		return err
	}
	return &hidden{text: m.scrub(err.Error()), err: err}
}

// hidden is an error in words that may be shown.
type hidden struct {
	text string
	err  error
}

func (e *hidden) Error() string { return e.text }
func (e *hidden) Unwrap() error { return e.err }

// problem is the error object of the API, as far as anyone fills it in.
type problem struct {
	Message string
	Type    string
	Code    string // a number at some providers
}

func (p problem) found() bool { return p.Message != "" || p.Type != "" || p.Code != "" }

func (p problem) is(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return strings.EqualFold(p.Code, n) || strings.EqualFold(p.Type, n)
	})
}

func (p problem) says(texts []string) bool {
	message := strings.ToLower(p.Message)
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(message, t) })
}

// readProblem understands {"error":{…}}, {"error":"text"}, {"message":…},
// {"detail":…} and, as Gemini answers, a list of one of them.
func readProblem(body []byte) problem {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message looseText       `json:"message"`
		Detail  looseText       `json:"detail"`
		Type    looseText       `json:"type"`
		Code    looseText       `json:"code"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return problem{}
	}
	var inner struct {
		Message looseText `json:"message"`
		Type    looseText `json:"type"`
		Code    looseText `json:"code"`
		Status  looseText `json:"status"`
	}
	var text string
	switch {
	case len(outer.Error) == 0 || string(outer.Error) == "null":
		if outer.Message == "" {
			outer.Message = outer.Detail
		}
		if outer.Message == "" {
			return problem{}
		}
		return problem{Message: string(outer.Message), Type: string(outer.Type), Code: string(outer.Code)}
	case json.Unmarshal(outer.Error, &text) == nil:
		return problem{Message: text, Type: string(outer.Type), Code: string(outer.Code)}
	case json.Unmarshal(outer.Error, &inner) == nil:
		if inner.Type == "" {
			inner.Type = inner.Status
		}
		return problem{Message: string(inner.Message), Type: string(inner.Type), Code: string(inner.Code)}
	}
	return problem{Message: "an error in an unknown form"}
}

// retryAfter is the wait that an answer asks for: Retry-After-Ms, or Retry-After
// in seconds or as a date (RFC 9110, 10.2.3), reckoned by the peer's own clock
// where it told it.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return wait(ms / 1000)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return wait(s)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return wait(at.Sub(now).Seconds())
}

// wait keeps a peer's number within a day, NaN and the negative at 0.
func wait(seconds float64) time.Duration {
	const most = 24 * 60 * 60
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, most) * float64(time.Second))
}
