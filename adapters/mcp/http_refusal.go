package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxRefusal is how much is read of a body that says why not.
	maxRefusal = 64 << 10
	// longestWait is how long a server can ask us to stay away.
	longestWait = time.Hour
	// longestQuiet is how long what one call was told holds for the others.
	longestQuiet = time.Minute
	maxSample    = 120 // bytes of a page that is no answer, in an error
	// codeNoSession is how the TypeScript SDK says that there is no such session.
	codeNoSession = -32001
)

// refusal makes an error of an answer whose status is not 2xx. What a server
// refuses with a 4xx it did not run; after a 5xx nobody knows, unless it comes
// with a time to try again.
func (h *httpLink) refusal(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what can be read of it
	fault := errorOf(body)
	if fault == nil {
		fault = new(mcp.JSONRPCErrorDetails)
	}
	fault.Message = h.redact.Replace(fault.Message)
	status := strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	wait := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	said := h.sample(resp, body, fault.Message)
	forgotten := h.forgotten(resp.StatusCode, fault.Code, said)
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return &unauthorizedError{status: code, what: h.loginWords(code, status) + said}
	case forgotten != nil:
		forgotten.cause = h.refusedWith(resp, status, said, fault)
		return forgotten
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable && wait > 0:
		wait = max(wait, time.Second)
		return &lostError{reason: fmt.Sprintf("the server asks to wait %s (%s)%s", wait.Round(time.Second), status, said), after: wait, status: code}
	case code >= 500 && fault.Code != 0:
		return newAnswerError(fault)
	case code >= 500:
		return &lostError{reason: fmt.Sprintf("%s answers %s%s", h.origin, status, said), sent: true, status: code}
	case code/100 == 3:
		return h.redirection(resp, status)
	}
	return h.refusedWith(resp, status, said, fault)
}

// refusedWith is what a server says with a status 4xx, as an error.
func (h *httpLink) refusedWith(resp *http.Response, status, said string, fault *mcp.JSONRPCErrorDetails) error {
	switch code := resp.StatusCode; {
	case fault.Code != 0:
		return newAnswerError(fault)
	case code == http.StatusNotFound:
		return &refusedError{status: code, what: fmt.Sprintf("there is no MCP server at this path of %s (%s)%s", h.origin, status, said)}
	case code == http.StatusMethodNotAllowed:
		return &refusedError{status: code, what: fmt.Sprintf("%s takes no %s at this path (%s): is the url right?", h.origin, resp.Request.Method, status)}
	case code == http.StatusRequestEntityTooLarge:
		return &tooLargeError{what: "the server says that the request is too large"}
	}
	return &refusedError{status: resp.StatusCode, what: fmt.Sprintf("the server answers %s%s", status, said)}
}

// redirection is a status 3xx that is not followed.
func (h *httpLink) redirection(resp *http.Response, status string) error {
	to, err := resp.Location()
	switch {
	case err != nil:
		return malformed("the server redirects to nowhere (%s)", status)
	case !sameOrigin(to, resp.Request.URL):
		return malformed("the server redirects to %s, where the headers must not go along (set url to where the server is)", clip(to.Scheme+"://"+to.Host, maxSample))
	case resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect:
		return malformed("the server redirects to %s again and again (%s)", h.origin, status)
	}
	return malformed("the server redirects to %s by %s, which asks for a page and not for MCP (set url to where the server is; it may want a login)", h.origin, status)
}

func (h *httpLink) loginWords(code int, status string) string {
	switch {
	case code == http.StatusForbidden:
		return fmt.Sprintf("the server refuses access (%s): its token may not do this, set another in headers", status)
	case h.cfg.authorized():
		return fmt.Sprintf("the server does not accept the token in headers.Authorization (%s): it wants another", status)
	}
	return fmt.Sprintf("the server wants a login (%s): set a token in headers, as \"Authorization\": \"Bearer …\"", status)
}

// forgotten is not nil if the server says that it does not know the session
// (MCP 2025-11-25 basic/transports, "Session Management": 404). Others say so by
// a 400 or by an error object. In each it may also be a tool that speaks, of what
// it called itself: a sign of life tells. What was asked did not run.
func (h *httpLink) forgotten(status, code int, words string) *lostError {
	if !h.inSession() {
		return nil
	}
	lower := strings.ToLower(words)
	aboutSession := strings.Contains(lower, "session") || strings.Contains(lower, "not initialized")
	sure := status == http.StatusGone || status == http.StatusNotFound && code != mcp.METHOD_NOT_FOUND
	byWords := status == http.StatusBadRequest || code == mcp.INVALID_REQUEST || code == codeNoSession
	if !sure && !(aboutSession && byWords) {
		return nil
	}
	return &lostError{reason: "the server no longer knows the session" + words, session: true, status: status}
}

// sample is what a refusal says, for people; "" for nothing.
func (h *httpLink) sample(resp *http.Response, body []byte, words string) string {
	text := string(body)
	switch media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case words != "":
		text = words
	case media == "text/html":
		return ", with a web page"
	}
	if text = clip(h.redact.Replace(text), maxSample); text == "" {
		return ""
	}
	return ": " + text
}

// errorOf is the JSON-RPC error in a body, or in {"error": "text"}; nil if there is none.
func errorOf(body []byte) *mcp.JSONRPCErrorDetails {
	var m message
	if json.Unmarshal(body, &m) != nil || isNull(m.Error) {
		return nil
	}
	if words := text(m.Error); words != "" {
		return &mcp.JSONRPCErrorDetails{Message: words}
	}
	return decodeErrorObject(m.Error)
}

// retryAfter reads the header's seconds or date (RFC 9110, 10.2.3); 0 for none.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestWait)
}

func headerNames(cfg Config) []string {
	names := make([]string, 0, len(cfg.Headers))
	for name := range cfg.Headers {
		names = append(names, name)
	}
	return names
}
