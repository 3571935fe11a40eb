package oauth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/ports"
)

const (
	baseAt     = "http://127.0.0.1:7420"
	callbackAt = baseAt + callbackPath
	sealKey    = ports.Secret("a key of the tests, long enough")
)

// keeper is an MCP server that wants a token: what it does after that is not MCP,
// it answers with what it was sent.
type keeper struct {
	*httptest.Server
	mu       sync.Mutex
	as       *grantor
	doc      map[string]any // its metadata; nil: none
	docAt    string
	pointer  bool // its challenge says where its metadata is
	scope    string
	need     []string // scopes that a request needs, else 403
	nonce    string
	requests int
	tokens   map[string]bool // every token it saw
	bodies   []string
	proofs   map[string]bool // jti
}

func newKeeper(t testing.TB, as *grantor) *keeper {
	k := &keeper{as: as, docAt: "/.well-known/oauth-protected-resource/mcp", pointer: true, tokens: map[string]bool{}, proofs: map[string]bool{}}
	k.Server = httptest.NewServer(http.HandlerFunc(k.serve))
	t.Cleanup(k.Close)
	if as != nil {
		k.doc = map[string]any{"resource": k.URL + "/mcp", "authorization_servers": []string{as.URL}}
		as.with(func() { as.resource = k.URL + "/mcp" })
	}
	return k
}

func (k *keeper) serve(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case r.URL.Path == k.docAt && k.doc != nil:
		reply(w, http.StatusOK, k.doc)
		return
	case r.URL.Path != "/mcp":
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	k.requests++
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	k.tokens[token] = true
	challenge := func(params ...string) {
		if k.pointer {
			params = append(params, fmt.Sprintf("resource_metadata=%q", k.URL+k.docAt))
		}
		if scheme != "DPoP" {
			scheme = "Bearer"
		}
		w.Header().Set("WWW-Authenticate", scheme+" "+strings.Join(params, ", "))
	}
	scopes, jkt, ok := k.as.good(token)
	if ok && jkt != "" && scheme == "DPoP" {
		if k.proofs[r.Header.Get("DPoP")] {
			ok = false // a proof is good once
		}
		k.proofs[r.Header.Get("DPoP")] = true
		thumb, why := checkProof(r.Header.Get("DPoP"), r.Method, k.URL+"/mcp", token, k.nonce)
		if why != "" {
			w.Header().Set("DPoP-Nonce", k.nonce)
			challenge(`error="` + why + `"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		ok = ok && thumb == jkt
	} else if ok && (jkt != "" || scheme != "Bearer") {
		ok = false
	}
	if !ok {
		params := []string{`error="invalid_token"`}
		if k.scope != "" {
			params = append(params, fmt.Sprintf("scope=%q", k.scope))
		}
		challenge(params...)
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return
	}
	if !covers(scopes, k.need) {
		challenge(`error="insufficient_scope"`, fmt.Sprintf("scope=%q", strings.Join(k.need, " ")))
		reply(w, http.StatusForbidden, map[string]string{"error": "insufficient_scope"})
		return
	}
	k.bodies = append(k.bodies, string(body))
	w.Write(body)
}

func (k *keeper) with(change func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change()
}

func (k *keeper) heard() (requests int, bodies []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.requests, slices.Clone(k.bodies)
}

// node is one gateway's desk with the client of one server.
type node struct {
	t      testing.TB
	desk   *Desk
	client *Client
	http   *http.Client
	url    string
	log    *lines
}

// lines is a log that tests read.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}

func newNode(t testing.TB, k *keeper, kept ports.Records, cfg Config) *node {
	return newNodeWith(t, k, cfg, DeskConfig{Records: kept, Key: sealKey, Base: baseAt})
}

func newNodeWith(t testing.TB, k *keeper, cfg Config, at DeskConfig) *node {
	t.Helper()
	n := &node{t: t, log: new(lines), url: k.URL + "/mcp"}
	at.Log = slog.New(slog.NewTextHandler(n.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if n.desk, err = NewDesk(at); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.desk.Close)
	if n.client, err = n.desk.Client(cfg, Server{Scope: "mcp/k", URL: ports.Secret(n.url)}); err != nil {
		t.Fatal(err)
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	n.http = &http.Client{Transport: n.client.Wrap(base)}
	return n
}

// say sends one request, and gives the status and body of its answer.
func (n *node) say(words string) (int, string, error) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodPost, n.url, strings.NewReader(words))
	if err != nil {
		n.t.Fatal(err)
	}
	resp, err := n.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.StatusCode, string(body), nil
}

// works fails the test unless a request is answered.
func (n *node) works() {
	n.t.Helper()
	if status, body, err := n.say("hello"); err != nil || status != http.StatusOK || body != "hello" {
		n.t.Fatalf("got %d %q, %v; want an answer\n%s", status, body, err, n.log.text())
	}
}

// wanted sends a request that has to want a login.
func (n *node) wanted() *LoginError {
	n.t.Helper()
	status, body, err := n.say("hello")
	var login *LoginError
	if !errors.As(err, &login) {
		n.t.Fatalf("got %d %q, %v; want a LoginError\n%s", status, body, err, n.log.text())
	}
	return login
}

// link is the link of a login that is wanted.
func (n *node) link() string {
	n.t.Helper()
	login := n.wanted()
	if login.URL == "" {
		n.t.Fatalf("there is no link: %v", login)
	}
	return login.URL
}

// visit opens a link as a browser does, and gives where it is sent back to.
func visit(t testing.TB, link string) string {
	t.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("the link is answered with %d: %s", resp.StatusCode, body)
	}
	return resp.Header.Get("Location")
}

// comeBack is the browser that was sent back.
func (n *node) comeBack(to string) (int, string) {
	n.t.Helper()
	if !strings.HasPrefix(to, callbackAt+"?") {
		n.t.Fatalf("the browser was sent to %s", to)
	}
	w := httptest.NewRecorder()
	n.desk.Handler().ServeHTTP(w, httptest.NewRequestWithContext(n.t.Context(), http.MethodGet, to, nil))
	return w.Code, w.Body.String()
}

// login opens the link that is wanted and comes back from it.
func (n *node) login() {
	n.t.Helper()
	if status, text := n.comeBack(visit(n.t, n.link())); status != http.StatusOK {
		n.t.Fatalf("the callback answers %d: %s\n%s", status, text, n.log.text())
	}
}

// verify checks a JWS as its receiver does.
func verify(text string, key crypto.PublicKey, typ string) (map[string]any, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%d parts", len(parts))
	}
	head, claims := map[string]any{}, map[string]any{}
	for i, into := range []*map[string]any{&head, &claims} {
		part, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(part, into); err != nil {
			return nil, err
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || head["typ"] != typ {
		return nil, fmt.Errorf("%v, typ %v", err, head["typ"])
	}
	if key == nil {
		if key, err = keyOf(head["jwk"]); err != nil {
			return nil, err
		}
	}
	signed := []byte(parts[0] + "." + parts[1])
	sum := sha256.Sum256(signed)
	good := false
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		good = head["alg"] == "ES256" && len(signature) == 64 && ecdsa.Verify(k, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	case *rsa.PublicKey:
		good = head["alg"] == "RS256" && rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], signature) == nil
	case ed25519.PublicKey:
		good = head["alg"] == "EdDSA" && ed25519.Verify(k, signed, signature)
	}
	if !good {
		return nil, fmt.Errorf("the signature is wrong")
	}
	return claims, nil
}

// keyOf reads the public key of a proof, and refuses a private one.
func keyOf(jwk any) (crypto.PublicKey, error) {
	members, ok := jwk.(map[string]any)
	if !ok || members["d"] != nil || members["kty"] != "EC" || members["crv"] != "P-256" {
		return nil, fmt.Errorf("no public key: %v", jwk)
	}
	point := []byte{4} // uncompressed
	for _, name := range []string{"x", "y"} {
		b, err := base64.RawURLEncoding.DecodeString(fmt.Sprint(members[name]))
		if err != nil {
			return nil, err
		}
		point = append(point, b...)
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
}

// checkProof checks a DPoP proof (RFC 9449, 4.3) and gives the thumbprint of its
// key, or the error to answer with.
func checkProof(proof, method, at, token, nonce string) (jkt, why string) {
	claims, err := verify(proof, nil, "dpop+jwt")
	if err != nil || claims["htm"] != method || claims["htu"] != at || claims["jti"] == "" {
		return "", "invalid_dpop_proof"
	}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		if claims["ath"] != base64url(sum[:]) {
			return "", "invalid_dpop_proof"
		}
	}
	if nonce != "" && claims["nonce"] != nonce {
		return "", needsNonce
	}
	head, _ := base64.RawURLEncoding.DecodeString(strings.Split(proof, ".")[0])
	var h struct {
		JWK struct{ Crv, Kty, X, Y string }
	}
	if json.Unmarshal(head, &h) != nil {
		return "", "invalid_dpop_proof"
	}
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":%q,"kty":%q,"x":%q,"y":%q}`, h.JWK.Crv, h.JWK.Kty, h.JWK.X, h.JWK.Y)) // RFC 7638, 3
	return base64url(sum[:]), ""
}
