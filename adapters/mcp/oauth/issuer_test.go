package oauth

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// grantor is a strict authorization server: it refuses what a real one refuses,
// and revokes a family of tokens when a refresh token or code comes twice. Its
// fields are set before the first request, or under mu.
type grantor struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	resource string            // that it gives tokens for
	meta     map[string]any    // over its metadata; nil takes a key out
	at       []string          // where its metadata lies
	methods  []string          // at the token endpoint
	life     time.Duration     // of access tokens
	fixed    map[string]string // registered by hand: id → secret
	keys     map[string]crypto.PublicKey
	cimd     bool
	noIss    bool
	iss      string        // another one in its answers
	deny     string        // the error of its next answers
	nonce    string        // wanted in proofs
	slow     chan struct{} // the token endpoint waits for it, if set
	narrow   string        // scopes that are given, whatever is asked

	clients  map[string]fakeClient
	codes    map[string]*fakeCode
	families map[string]*family // by access and by refresh token
	spent    map[string]bool    // refresh tokens
	count    map[string]int     // of requests, by path, and of grants
	asked    []url.Values       // authorization requests
	sent     []url.Values       // token requests
}

type fakeClient struct {
	secret, method string
	redirects      []string
	kind           string
}

type fakeCode struct {
	client, redirect, challenge, resource, scope, jkt string
	family                                            *family
}

type family struct {
	access, refresh, client, scope, jkt string
	until                               time.Time
	dead                                bool
}

func newGrantor(t testing.TB) *grantor {
	g := &grantor{t: t, at: []string{"/.well-known/oauth-authorization-server"}, methods: []string{byBasic, byPost, byNone, byKey}, life: time.Hour,
		meta: map[string]any{}, fixed: map[string]string{}, keys: map[string]crypto.PublicKey{}, clients: map[string]fakeClient{}, codes: map[string]*fakeCode{},
		families: map[string]*family{}, spent: map[string]bool{}, count: map[string]int{}}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	return g
}

func (g *grantor) serve(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.count[r.URL.Path]++
	place := slices.Contains(g.at, r.URL.Path)
	slow := g.slow
	g.mu.Unlock()
	if r.URL.Path == "/token" && slow != nil {
		select {
		case <-slow:
		case <-r.Context().Done():
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case place:
		reply(w, http.StatusOK, g.metadata())
	case r.Method == http.MethodPost && r.URL.Path == "/register":
		g.register(w, r)
	case r.Method == http.MethodGet && r.URL.Path == "/authorize":
		g.authorize(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/token":
		g.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (g *grantor) metadata() map[string]any {
	m := map[string]any{"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token",
		"registration_endpoint": g.URL + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": g.methods, "authorization_response_iss_parameter_supported": !g.noIss,
		"client_id_metadata_document_supported": g.cimd, "dpop_signing_alg_values_supported": []string{"ES256"}}
	for key, value := range g.meta {
		m[key] = value
		if value == nil {
			delete(m, key)
		}
	}
	return m
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, code, words string) {
	status := http.StatusBadRequest
	if code == "invalid_client" {
		status = http.StatusUnauthorized
	}
	reply(w, status, map[string]string{"error": code, "error_description": words})
}

func (g *grantor) register(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
		Kind      string   `json:"application_type"`
		Grants    []string `json:"grant_types"`
	}
	if json.NewDecoder(r.Body).Decode(&ask) != nil || len(ask.Redirects) != 1 || !slices.Contains(g.methods, ask.Method) || !slices.Contains(ask.Grants, "refresh_token") {
		refuse(w, "invalid_client_metadata", "not like this")
		return
	}
	u, err := url.Parse(ask.Redirects[0])
	if local := err == nil && (u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost"); err != nil || ask.Kind != map[bool]string{true: "native", false: "web"}[local] {
		refuse(w, "invalid_redirect_uri", "not for an application of the type "+ask.Kind) // OpenID Connect Registration, 2
		return
	}
	c := fakeClient{method: ask.Method, redirects: ask.Redirects, kind: ask.Kind}
	id := "client-" + rand.Text()
	answer := map[string]any{"client_id": id, "token_endpoint_auth_method": c.method, "redirect_uris": c.redirects}
	if c.method != byNone {
		c.secret = "secret-" + rand.Text()
		answer["client_secret"], answer["client_secret_expires_at"] = c.secret, 0
	}
	g.clients[id] = c
	reply(w, http.StatusCreated, answer)
}

// client is a client by its id; one that is an address is believed, with the document unread.
func (g *grantor) client(id string) (fakeClient, bool) {
	if c, ok := g.clients[id]; ok {
		return c, true
	}
	if secret, ok := g.fixed[id]; ok {
		return fakeClient{secret: secret, redirects: []string{callbackAt}}, true
	}
	if g.cimd && strings.HasPrefix(id, "https://") {
		return fakeClient{method: byNone, redirects: []string{callbackAt}}, true
	}
	return fakeClient{}, false
}

func (g *grantor) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	g.asked = append(g.asked, q)
	c, ok := g.client(q.Get("client_id"))
	if !ok || !slices.Contains(c.redirects, q.Get("redirect_uri")) {
		http.Error(w, "unknown client or redirect_uri", http.StatusBadRequest) // and no redirect
		return
	}
	out := url.Values{"state": {q.Get("state")}}
	if g.iss != "" {
		out.Set("iss", g.iss)
	} else if !g.noIss {
		out.Set("iss", g.URL)
	}
	switch {
	case g.deny != "":
		out.Set("error", g.deny)
		out.Set("error_description", "<script>alert(1)</script>")
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		out.Set("error", "invalid_request")
	case q.Get("resource") != g.resource:
		out.Set("error", "invalid_target")
	default:
		code := "code-" + rand.Text()
		g.codes[code] = &fakeCode{client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"),
			resource: q.Get("resource"), scope: q.Get("scope"), jkt: q.Get("dpop_jkt")}
		out.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+out.Encode(), http.StatusFound)
}

func (g *grantor) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, "invalid_request", "no form")
		return
	}
	form := r.PostForm
	g.sent = append(g.sent, maps.Clone(form))
	id, ok := g.signedIn(r, form)
	if !ok {
		refuse(w, "invalid_client", "who are you?")
		return
	}
	jkt, why := "", ""
	if proof := r.Header.Get("DPoP"); proof != "" {
		if jkt, why = checkProof(proof, http.MethodPost, g.URL+"/token", "", g.nonce); why != "" {
			w.Header().Set("DPoP-Nonce", g.nonce)
			refuse(w, why, why)
			return
		}
	}
	if form.Get("resource") != g.resource {
		refuse(w, "invalid_target", "no tokens for "+form.Get("resource"))
		return
	}
	g.count[form.Get("grant_type")]++
	switch form.Get("grant_type") {
	case "authorization_code":
		g.fromCode(w, id, jkt, form)
	case "refresh_token":
		g.fromRefresh(w, id, jkt, form)
	case "client_credentials":
		g.give(w, &family{client: id, scope: form.Get("scope"), jkt: jkt}, false)
	default:
		refuse(w, "unsupported_grant_type", "")
	}
}

// signedIn checks the client by exactly one way.
func (g *grantor) signedIn(r *http.Request, form url.Values) (string, bool) {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
		c, ok := g.client(id)
		return id, ok && c.secret != "" && c.secret == secret && (c.method == "" || c.method == byBasic) && slices.Contains(g.methods, byBasic) && !form.Has("client_secret") && !form.Has("client_id")
	}
	id = form.Get("client_id")
	if key, ok := g.keys[id]; ok {
		claims, err := verify(form.Get("client_assertion"), key, "JWT")
		return id, err == nil && form.Get("client_assertion_type") == assertionType && claims["iss"] == id && claims["sub"] == id && claims["aud"] == g.URL &&
			claims["exp"].(float64) > float64(time.Now().Unix()) && claims["jti"] != ""
	}
	c, ok := g.client(id)
	if c.secret == "" {
		return id, ok && !form.Has("client_secret")
	}
	return id, ok && form.Get("client_secret") == c.secret && (c.method == "" || c.method == byPost) && slices.Contains(g.methods, byPost)
}

func (g *grantor) fromCode(w http.ResponseWriter, id, jkt string, form url.Values) {
	code, ok := g.codes[form.Get("code")]
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	switch {
	case !ok || code.client != id || code.redirect != form.Get("redirect_uri") || code.resource != form.Get("resource"):
		refuse(w, "invalid_grant", "the code is not for this")
	case code.family != nil: // twice: all that came of it is void (RFC 6749, 4.1.2)
		code.family.dead = true
		refuse(w, "invalid_grant", "the code was used")
	case base64url(sum[:]) != code.challenge:
		refuse(w, "invalid_grant", "wrong verifier "+form.Get("code_verifier"))
	case code.jkt != jkt:
		refuse(w, "invalid_dpop_proof", "another key")
	default:
		code.family = &family{client: id, scope: code.scope, jkt: jkt}
		g.give(w, code.family, true)
	}
}

func (g *grantor) fromRefresh(w http.ResponseWriter, id, jkt string, form url.Values) {
	token := form.Get("refresh_token")
	f, ok := g.families[token]
	switch {
	case !ok || f.client != id || f.dead || f.jkt != jkt:
		refuse(w, "invalid_grant", "no such refresh token: "+token)
	case g.spent[token]: // stolen, or a client that cannot count (OAuth 2.1, 4.3.1)
		f.dead = true
		g.count["reused"]++
		refuse(w, "invalid_grant", "the refresh token was used")
	default:
		g.spent[token] = true
		g.give(w, f, true)
	}
}

func (g *grantor) give(w http.ResponseWriter, f *family, refresh bool) {
	f.access, f.until = "access-"+rand.Text(), time.Now().Add(g.life)
	g.families[f.access] = f
	if g.narrow != "" {
		f.scope = g.narrow
	}
	answer := map[string]any{"access_token": f.access, "token_type": "Bearer", "expires_in": g.life.Seconds(), "scope": f.scope}
	if f.jkt != "" {
		answer["token_type"] = "DPoP"
	}
	if refresh {
		f.refresh = "refresh-" + rand.Text()
		g.families[f.refresh] = f
		answer["refresh_token"] = f.refresh
	}
	reply(w, http.StatusOK, answer)
}

// good reports whether a token may be used now, with which scopes and key.
func (g *grantor) good(token string) (scopes []string, jkt string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.families[token]
	if f == nil || f.dead || f.access != token || time.Now().After(f.until) {
		return nil, "", false
	}
	return strings.Fields(f.scope), f.jkt, true
}

// revoke ends every access token; refresh tokens go on.
func (g *grantor) revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.families {
		f.until = time.Time{}
	}
}

func (g *grantor) counted(what string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count[what]
}

func (g *grantor) with(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

func (g *grantor) lastAsked() url.Values {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.asked) == 0 {
		g.t.Fatal("nobody asked for a login")
	}
	return g.asked[len(g.asked)-1]
}

func (g *grantor) String() string { return fmt.Sprintf("the authorization server at %s", g.URL) }
