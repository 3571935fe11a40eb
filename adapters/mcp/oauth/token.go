package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// longestLife bounds what a server says of a token's life.
const longestLife = 365 * 24 * time.Hour

// tokens are the answer of a token endpoint (RFC 6749, 5.1).
type tokens struct {
	Access  string          `json:"access_token"`
	Type    string          `json:"token_type"`
	Refresh string          `json:"refresh_token"`
	Life    json.RawMessage `json:"expires_in"` // seconds, as a number or, of some, as text
	Scope   string          `json:"scope"`
}

// expiry is when the access token ends; zero if the answer does not say.
func (t tokens) expiry(now time.Time) time.Time {
	seconds, err := strconv.ParseFloat(strings.Trim(string(t.Life), `"`), 64)
	if err != nil || seconds <= 0 {
		return time.Time{}
	}
	return now.Add(min(time.Duration(min(seconds, longestLife.Seconds())*float64(time.Second)), longestLife))
}

// trade asks a token endpoint for tokens, signing in as id. form has the grant; of
// what else it takes, trade adds the client and the resource. proof may be nil.
func (c *Client) trade(ctx context.Context, endpoint string, id identity, resource string, form url.Values, proof *prover) (tokens, error) {
	form.Set("resource", resource)
	var answer tokens
	for again := false; ; again = true {
		req, err := c.tradeRequest(ctx, endpoint, id, form)
		if err != nil {
			return tokens{}, err
		}
		if proof != nil {
			if err := proof.prove(req, ""); err != nil {
				return tokens{}, err
			}
		}
		header, err := c.courier.do(req, &answer)
		news := proof != nil && header != nil && proof.learn(req.URL, header)
		if isAnswer(err, needsNonce) && news && !again { // RFC 9449, 8: nothing was spent
			continue
		}
		if err != nil {
			return tokens{}, c.scrubbed(err, form, id)
		}
		return answer, checkTokens(answer, proof != nil)
	}
}

func checkTokens(t tokens, bound bool) error {
	kind := strings.ToLower(t.Type)
	switch {
	case t.Access == "" || !httpguts.ValidHeaderFieldValue(t.Access) || strings.ContainsAny(t.Access, " \t"):
		return fmt.Errorf("it answers without a token that could be sent")
	case bound && kind != "dpop":
		return fmt.Errorf("it gave a token that is not bound to the gateway's key, and oauth.dpop is true")
	case !bound && kind != "bearer" && kind != "":
		return fmt.Errorf("it gave a token of the type %q, which nobody asked for", tidy(t.Type))
	}
	return nil
}

func (c *Client) tradeRequest(ctx context.Context, endpoint string, id identity, form url.Values) (*http.Request, error) {
	to, err := c.courier.allowed(endpoint)
	if err != nil {
		return nil, err
	}
	secret := id.Secret
	if id.Given {
		secret = c.cfg.ClientSecret.Reveal()
	}
	for _, key := range []string{"client_id", "client_secret", "client_assertion", "client_assertion_type"} {
		form.Del(key)
	}
	switch id.Method {
	case byBasic:
	case byKey:
		assertion, err := c.cfg.assertion(id.Issuer, time.Now())
		if err != nil {
			return nil, err
		}
		form.Set("client_assertion", assertion)
		form.Set("client_assertion_type", assertionType)
		form.Set("client_id", id.ID)
	case byPost:
		form.Set("client_id", id.ID)
		form.Set("client_secret", secret)
	default:
		form.Set("client_id", id.ID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if id.Method == byBasic {
		req.SetBasicAuth(url.QueryEscape(id.ID), url.QueryEscape(secret)) // RFC 6749, 2.3.1
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	return req, nil
}

// scrubbed takes out of an answer's words what was sent in secret: a server may
// quote it.
func (c *Client) scrubbed(err error, form url.Values, id identity) error {
	answer, ok := err.(*answerError)
	if !ok {
		return err
	}
	for _, secret := range []string{form.Get("code"), form.Get("code_verifier"), form.Get("refresh_token"), form.Get("client_assertion"), id.Secret, c.cfg.ClientSecret.Reveal()} {
		if secret != "" && strings.Contains(answer.words, secret) {
			answer.words = "(its words quote a secret)"
		}
		if secret != "" && strings.Contains(answer.code, secret) {
			answer.code = "(a secret)"
		}
	}
	return answer
}
