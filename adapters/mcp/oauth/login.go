package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dragoman/ports"
)

const (
	// linkLife is how long a link is good, and linkLeft how much of it must be left
	// for it to be given out again.
	linkLife = 15 * time.Minute
	linkLeft = time.Minute
	offline  = "offline_access" // the scope for a refresh token, where it is wanted
)

// pending is a link that was given out: what its answer is checked against, and
// what the login then takes. It is a record, so that any process can finish it.
type pending struct {
	State    string    `json:"state"`
	Link     string    `json:"link"`
	Until    time.Time `json:"until"`
	Verifier string    `json:"verifier"`
	WantsIss bool      `json:"wants_iss"` // its issuer says that it names itself in answers
	Redirect string    `json:"redirect"`
	Status   int       `json:"status"`
	Grant    grant     `json:"grant"` // as it will be, without tokens
}

func (c *Client) linkName() name { return name{c.scope, kindLogin, "pending/" + c.whose()} }

// openLink is the link that is out already and asks for all of these scopes; nil
// without one.
func (c *Client) openLink(ctx context.Context, scopes []string) (*pending, error) {
	p := new(pending)
	version, err := c.desk.vault.read(ctx, c.linkName(), p)
	redirect, _ := c.desk.redirect()
	switch {
	case errors.Is(err, errUnreadable), err == nil && version == 0:
		return nil, nil
	case err != nil:
		return nil, err
	case time.Until(p.Until) < linkLeft || p.Redirect != redirect || !covers(p.Grant.Asked, scopes):
		return nil, nil
	}
	return p, nil
}

// newLink makes a link for a login at the place, and keeps what its answer needs.
func (c *Client) newLink(ctx context.Context, place *found, scopes []string, status int) (*pending, error) {
	if open, err := c.openLink(ctx, scopes); open != nil && open.Grant.Client.Issuer == place.issuer.Issuer || err != nil {
		return open, err
	}
	redirect, err := c.desk.redirect()
	if err != nil {
		return nil, err
	}
	id, err := c.identify(ctx, &place.issuer)
	if err != nil {
		return nil, err
	}
	p := &pending{State: c.mark() + "." + rand.Text(), Verifier: rand.Text() + rand.Text(), Until: time.Now().Add(linkLife), Redirect: redirect, Status: status,
		WantsIss: place.issuer.AuthorizationResponseIssParameterSupported,
		Grant:    grant{Client: id, TokenURL: place.issuer.TokenEndpoint, Resource: place.resource, Asked: scopes}}
	if c.cfg.DPoP {
		if p.Grant.Proof, err = newProver(); err != nil {
			return nil, err
		}
	}
	if p.Link, err = c.address(place.issuer.AuthorizationEndpoint, p); err != nil {
		return nil, err
	}
	version, err := c.desk.vault.read(ctx, c.linkName(), new(pending))
	if err != nil && !errors.Is(err, errUnreadable) {
		return nil, err
	}
	_, err = c.desk.vault.write(ctx, c.linkName(), version, p.Until, p)
	if ports.IsKind(err, ports.KindConflict) { // another process was first: one link for all
		if open, err := c.openLink(ctx, scopes); open != nil || err != nil {
			return open, err
		}
	}
	return p, err
}

// address is the authorization request (RFC 6749, 4.1.1; RFC 7636, 4.3; RFC 8707, 2).
func (c *Client) address(endpoint string, p *pending) (string, error) {
	u, err := c.courier.allowed(endpoint)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(p.Verifier))
	q := u.Query()
	for key, value := range map[string]string{"response_type": "code", "client_id": p.Grant.Client.ID, "redirect_uri": p.Redirect, "state": p.State,
		"code_challenge": base64url(sum[:]), "code_challenge_method": "S256", "resource": p.Grant.Resource} {
		q.Set(key, value)
	}
	if scopes := p.Grant.Asked; len(scopes) > 0 {
		q.Set("scope", strings.Join(scopes, " "))
		if covers(scopes, []string{offline}) {
			q.Set("prompt", "consent") // OpenID Connect Core, 11
		}
	}
	if p.Grant.Proof != nil {
		q.Set("dpop_jkt", p.Grant.Proof.thumbprint())
	}
	u.RawQuery, u.Fragment = q.Encode(), ""
	return u.String(), nil
}

// wanted is the LoginError of a link, which the log tells once.
func (c *Client) wanted(open *pending, err error) error {
	if err != nil {
		return err
	}
	e := &LoginError{URL: open.Link, Status: open.Status, Reason: "the server wants a login: an admin has to open the link that the log and \"dragoman servers\" show"}
	if open.Status == http.StatusForbidden {
		e.Reason = fmt.Sprintf("the server wants a login with more rights (%s): an admin has to open the link that the log and \"dragoman servers\" show",
			tidy(strings.Join(open.Grant.Asked, " ")))
	}
	c.mu.Lock()
	news := c.told != open.Link
	c.told = open.Link
	c.mu.Unlock()
	if news {
		c.log.Warn("mcp_login_wanted", "url", open.Link, "until", open.Until.Format(time.RFC3339), "issuer", open.Grant.Client.Issuer)
	}
	return e
}

// mark says in a state which server it is of, without saying its name.
func (c *Client) mark() string {
	sum := sha256.Sum256([]byte(c.scope))
	return base64url(sum[:9])
}

// take uses up the link with this state. nil: it is no longer good. Of two that
// come with the same state one gets it.
func (c *Client) take(ctx context.Context, state string) (*pending, error) {
	p := new(pending)
	version, err := c.desk.vault.read(ctx, c.linkName(), p)
	switch {
	case errors.Is(err, errUnreadable), err == nil && version == 0:
		return nil, nil
	case err != nil:
		return nil, err
	case subtle.ConstantTimeCompare([]byte(p.State), []byte(state)) != 1 || time.Now().After(p.Until):
		return nil, nil
	}
	err = c.desk.vault.remove(ctx, c.linkName(), version)
	if ports.IsKind(err, ports.KindConflict) {
		return nil, nil
	}
	return p, err
}

// finish trades the code for tokens, and stores them.
func (c *Client) finish(ctx context.Context, p *pending, code string) error {
	_, err := c.alone(ctx, func(ctx context.Context) (*grant, error) {
		form := url.Values{"grant_type": {grantCode}, "code": {code}, "redirect_uri": {p.Redirect}, "code_verifier": {p.Verifier}}
		got, err := c.trade(ctx, p.Grant.TokenURL, p.Grant.Client, p.Grant.Resource, form, p.Grant.Proof)
		if isAnswer(err, "invalid_client") || isAnswer(err, "unauthorized_client") {
			return nil, errors.Join(err, c.forget(ctx, p.Grant.Client))
		}
		if err != nil {
			return nil, err
		}
		return nil, c.replace(ctx, p.Grant.with(got))
	})
	return err
}

// tell wakes who waits for a login.
func (c *Client) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}
