package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
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
	maxSample   = 120 // bytes of a page that is no answer, in an error
)

// refusal makes an error of an answer whose status is not 2xx. What a server
// refuses with a 4xx it did not run; after a 5xx nobody knows, unless it comes
// with a time to try again.
func (h *streamable) refusal(resp *http.Response) error {
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
		return forgotten
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable && wait > 0:
		wait = max(wait, time.Second)
		return &lostError{reason: fmt.Sprintf("the server asks to wait %s (%s)%s", wait.Round(time.Second), status, said), after: wait}
	case code >= 500 && fault.Code != 0:
		return newAnswerError(fault)
	case code >= 500:
		return &lostError{reason: fmt.Sprintf("%s answers %s%s", h.origin, status, said), sent: true}
	case code/100 == 3:
		return malformed("the server redirects to %s, where the headers must not go along (set url to where the server is)", elsewhere(resp))
	case fault.Code != 0:
		return newAnswerError(fault)
	case code == http.StatusNotFound:
		return malformed("there is no MCP server at this path of %s (%s)%s", h.origin, status, said)
	case code == http.StatusMethodNotAllowed:
		return malformed("%s takes no POST at this path (%s): the path is wrong, or it is a server of the older sse, which is not supported yet", h.origin, status)
	case code == http.StatusRequestEntityTooLarge:
		return &tooLargeError{what: "the server says that the request is too large"}
	}
	return malformed("the server answers %s%s", status, said)
}

func (h *streamable) loginWords(code int, status string) string {
	switch {
	case code == http.StatusForbidden:
		return fmt.Sprintf("the server refuses access (%s): its token may not do this, set another in headers", status)
	case slices.ContainsFunc(headerNames(h.cfg), func(name string) bool { return strings.EqualFold(name, "Authorization") }):
		return fmt.Sprintf("the server does not accept the token in headers.Authorization (%s): it wants another", status)
	}
	return fmt.Sprintf("the server wants a login (%s): set a token in headers, as \"Authorization\": \"Bearer …\"", status)
}

// forgotten is not nil if the server says that it does not know the session
// (MCP basic/transports, "Session Management": 404). Others say so by a 400, and
// did not run what was asked either; by an error in an answer with 200 it may
// also be a tool that speaks.
func (h *streamable) forgotten(status, code int, words string) *lostError {
	if h.GetSessionId() == "" {
		return nil
	}
	lower := strings.ToLower(words)
	aboutSession := strings.Contains(lower, "session") || strings.Contains(lower, "not initialized")
	switch {
	case status == http.StatusNotFound, status == http.StatusGone:
	case aboutSession && (status == http.StatusBadRequest || code == mcp.INVALID_REQUEST):
	default:
		return nil
	}
	return &lostError{reason: "the server no longer knows the session" + words, session: true}
}

// sample is what a refusal says, for people; "" for nothing.
func (h *streamable) sample(resp *http.Response, body []byte, words string) string {
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

func elsewhere(resp *http.Response) string {
	to, err := resp.Location()
	if err != nil {
		return "nowhere"
	}
	return clip(to.Scheme+"://"+to.Host, maxSample)
}

func headerNames(cfg Config) []string {
	names := make([]string, 0, len(cfg.Headers))
	for name := range cfg.Headers {
		names = append(names, name)
	}
	return names
}
