package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	maxScopes  = 64
	maxIssuers = 4 // that are tried
)

// challenge is what a refusal says of the login that is wanted (RFC 6750, 3 and
// RFC 9728, 5.1).
type challenge struct {
	metadata string // where the server describes itself
	code     string
	scopes   []string
}

func challengeOf(h http.Header) challenge {
	var c challenge
	for _, line := range h.Values("WWW-Authenticate") {
		parts, err := oauthex.ParseWWWAuthenticate([]string{line})
		if err != nil {
			continue // another scheme's, say
		}
		for _, p := range parts {
			if p.Scheme != "bearer" && p.Scheme != "dpop" {
				continue
			}
			set := func(to *string, name string) {
				if *to == "" {
					*to = p.Params[name]
				}
			}
			set(&c.metadata, "resource_metadata")
			set(&c.code, "error")
			if len(c.scopes) == 0 {
				c.scopes = sane(strings.Fields(p.Params["scope"]))
			}
		}
	}
	return c
}

// sane are the scopes that can be one (RFC 6749, 3.3), of which none is long or many.
func sane(scopes []string) []string {
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool {
		return s == "" || len(s) > maxWords || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r > '~' })
	})
	return scopes[:min(len(scopes), maxScopes)]
}

// issuer is the metadata of an authorization server (RFC 8414) and what RFC 9449,
// 5.1 adds to it.
type issuer struct {
	oauthex.AuthServerMeta
	ProofAlgorithms []string `json:"dpop_signing_alg_values_supported"`
	Legacy          bool     `json:"-"` // it has no metadata: the addresses are MCP 2025-03-26's defaults
}

// found is where a login for the server is to be had.
type found struct {
	issuer   issuer
	resource string   // what the token is for (RFC 8707)
	scopes   []string // that the server says it needs
}

// discover asks the server who gives tokens for it. errNoOAuth: nobody says that
// there is such a thing. prefer, if it is one of several, is taken.
func (c *Client) discover(ctx context.Context, ch challenge, prefer string) (*found, error) {
	meta, err := c.resourceMetadata(ctx, ch)
	if err != nil {
		return nil, err
	}
	if meta == nil {
		return c.legacy(ctx)
	}
	servers := slices.Clone(meta.AuthorizationServers)
	if len(servers) == 0 {
		return nil, fmt.Errorf("the server's metadata names no authorization server")
	}
	if c.cfg.Issuer != "" {
		if !slices.ContainsFunc(servers, func(s string) bool { return sameIssuer(s, c.cfg.Issuer) }) {
			return nil, fmt.Errorf("oauth.issuer is %s, but the server takes tokens of %s", c.cfg.Issuer, tidy(strings.Join(servers, ", ")))
		}
		servers, prefer = []string{c.cfg.Issuer}, c.cfg.Issuer
	}
	slices.SortStableFunc(servers, func(a, b string) int { return rank(b, prefer) - rank(a, prefer) })
	var errs []error
	for _, server := range servers[:min(len(servers), maxIssuers)] {
		as, err := c.issuerMetadata(ctx, server)
		if err == nil {
			return &found{issuer: *as, resource: meta.Resource, scopes: sane(meta.ScopesSupported)}, nil
		}
		errs = append(errs, fmt.Errorf("the authorization server %s: %w", tidy(server), err))
	}
	return nil, errors.Join(errs...)
}

func rank(server, prefer string) int {
	if prefer != "" && sameIssuer(server, prefer) {
		return 1
	}
	return 0
}

// resourceMetadata is what the server says of itself (RFC 9728): at the address
// that the challenge names, else at the well-known ones. nil: nothing.
func (c *Client) resourceMetadata(ctx context.Context, ch challenge) (*oauthex.ProtectedResourceMetadata, error) {
	wellKnown := func(path string) string {
		return (&url.URL{Scheme: c.home.Scheme, Host: c.home.Host, Path: "/.well-known/oauth-protected-resource" + path}).String()
	}
	places := []string{wellKnown("")}
	if path := strings.TrimSuffix(c.home.Path, "/"); path != "" {
		places = []string{wellKnown(path), wellKnown("")}
	}
	if ch.metadata != "" {
		places = append([]string{ch.metadata}, places...)
	}
	var unreached error
	for _, place := range places {
		meta := new(oauthex.ProtectedResourceMetadata)
		err := c.courier.document(ctx, place, meta)
		var refused *answerError
		switch {
		case err == nil && meta.Resource != "":
			return meta, c.checkResource(meta.Resource)
		case err == nil, errors.As(err, &refused) && refused.status < 500:
		case place == ch.metadata || ctx.Err() != nil:
			unreached = fmt.Errorf("the server's metadata cannot be read: %w", err)
		}
	}
	return nil, unreached
}

// checkResource refuses metadata of another resource: a token for it is not for
// this server (RFC 9728, 3.3). A resource that contains the server is one for it.
func (c *Client) checkResource(resource string) error {
	u, err := url.Parse(resource)
	if err == nil && originOf(u) == originOf(c.home) {
		path := strings.TrimSuffix(u.Path, "/")
		if c.home.Path == path || strings.HasPrefix(c.home.Path, path+"/") {
			return nil
		}
	}
	return fmt.Errorf("the server's metadata is of another resource, %s", tidy(resource))
}

// legacy is MCP 2025-03-26: the server's origin is its own authorization server,
// with metadata or with default addresses.
func (c *Client) legacy(ctx context.Context) (*found, error) {
	origin := originOf(c.home)
	as, err := c.issuerMetadata(ctx, origin)
	var refused *answerError
	switch {
	case err == nil:
	case errors.As(err, &refused) && refused.status < 500:
		as = &issuer{Legacy: true, AuthServerMeta: oauthex.AuthServerMeta{Issuer: origin, AuthorizationEndpoint: origin + "/authorize",
			TokenEndpoint: origin + "/token", RegistrationEndpoint: origin + "/register"}}
	default:
		return nil, fmt.Errorf("%w (%w)", errNoOAuth, err)
	}
	if c.cfg.Issuer != "" && !sameIssuer(c.cfg.Issuer, as.Issuer) {
		return nil, fmt.Errorf("oauth.issuer is %s, but the server names none", c.cfg.Issuer)
	}
	return &found{issuer: *as, resource: c.resource()}, nil
}

// issuerMetadata reads and checks an authorization server's metadata. If no
// document is there, the error is the *answerError of the last place.
func (c *Client) issuerMetadata(ctx context.Context, server string) (*issuer, error) {
	places, err := c.issuerPlaces(server)
	if err != nil {
		return nil, err
	}
	var absent, wrong error
	for _, place := range places {
		as := new(issuer)
		err := c.courier.document(ctx, place, as)
		var refused *answerError
		switch {
		case errors.As(err, &refused):
			absent = err
			continue
		case err == nil:
			err = c.checkIssuer(as, server)
		}
		if err == nil {
			return as, nil
		}
		if wrong == nil {
			wrong = err
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return nil, absent
}

// issuerPlaces are where the metadata may lie, in the order of MCP
// basic/authorization, "Authorization Server Metadata Discovery".
func (c *Client) issuerPlaces(server string) ([]string, error) {
	u, err := c.courier.allowed(server)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("its address has a query or fragment (RFC 8414, 2)")
	}
	at := func(path string) string { return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}).String() }
	path := strings.TrimSuffix(u.Path, "/")
	places := []string{at("/.well-known/oauth-authorization-server" + path), at("/.well-known/openid-configuration" + path)}
	if path != "" {
		places = append(places, at(path+"/.well-known/openid-configuration"))
	}
	return places, nil
}

// checkIssuer refuses metadata of another issuer (RFC 8414, 3.3), without PKCE,
// or with addresses that no login may go to.
func (c *Client) checkIssuer(as *issuer, server string) error {
	if !sameIssuer(as.Issuer, server) {
		return fmt.Errorf("its metadata is of another issuer, %s", tidy(as.Issuer))
	}
	needed := map[string]string{"token_endpoint": as.TokenEndpoint}
	if c.cfg.Grant == grantCode {
		needed["authorization_endpoint"] = as.AuthorizationEndpoint
		if !slices.Contains(as.CodeChallengeMethodsSupported, "S256") {
			return fmt.Errorf("it does not say that it supports PKCE with S256, which MCP requires")
		}
	}
	if as.RegistrationEndpoint != "" {
		needed["registration_endpoint"] = as.RegistrationEndpoint
	}
	for key, address := range needed {
		if _, err := c.courier.allowed(address); err != nil {
			return fmt.Errorf("its %s: %w", key, err)
		}
	}
	if c.cfg.DPoP && !slices.Contains(as.ProofAlgorithms, algES256) {
		return fmt.Errorf("it does not say that it supports DPoP with ES256, and oauth.dpop is true")
	}
	return nil
}

// sameIssuer lets the metadata of a server and the authorization server itself
// differ in a last slash, as many do. The iss of an answer may not.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }
