package oauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	// maxTries is how often one request is sent: a nonce, a refresh and a new token
	// may each be needed once.
	maxTries = 4
	// maxSteps is how often more rights are asked for, for the same reason.
	maxSteps = 2
	// maxRefusal is how much of a refusal's body is kept for who reads it.
	maxRefusal = 64 << 10
)

// Client logs in to one MCP server. Desk.Client makes it. Safe for many goroutines.
type Client struct {
	desk    *Desk
	cfg     settings
	scope   string
	home    *url.URL
	courier *courier
	log     *slog.Logger
	flow    chan struct{} // has room for the one flow that is under way

	mu      sync.Mutex
	grant   *grant
	known   bool      // grant was read from the records
	rest    time.Time // until then a token that is due is used as it is
	changed chan struct{}
	told    string         // the link that the log knows
	steps   map[string]int // times that more rights were asked for, by the scopes
}

// Wrap puts tokens on the requests to the server that base makes, and answers
// refusals: a 401, or a 403 for want of scopes, becomes a try with another token, or
// a *LoginError. Requests to another origin, and those with an Authorization of
// their own, go through as they are, as do refusals of a server that knows no OAuth.
// A request whose body cannot be had again (GetBody) is sent once.
func (c *Client) Wrap(base http.RoundTripper) http.RoundTripper {
	return &transport{client: c, base: base}
}

// Changed is closed when a login was completed, or came to nothing: a request that
// failed with a LoginError is worth another try. For the next one, ask again.
// Logins that another process completed show when a request is tried.
func (c *Client) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

type transport struct {
	client *Client
	base   http.RoundTripper
}

// tries are what was tried for one request.
type tries struct{ nonce, refreshed, fresh bool }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if originOf(req.URL) != originOf(t.client.home) || req.Header.Get("Authorization") != "" {
		return t.base.RoundTrip(req)
	}
	g, err := t.client.current(req.Context())
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	var tried tries
	for n := 1; ; n++ {
		resp, err := t.send(req, g, n > 1)
		if err != nil {
			return nil, err
		}
		replayable := req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
		next, err := t.client.answer(req, resp, g, &tried)
		switch {
		case err != nil:
			resp.Body.Close()
			return nil, err
		case next == nil || n == maxTries || !replayable:
			return resp, nil
		}
		resp.Body.Close()
		g = next
	}
}

func (t *transport) send(req *http.Request, g *grant, again bool) (*http.Response, error) {
	out := req.Clone(req.Context())
	if again && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	if g.usable() {
		scheme := "Bearer "
		if g.Proof != nil {
			scheme = "DPoP "
			if err := g.Proof.prove(out, g.Access); err != nil {
				return nil, err
			}
		}
		out.Header.Set("Authorization", scheme+g.Access)
	}
	return t.base.RoundTrip(out)
}

// current is the token to send, refreshed if it is due; nil without one.
func (c *Client) current(ctx context.Context) (*grant, error) {
	c.mu.Lock()
	g, known, resting := c.grant, c.known, time.Now().Before(c.rest)
	c.mu.Unlock()
	if known && (!g.due() || resting && g.usable()) {
		return g, nil
	}
	return c.alone(ctx, func(ctx context.Context) (*grant, error) {
		g, err := c.reread(ctx)
		if err != nil || !g.due() {
			return g, wrap("read", err)
		}
		fresh, err := c.renew(ctx, g)
		if err == nil {
			return fresh, nil
		}
		c.mu.Lock()
		c.rest = time.Now().Add(refreshRest)
		c.mu.Unlock()
		c.log.Warn("mcp_login_not_renewed", "issuer", g.Client.Issuer, "err", err)
		if g.usable() {
			return g, nil
		}
		return nil, wrap("renew", fmt.Errorf("the login at %s cannot be renewed: %w", g.Client.Issuer, err))
	})
}

// renew gets the next token of a grant without a person. nil: it takes one.
func (c *Client) renew(ctx context.Context, g *grant) (*grant, error) {
	switch {
	case c.cfg.Grant == grantMachine:
		return c.machine(ctx, *g)
	case g.Refresh != "":
		return c.refresh(ctx, g)
	case g.usable():
		return g, nil
	}
	return nil, nil
}

// answer says what follows from a response: nil, nil, it stands; a token to try
// with; or a *LoginError. The response's body can be read after it.
func (c *Client) answer(req *http.Request, resp *http.Response, g *grant, tried *tries) (*grant, error) {
	news := g.usable() && g.Proof != nil && g.Proof.learn(req.URL, resp.Header)
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return nil, nil
	}
	ch := challengeOf(resp.Header)
	if resp.StatusCode == http.StatusForbidden && ch.code != "insufficient_scope" {
		return nil, nil
	}
	if err := buffer(resp); err != nil {
		return nil, err
	}
	if ch.code == needsNonce && news && !tried.nonce {
		tried.nonce = true
		return g, nil
	}
	next, err := c.alone(req.Context(), func(ctx context.Context) (*grant, error) {
		now, err := c.reread(ctx)
		if err != nil {
			return nil, err
		}
		if now.usable() && (!g.usable() || now.Access != g.Access) {
			return now, nil // it came while the request was under way
		}
		if resp.StatusCode == http.StatusForbidden {
			return c.stepUp(ctx, ch, now)
		}
		return c.login(ctx, ch, now, tried)
	})
	switch {
	case req.Context().Err() != nil:
		return nil, req.Context().Err()
	case errors.Is(err, errNoOAuth):
		return nil, nil
	}
	return next, asLogin(resp.StatusCode, err)
}

// login answers a 401.
func (c *Client) login(ctx context.Context, ch challenge, now *grant, tried *tries) (*grant, error) {
	if now == nil && c.cfg.Grant == grantCode {
		if open, err := c.openLink(ctx, c.scopes(nil, ch, nil)); open != nil || err != nil {
			return nil, c.wanted(open, err)
		}
	}
	place, now, err := c.place(ctx, ch, now)
	if err != nil {
		return nil, err
	}
	if c.cfg.Grant == grantMachine {
		if tried.fresh {
			return nil, fmt.Errorf("the server refuses the token that %s gave for it", place.issuer.Issuer)
		}
		tried.fresh = true
		return c.enter(ctx, place, c.scopes(now, ch, place))
	}
	if now != nil && now.Refresh != "" && !tried.refreshed {
		tried.refreshed = true
		fresh, err := c.refresh(ctx, now)
		if err != nil {
			return nil, fmt.Errorf("the login at %s cannot be renewed: %w", now.Client.Issuer, err)
		}
		if fresh.usable() {
			return fresh, nil
		}
	}
	open, err := c.newLink(ctx, place, c.scopes(now, ch, place), http.StatusUnauthorized)
	return nil, c.wanted(open, err)
}

// stepUp answers a 403 for want of scopes. Scopes that were asked for already are
// not asked for again: the server would refuse again (MCP basic/authorization,
// "Step-Up Authorization Flow").
func (c *Client) stepUp(ctx context.Context, ch challenge, now *grant) (*grant, error) {
	if now == nil || len(ch.scopes) == 0 || covers(now.Asked, ch.scopes) {
		return nil, nil
	}
	scopes := c.scopes(now, ch, nil)
	if c.cfg.Grant == grantCode {
		if open, err := c.openLink(ctx, scopes); open != nil || err != nil {
			return nil, c.wanted(open, err)
		}
	}
	key := strings.Join(slices.Sorted(slices.Values(scopes)), " ")
	c.mu.Lock()
	often := c.steps[key] >= maxSteps || len(c.steps) > maxScopes
	c.steps[key]++
	c.mu.Unlock()
	if often {
		return nil, nil
	}
	place, now, err := c.place(ctx, ch, now)
	if err != nil {
		return nil, err
	}
	scopes = c.scopes(now, ch, place)
	if c.cfg.Grant == grantMachine {
		return c.enter(ctx, place, scopes)
	}
	open, err := c.newLink(ctx, place, scopes, http.StatusForbidden)
	return nil, c.wanted(open, err)
}

// place finds out who gives tokens now. A grant of somebody else is dropped.
func (c *Client) place(ctx context.Context, ch challenge, now *grant) (*found, *grant, error) {
	prefer := ""
	if now != nil {
		prefer = now.Client.Issuer
	}
	place, err := c.discover(ctx, ch, prefer)
	if err != nil || now == nil || now.Client.Issuer == place.issuer.Issuer {
		return place, now, err
	}
	c.log.Info("mcp_login_moved", "issuer", place.issuer.Issuer, "before", now.Client.Issuer)
	return place, nil, c.drop(ctx, now)
}

// enter logs in as the gateway itself.
func (c *Client) enter(ctx context.Context, place *found, scopes []string) (*grant, error) {
	id, err := c.identify(ctx, &place.issuer)
	if err != nil {
		return nil, err
	}
	g, err := c.machine(ctx, grant{Client: id, TokenURL: place.issuer.TokenEndpoint, Resource: place.resource, Asked: scopes})
	if err != nil {
		return nil, fmt.Errorf("the authorization server %s gives no token: %w", tidy(place.issuer.Issuer), err)
	}
	return g, nil
}

// scopes are what to ask for (MCP basic/authorization, "Scope Selection
// Strategy"): what the config says, else the challenge, else the server's metadata;
// and what the present grant was asked for.
func (c *Client) scopes(now *grant, ch challenge, place *found) []string {
	var list []string
	if now != nil {
		list = append(list, now.Asked...)
	}
	list = append(list, c.cfg.Scopes...)
	list = append(list, ch.scopes...)
	if place != nil && len(c.cfg.Scopes)+len(ch.scopes) == 0 {
		list = append(list, place.scopes...)
	}
	if place != nil && c.cfg.Grant == grantCode && slices.Contains(place.issuer.ScopesSupported, offline) {
		list = append(list, offline)
	}
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

func covers(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// alone does work beside no other of this client. It goes on when ctx ends, for a
// refresh token that was sent is spent; the desk waits a moment for it.
func (c *Client) alone(ctx context.Context, work func(context.Context) (*grant, error)) (*grant, error) {
	type result struct {
		grant *grant
		err   error
	}
	select {
	case c.flow <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	done := make(chan result, 1)
	begun := c.desk.begin(func() {
		defer func() { <-c.flow }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flowWithin)
		defer cancel()
		over := make(chan struct{})
		defer close(over)
		go func() {
			select {
			case <-c.desk.late:
				cancel()
			case <-over:
			}
		}()
		g, err := work(ctx)
		done <- result{g, err}
	})
	if !begun {
		<-c.flow
		return nil, ports.Errorf(ports.KindUnavailable, "oauth", "the gateway stops")
	}
	select {
	case r := <-done:
		return r.grant, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// asLogin makes of whatever keeps a server's refusal from being answered a
// LoginError without a link: the server ran nothing, and wants a login still.
func asLogin(status int, err error) error {
	var login *LoginError
	if err == nil || errors.As(err, &login) {
		return err
	}
	return &LoginError{Status: status, Reason: "the server wants a login, but none can be offered: " + err.Error(), Err: err}
}

// buffer takes the body of a refusal off the wire.
func buffer(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return err
}

// resource is the server as tokens name it (RFC 8707), where the server does not
// say so itself: without a query, which may hold a key.
func (c *Client) resource() string {
	return originOf(c.home) + strings.TrimSuffix(c.home.EscapedPath(), "/")
}
