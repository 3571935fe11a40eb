package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"dragoman/adapters/internal/call"
	"dragoman/ports"
)

// maxAnswer bounds what is read of an answer. A hundred of the longest messages
// with their embeds stay below.
const maxAnswer = 16 << 20

// agent is what Discord wants of a program that calls it: it refuses others
// (https://discord.com/developers/docs/reference#user-agent).
const agent = "DiscordBot (dragoman, 1)"

// client calls the REST API. Safe for many goroutines.
type client struct {
	http  *http.Client
	base  string
	token ports.Secret
	holds holds
}

func newClient(base string, token ports.Secret) *client {
	return &client{base: base, token: token, http: call.NewClient(dialTimeout)}
}

// request is one call.
type request struct {
	method, path string
	body         any    // marshalled to JSON; nil = none
	raw          []byte // instead of body, of this kind
	kind         string
	timeout      time.Duration
	bare         bool // without our token: the path's own is enough
}

// do makes a call and decodes the answer into result, unless that is nil. The
// error is an *apiError if Discord refused, else a *call.Error.
func (c *client) do(ctx context.Context, r request, result any) error {
	if r.body != nil {
		body, err := json.Marshal(r.body)
		if err != nil {
			return &call.Error{Err: err, Stage: call.StageBuild}
		}
		r.raw, r.kind = body, "application/json"
	}
	if err := c.holds.check(r); err != nil {
		return err
	}
	inner, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	answer, err := c.roundTrip(inner, r)
	if err != nil {
		call.Ended(err, ctx, inner)
		return c.scrub(err)
	}
	if result == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return &call.Error{Err: fmt.Errorf("unreadable answer: %w", err), Stage: call.StageDone}
	}
	return nil
}

func (c *client) roundTrip(ctx context.Context, r request) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, bytes.NewReader(r.raw))
	if err != nil {
		return nil, &call.Error{Err: call.Bare(err), Stage: call.StageBuild}
	}
	req.Header.Set("User-Agent", agent)
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if !r.bare {
		req.Header.Set("Authorization", "Bot "+c.token.Reveal())
	}
	res, text, err := call.Do(c.http, req, maxAnswer)
	if err != nil {
		return nil, err
	}
	c.holds.note(r, res)
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, parseRefusal(res, text)
	}
	return text, nil
}

// scrub is the last guard: an error that shows the token all the same (a proxy
// that quotes the request) is replaced by its text without it.
func (c *client) scrub(err error) error {
	token := c.token.Reveal()
	if !strings.Contains(err.Error(), token) {
		return err
	}
	var api *apiError
	if errors.As(err, &api) {
		api.Message = strings.ReplaceAll(api.Message, token, "[redacted]")
		return err
	}
	var failed *call.Error
	if errors.As(err, &failed) {
		failed.Err = errors.New(strings.ReplaceAll(failed.Err.Error(), token, "[redacted]"))
	}
	return err
}
