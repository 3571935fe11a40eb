package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"dragoman/adapters/mcp/oauth"
	"dragoman/ports"
)

// lostError is a connection that is over, or was never there.
type lostError struct {
	reason  string
	cause   error         // what the server said, or what broke; may be nil
	sent    bool          // what was asked may have reached the server
	session bool          // the server refused what was asked because it forgot the session: it ran nothing
	status  int           // of the answer that says so; 0 if there was none
	after   time.Duration // the server wants to be left alone for so long
}

func (e *lostError) Error() string { return e.reason }
func (e *lostError) Unwrap() error { return e.cause }

// malformedError is an answer that MCP does not allow.
type malformedError struct{ what string }

func (e *malformedError) Error() string { return e.what }

func malformed(format string, args ...any) error {
	return &malformedError{what: fmt.Sprintf(format, args...)}
}

// refusedError is a request that a server did not take, by an HTTP status 4xx,
// and without an error object of JSON-RPC.
type refusedError struct {
	status int
	what   string
}

func (e *refusedError) Error() string { return e.what }

// unauthorizedError is a server that wants a login, or another one.
type unauthorizedError struct {
	status int
	what   string
	url    string // where an admin can give it; "" if that is not known
}

func (e *unauthorizedError) Error() string { return e.what }

// loginOf is err as a refused login; nil if it is not one.
func loginOf(err error) *unauthorizedError {
	var login *unauthorizedError
	errors.As(err, &login)
	return login
}

// wantedLogin is the login that keeps a request from being made; nil if none does.
func wantedLogin(err error) *unauthorizedError {
	var wanted *oauth.LoginError
	if !errors.As(err, &wanted) {
		return nil
	}
	return &unauthorizedError{status: wanted.Status, what: wanted.Reason, url: wanted.URL}
}

// tooLargeError is a message beyond a limit that cost no more than its call.
type tooLargeError struct{ what string }

func (e *tooLargeError) Error() string { return e.what }

// answerError is an error object that the server answered with (JSON-RPC 2.0
// section 5.1).
type answerError struct {
	code    int
	message string
	data    json.RawMessage // nil for none
}

func newAnswerError(d *mcp.JSONRPCErrorDetails) error {
	e := &answerError{code: d.Code, message: d.Message}
	if d.Data != nil {
		e.data, _ = json.Marshal(d.Data) // it came as JSON
	}
	return e
}

func (e *answerError) Error() string {
	return fmt.Sprintf("the server answered error %d: %s", e.code, clip(e.message, maxErrorText))
}

// unknownTool reports whether the server says that it has no such tool. MCP
// gives this the code of bad arguments (server/tools, "Error Handling"), so
// that only the words tell them apart.
func (e *answerError) unknownTool() bool {
	text := strings.ToLower(e.message)
	return strings.Contains(text, "unknown tool") || strings.Contains(text, "tool") && strings.Contains(text, "not found")
}

// wrap makes err the *ports.Error of the operation.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	e := &ports.Error{Kind: kindOf(err), Op: "mcp " + op, Err: err}
	var lost *lostError
	if errors.As(err, &lost) {
		e.RetryAfter = lost.after
	}
	return e
}

// wrapCall is wrap for a call of a tool. Of a call that may have reached the
// server before the connection was lost, nobody knows what it did.
func wrapCall(op string, err error) error {
	var (
		lost      *lostError
		forgotten *forgottenError
	)
	if errors.As(err, &forgotten) || errors.As(err, &lost) && lost.sent {
		return &ports.Error{Kind: ports.KindUnsure, Op: "mcp " + op, Err: err}
	}
	return wrap(op, err)
}

func kindOf(err error) ports.Kind {
	var (
		lost      *lostError
		malformed *malformedError
		refused   *refusedError
		answer    *answerError
		large     *tooLargeError
	)
	switch {
	case loginOf(err) != nil:
		return ports.KindUnauthorized
	case errors.As(err, &large):
		return ports.KindTooLarge
	case errors.As(err, &lost):
		return ports.KindUnavailable
	case errors.As(err, &malformed), errors.As(err, &refused):
		return ports.KindProtocol
	case errors.As(err, &answer):
		return answer.kind()
	}
	return ports.KindOf(err)
}

func (e *answerError) kind() ports.Kind {
	switch {
	case e.code == mcp.INVALID_PARAMS && e.unknownTool(), e.code == mcp.METHOD_NOT_FOUND:
		return ports.KindNotFound
	case e.code == mcp.INVALID_PARAMS:
		return ports.KindInvalid
	}
	return ports.KindProtocol
}

// timeoutError names the time-out that was over.
type timeoutError struct {
	within time.Duration
	cause  error
}

func (e *timeoutError) Error() string {
	return strings.Replace(e.cause.Error(), context.DeadlineExceeded.Error(), "timeout "+e.within.String(), 1)
}

func (e *timeoutError) Unwrap() error { return e.cause }
