package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"dragoman/adapters/internal/call"
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
	return &client{http: call.NewClient(dialTimeout), base: base, token: token}
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
// The error is an *apiError if Telegram refused, else a *call.Error.
func (c *client) post(ctx context.Context, method string, timeout time.Duration, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return &call.Error{Err: err, Stage: call.StageBuild}
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
		call.Ended(err, ctx, inner)
		return c.scrub(err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(a, result); err != nil {
		return &call.Error{Err: fmt.Errorf("unreadable result: %w", err), Stage: call.StageDone}
	}
	return nil
}

// roundTrip sends one request and gives the result of an answer that is ok.
func (c *client) roundTrip(ctx context.Context, method, form string, body io.Reader, limit int64) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+method, body)
	if err != nil {
		return nil, &call.Error{Err: call.Bare(err), Stage: call.StageBuild}
	}
	req.Header.Set("Content-Type", form)
	res, text, err := call.Do(c.http, req, limit)
	if err != nil {
		return nil, err
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
	return nil, &call.Error{Err: fmt.Errorf("status %d with an answer that is not of the Bot API", status), Stage: call.StageDone}
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
	var failed *call.Error
	if errors.As(err, &failed) {
		failed.Err = errors.New(clean(failed.Err.Error(), token, "[redacted]"))
	}
	return err
}
