package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The ways to sign in at a token endpoint (OpenID Connect Core, 9).
const (
	byNone  = "none"
	byBasic = "client_secret_basic"
	byPost  = "client_secret_post"
	byKey   = "private_key_jwt"
)

const clientName = "Dragoman"

// identity is what an authorization server knows this client as. Of a client that
// the config names it holds no secret: that is the config's.
type identity struct {
	Issuer   string    `json:"issuer"`
	ID       string    `json:"id"`
	Secret   string    `json:"secret,omitempty"`
	Method   string    `json:"method"`
	Redirect string    `json:"redirect,omitempty"` // the callback that it was registered with
	Expires  time.Time `json:"expires,omitzero"`   // of the secret
	Given    bool      `json:"given,omitempty"`    // by the config
}

// identify is the client's identity at the issuer: the config's, else the
// document at an address (CIMD), else a registration (RFC 7591), which is kept.
func (c *Client) identify(ctx context.Context, as *issuer) (identity, error) {
	if c.cfg.ClientID != "" {
		return c.given(ctx, as)
	}
	redirect, err := c.desk.redirect()
	if err != nil {
		return identity{}, err
	}
	if document := c.documentURL(); document != "" && as.ClientIDMetadataDocumentSupported {
		return identity{Issuer: as.Issuer, ID: document, Method: byNone, Redirect: redirect}, nil
	}
	var kept identity
	version, err := c.desk.vault.read(ctx, c.identityName(as.Issuer), &kept)
	switch {
	case err != nil && !errors.Is(err, errUnreadable):
		return identity{}, err
	case err == nil && version > 0 && kept.Redirect == redirect && (kept.Expires.IsZero() || time.Now().Before(kept.Expires)):
		return kept, nil
	}
	if as.RegistrationEndpoint == "" {
		return identity{}, fmt.Errorf("the authorization server %s registers no clients: register one there, with the redirect URI %s, and set oauth.client_id", tidy(as.Issuer), redirect)
	}
	made, err := c.register(ctx, as, redirect)
	if err != nil {
		return identity{}, err
	}
	_, err = c.desk.vault.write(ctx, c.identityName(as.Issuer), version, time.Time{}, made)
	return made, err
}

func (c *Client) identityName(issuer string) name {
	sum := sha256.Sum256([]byte(issuer))
	return name{c.scope, kindClient, base64url(sum[:12])}
}

// given is the client of the config. It belongs to the issuer that it was first
// used with (MCP basic/authorization, "Authorization Server Binding"): a server
// that names another later cannot have the secret sent there.
func (c *Client) given(ctx context.Context, as *issuer) (identity, error) {
	id := identity{Issuer: as.Issuer, ID: c.cfg.ClientID, Given: true}
	id.Method = methodFor(as.TokenEndpointAuthMethodsSupported, c.cfg.ClientSecret != "", c.cfg.signer != nil)
	if c.cfg.Issuer != "" {
		return id, nil // discovery holds to it
	}
	at := name{c.scope, kindClient, "given " + c.cfg.ClientID}
	var bound identity
	version, err := c.desk.vault.read(ctx, at, &bound)
	switch {
	case err != nil && !errors.Is(err, errUnreadable):
		return id, err
	case err == nil && version > 0 && !sameIssuer(bound.Issuer, as.Issuer):
		return id, fmt.Errorf("oauth.client_id was used with %s, but the server now names %s (if that is right, set oauth.issuer to it, and client_id to the client there)",
			bound.Issuer, tidy(as.Issuer))
	case err == nil && version > 0:
		return id, nil
	}
	_, err = c.desk.vault.write(ctx, at, version, time.Time{}, id)
	return id, err
}

func methodFor(supported []string, secret, key bool) string {
	switch {
	case key:
		return byKey
	case !secret:
		return byNone
	case len(supported) == 0 || slices.Contains(supported, byBasic) || !slices.Contains(supported, byPost):
		return byBasic // the default of RFC 8414, 2
	}
	return byPost
}

// registered is the answer to a registration; only what is used of it.
type registered struct {
	ClientID     string      `json:"client_id"`
	ClientSecret string      `json:"client_secret"`
	Method       string      `json:"token_endpoint_auth_method"`
	Expires      json.Number `json:"client_secret_expires_at"`
}

// register makes the gateway known to the issuer. Of a server without metadata
// that knows no registration it is errNoOAuth: it has no login at all.
func (c *Client) register(ctx context.Context, as *issuer, redirect string) (identity, error) {
	method := byNone
	for _, m := range []string{byBasic, byPost, byNone} {
		if slices.Contains(as.TokenEndpointAuthMethodsSupported, m) {
			method = m
			break
		}
	}
	body, err := json.Marshal(c.desk.describe(redirect, method))
	if err != nil {
		return identity{}, err
	}
	to, err := c.courier.allowed(as.RegistrationEndpoint)
	if err != nil {
		return identity{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return identity{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	var answer registered
	_, err = c.courier.do(req, &answer)
	var refused *answerError
	switch {
	case err != nil && as.Legacy && (!errors.As(err, &refused) || refused.code == ""):
		return identity{}, errNoOAuth
	case err != nil:
		return identity{}, fmt.Errorf("the authorization server %s does not register the gateway: %w (if it wants clients to be registered by hand, do so with the redirect URI %s, and set oauth.client_id)",
			tidy(as.Issuer), err, redirect)
	case answer.ClientID == "":
		return identity{}, fmt.Errorf("the authorization server %s answers to the registration without a client_id", tidy(as.Issuer))
	}
	made := identity{Issuer: as.Issuer, ID: answer.ClientID, Secret: answer.ClientSecret, Redirect: redirect, Method: answer.Method}
	if !slices.Contains([]string{byNone, byBasic, byPost}, made.Method) {
		made.Method = methodFor(as.TokenEndpointAuthMethodsSupported, made.Secret != "", false)
	}
	if made.Secret == "" {
		made.Method = byNone
	}
	if at, err := answer.Expires.Int64(); err == nil && at > 0 {
		made.Expires = time.Unix(at, 0)
	}
	return made, nil
}

// forget drops a registration that the issuer no longer knows.
func (c *Client) forget(ctx context.Context, id identity) error {
	if id.Given {
		return nil
	}
	var kept identity
	at := c.identityName(id.Issuer)
	version, err := c.desk.vault.read(ctx, at, &kept)
	if version == 0 || err == nil && kept.ID != id.ID {
		return err
	}
	return c.desk.vault.remove(ctx, at, version)
}

// documentURL is the address of the document that describes the client, "" without one.
func (c *Client) documentURL() string {
	if c.cfg.ClientMetadataURL != "" {
		return c.cfg.ClientMetadataURL
	}
	return c.desk.documentURL()
}

// describe is the client as authorization servers are told of it.
func (d *Desk) describe(redirect, method string) oauthex.ClientRegistrationMetadata {
	kind := "web"
	if u, err := url.Parse(redirect); err == nil && onThisMachine(u.Hostname()) {
		kind = "native"
	}
	return oauthex.ClientRegistrationMetadata{ClientName: clientName, RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: method,
		GrantTypes: []string{grantCode, "refresh_token"}, ResponseTypes: []string{"code"}, ApplicationType: kind}
}
