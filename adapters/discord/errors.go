package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"dragoman/adapters/internal/call"
	"dragoman/ports"
)

// Codes of refusals that are told apart
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#json).
const (
	codeUnknownChannel = 10003
	codeUnknownMessage = 10008
	codeUnknownWebhook = 10015
	codeUnknownPress   = 10062
	codeNoDM           = 50007
	codeBadWebhook     = 50027
	codeNoReply        = 160002 // without the right to read the history
	codeThreadThere    = 160004
)

// apiError is a refusal by Discord, or by something in between.
type apiError struct {
	Status     int
	Code       int // 0 = not in the form of the API: a proxy, a wrong api_url
	Message    string
	RetryAfter time.Duration
	Global     bool
}

func (e *apiError) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("%d %s", e.Status, e.Message)
	}
	return fmt.Sprintf("%d %s (code %d)", e.Status, e.Message, e.Code)
}

// parseRefusal reads an answer that is no success. Of one in another form than the
// API's the status alone counts.
func parseRefusal(res *http.Response, text []byte) *apiError {
	e := &apiError{Status: res.StatusCode, Message: http.StatusText(res.StatusCode)}
	var body struct {
		Code       int             `json:"code"`
		Message    string          `json:"message"`
		RetryAfter float64         `json:"retry_after"`
		Global     bool            `json:"global"`
		Errors     json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(text, &body) == nil && body.Message != "" {
		e.Code, e.Message, e.Global = body.Code, body.Message, body.Global
		e.RetryAfter = seconds(body.RetryAfter)
		if fault := firstFault(body.Errors); fault != "" {
			e.Message += ": " + fault
		}
	}
	if e.Status == http.StatusTooManyRequests && e.RetryAfter == 0 {
		after, _ := strconv.ParseFloat(res.Header.Get("Retry-After"), 64)
		// Without the API's form it comes from what stands before it, for the whole address.
		e.RetryAfter, e.Global = seconds(after), e.Global || body.Message == ""
	}
	return e
}

// firstFault is the first code in the tree of what is wrong with a form. The words
// beside it may quote what was sent.
func firstFault(raw json.RawMessage) string {
	var node map[string]json.RawMessage
	if json.Unmarshal(raw, &node) != nil {
		return ""
	}
	var list []struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(node["_errors"], &list) == nil && len(list) > 0 {
		return list[0].Code
	}
	for name, child := range node {
		if fault := firstFault(child); fault != "" {
			return name + " " + fault
		}
	}
	return ""
}

// wrap gives a failed call its kind; nil stays nil. once says that doing it twice
// would be seen, which a nonce does not make good for longer than some minutes.
func wrap(op string, once bool, err error) error {
	if err == nil {
		return nil
	}
	out := &ports.Error{Op: op, Err: err}
	var api *apiError
	var failed *call.Error
	switch {
	case errors.As(err, &api):
		out.Kind, out.RetryAfter = refusal(api), api.RetryAfter
		out.Wide = out.Kind == ports.KindRateLimited && api.Global && api.RetryAfter > 0
	case errors.As(err, &failed):
		out.Kind = failed.Kind(once)
	}
	return out
}

// refusal is the kind of an answer that is no success. A 5xx counts as
// KindTemporary also to a send: should Discord have posted it all the same, the
// nonce brings the same message back.
func refusal(e *apiError) ports.Kind {
	switch {
	case e.Status == http.StatusTooManyRequests:
		return ports.KindRateLimited
	case e.Status >= http.StatusInternalServerError:
		return ports.KindTemporary
	case e.Status == http.StatusUnauthorized && e.Code != codeBadWebhook:
		return ports.KindUnauthorized
	case e.Code == 0 && e.Message == http.StatusText(e.Status) && e.Status != http.StatusNotFound:
		return ports.KindTemporary
	case e.Code == codeBadWebhook:
		return ports.KindNotFound
	case e.Status == http.StatusForbidden:
		return ports.KindForbidden
	case e.Status == http.StatusNotFound:
		return ports.KindNotFound
	case e.Status == http.StatusRequestEntityTooLarge:
		return ports.KindTooLarge
	}
	return ports.KindInvalid
}

// hasCode reports whether err is Discord's refusal with one of these codes.
func hasCode(err error, codes ...int) bool {
	var api *apiError
	if !errors.As(err, &api) {
		return false
	}
	for _, c := range codes {
		if api.Code == c {
			return true
		}
	}
	return false
}

// isRefused: the token is not accepted, or what it may see, which no waiting mends.
func isRefused(err error) bool { return ports.IsKind(err, ports.KindUnauthorized) }

// refusedToken says in plain words what a refused token is; other errors it leaves
// as they are. For calls that every bot may make.
func refusedToken(err error) error {
	var api *apiError
	if errors.As(err, &api) && refusal(api) == ports.KindUnauthorized {
		return fmt.Errorf("discord does not accept the bot token; check it at https://discord.com/developers/applications: %w", err)
	}
	return err
}
