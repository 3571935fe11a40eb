package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"dragoman/ports"
)

// The kinds of records, each in the scope of its server.
const (
	kindGrant  = "oauth_grant"  // key "grant/ADDRESS": the tokens
	kindClient = "oauth_client" // by issuer: what the gateway is known as there
	kindLogin  = "oauth_login"  // key "pending": the link that is open
	kindLease  = "oauth_lease"  // key "refresh": who spends the refresh token now
)

const (
	// flowWithin bounds what happens between two answers to a request: discovery
	// and a registration, or a refresh.
	flowWithin = 25 * time.Second
	// leaseFor outlives the refresh that it is for, also with clocks that differ.
	leaseFor = 2 * flowWithin
	// leaseLook is how often it is looked whether another process is done.
	leaseLook = 100 * time.Millisecond
	// aheadMost is how long before its end a token is refreshed; one of a short
	// life after four fifths of it.
	aheadMost = time.Minute
	// refreshRest is how long a token that could not be refreshed is used as it is.
	refreshRest = 15 * time.Second
	// saveRest is the pause between two tries to store what was paid for.
	saveRest = 250 * time.Millisecond
)

// grant is a login that was given: tokens, and all that refreshing them takes.
type grant struct {
	Client   identity  `json:"client"`
	TokenURL string    `json:"token_url"`
	Resource string    `json:"resource"`
	Access   string    `json:"access"`
	Refresh  string    `json:"refresh,omitempty"`
	Issued   time.Time `json:"issued"`
	Expiry   time.Time `json:"expiry,omitzero"`
	Asked    []string  `json:"asked,omitempty"` // scopes that were asked for
	Proof    *prover   `json:"proof,omitempty"` // of a bound token

	version int64 // of the record
}

// usable reports whether the token may be sent.
func (g *grant) usable() bool {
	return g != nil && g.Access != "" && (g.Expiry.IsZero() || time.Now().Before(g.Expiry))
}

// due reports whether it is time for the next token.
func (g *grant) due() bool {
	if g == nil || g.Expiry.IsZero() {
		return false
	}
	return time.Now().After(g.Expiry.Add(-min(aheadMost, g.Expiry.Sub(g.Issued)/5)))
}

// with is g with new tokens.
func (g grant) with(t tokens) *grant {
	now := time.Now()
	g.Access, g.Issued, g.Expiry = t.Access, now, t.expiry(now)
	if t.Refresh != "" { // else the old one goes on (RFC 6749, 6)
		g.Refresh = t.Refresh
	}
	return &g
}

func (c *Client) grantName() name { return name{c.scope, kindGrant, "grant/" + c.whose()} }

// whose tells one server from another that has its name in the config now: a
// login is for its resource alone (MCP basic/authorization, "Token Handling").
func (c *Client) whose() string {
	sum := sha256.Sum256([]byte(originOf(c.home) + c.home.EscapedPath()))
	return hex.EncodeToString(sum[:8])
}

// reread takes the grant as it is stored: another process may have changed it.
// nil: there is none that could be read.
func (c *Client) reread(ctx context.Context) (*grant, error) {
	g := new(grant)
	version, err := c.desk.vault.read(ctx, c.grantName(), g)
	switch {
	case errors.Is(err, errUnreadable):
		c.log.Warn("mcp_login_unreadable", "err", "the stored login cannot be read: "+err.Error()+"; a new one is wanted")
		g = nil
	case err != nil:
		return nil, err
	case version == 0:
		g = nil
	default:
		g.version = version
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g != nil && c.grant != nil && c.grant.version == g.version {
		g = c.grant // with the nonces that it learned, and what could not be stored
	}
	c.grant, c.known = g, true
	return g, nil
}

// replace stores a new login in the place of whatever is there.
func (c *Client) replace(ctx context.Context, g *grant) error {
	for {
		version, err := c.desk.vault.read(ctx, c.grantName(), new(grant))
		if err != nil && !errors.Is(err, errUnreadable) {
			return err
		}
		version, err = c.desk.vault.write(ctx, c.grantName(), version, time.Time{}, g)
		if ports.IsKind(err, ports.KindConflict) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return err
		}
		g.version = version
		c.keep(g)
		return nil
	}
}

// drop forgets the grant, unless another took its place.
func (c *Client) drop(ctx context.Context, g *grant) error {
	err := c.desk.vault.remove(ctx, c.grantName(), g.version)
	if err != nil && !ports.IsKind(err, ports.KindConflict) {
		return err
	}
	c.keep(nil)
	return nil
}

func (c *Client) keep(g *grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grant, c.known, c.rest = g, true, time.Time{}
}

// refresh spends the refresh token of old, if no other process did already. nil:
// it is worth nothing any more. The caller holds c.flow.
func (c *Client) refresh(ctx context.Context, old *grant) (*grant, error) {
	tick := time.NewTicker(leaseLook)
	defer tick.Stop()
	for {
		now, release, err := c.turn(ctx, old)
		if err != nil {
			return nil, err
		}
		if release != nil {
			defer release()
			return c.spend(ctx, old)
		}
		if now == nil || now.version != old.version {
			return now, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// turn takes the lease on the refresh token. release is nil if another process has
// it, or if the grant is not old any more.
func (c *Client) turn(ctx context.Context, old *grant) (now *grant, release func(), err error) {
	records := c.desk.vault.records
	lease, err := records.Put(ctx, ports.Record{Scope: c.scope, Kind: kindLease, Key: "refresh", Body: json.RawMessage("{}"), Expires: time.Now().Add(leaseFor)})
	held := err == nil
	if err != nil && !ports.IsKind(err, ports.KindConflict) {
		return nil, nil, err
	}
	giveBack := func() {
		if err := records.Delete(context.WithoutCancel(ctx), lease); err != nil {
			c.log.Debug("mcp_login_lease_kept", "err", err)
		}
	}
	now, err = c.reread(ctx) // under the lease: who had it before has stored what he got
	switch {
	case !held:
		return now, nil, err
	case err != nil || now == nil || now.version != old.version:
		giveBack()
		return now, nil, err
	}
	return now, giveBack, nil
}

// spend is one use of the refresh token, and the storing of what it gave.
func (c *Client) spend(ctx context.Context, old *grant) (*grant, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}}
	got, err := c.trade(ctx, old.TokenURL, old.Client, old.Resource, form, old.Proof)
	switch {
	case isAnswer(err, "invalid_grant"), isAnswer(err, "invalid_client"), isAnswer(err, "unauthorized_client"):
		c.log.Info("mcp_login_ended", "issuer", old.Client.Issuer, "err", err)
		if !isAnswer(err, "invalid_grant") {
			if err := c.forget(ctx, old.Client); err != nil {
				return nil, err
			}
		}
		return nil, c.drop(ctx, old)
	case err != nil:
		return nil, err
	}
	fresh := old.with(got)
	c.keep(fresh) // the old one is spent, whatever the store says
	tick := time.NewTicker(saveRest)
	defer tick.Stop()
	for {
		version, err := c.desk.vault.write(ctx, c.grantName(), old.version, time.Time{}, fresh)
		switch {
		case err == nil:
			saved := *fresh
			saved.version = version
			c.keep(&saved)
			return &saved, nil
		case ports.IsKind(err, ports.KindConflict): // a new login came between
			return c.reread(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.log.Error("mcp_login_unsaved", "err", err)
			return fresh, nil
		}
	}
}

// machine gets a token for the gateway itself (RFC 6749, 4.4).
func (c *Client) machine(ctx context.Context, from grant) (*grant, error) {
	if c.cfg.DPoP && from.Proof == nil {
		proof, err := newProver()
		if err != nil {
			return nil, err
		}
		from.Proof = proof
	}
	form := url.Values{"grant_type": {grantMachine}}
	if len(from.Asked) > 0 {
		form.Set("scope", strings.Join(from.Asked, " "))
	}
	got, err := c.trade(ctx, from.TokenURL, from.Client, from.Resource, form, from.Proof)
	if err != nil {
		return nil, err
	}
	fresh := from.with(got)
	return fresh, c.replace(ctx, fresh)
}
