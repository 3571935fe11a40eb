package oauth

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"dragoman/ports"
)

const maxWords = 200 // bytes of a peer's own words in an error

// LoginError is a server that wants a login which only a person can give. What
// was asked of the server did not run.
type LoginError struct {
	// URL is where an admin logs in; "" if no link can be made, and then Reason
	// says what has to be mended first. Whoever opens it first gives the gateway
	// their login: show it to admins alone.
	URL    string
	Status int    // 401, or 403 for a login with more rights than the present one
	Reason string // in words, without secrets
	Err    error  // may be nil
}

// Error does not tell the URL: errors get around.
func (e *LoginError) Error() string { return e.Reason }

// Unwrap gives the cause.
func (e *LoginError) Unwrap() error { return e.Err }

// answerError is an error that an authorization server answered with (RFC 6749,
// 5.2), or a status that is none of OAuth's.
type answerError struct {
	status int
	code   string
	words  string
}

func (e *answerError) Error() string {
	text := fmt.Sprintf("it answers %d", e.status)
	if e.code != "" {
		text += " " + e.code
	}
	if e.words != "" {
		text += ": " + e.words
	}
	return text
}

// isAnswer reports whether err is this error of OAuth.
func isAnswer(err error, code string) bool {
	var answer *answerError
	return errors.As(err, &answer) && answer.code == code
}

// errNoOAuth is a server that refuses, but says nothing of OAuth.
var errNoOAuth = errors.New("the server offers no OAuth login")

func wrap(op string, err error) error {
	var known *ports.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &ports.Error{Kind: ports.KindOf(err), Op: "oauth " + op, Err: err}
}

// tidy is a peer's own words on one line, at most maxWords bytes.
func tidy(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "…"
	}
	return text
}
