package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	headerProof = "DPoP"
	headerNonce = "DPoP-Nonce"
	needsNonce  = "use_dpop_nonce"
)

// prover makes the proofs that a bound token needs (RFC 9449). One key for each
// login. Safe for many goroutines.
type prover struct {
	key *ecdsa.PrivateKey
	jwk map[string]any

	mu     sync.Mutex
	nonces map[string]string // by origin; the server's latest
}

func newProver() (*prover, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return proverOf(key)
}

func proverOf(key *ecdsa.PrivateKey) (*prover, error) {
	public, err := key.PublicKey.ECDH()
	if err != nil {
		return nil, err
	}
	point := public.Bytes() // 4, x, y
	return &prover{key: key, nonces: map[string]string{},
		jwk: map[string]any{"kty": "EC", "crv": "P-256", "x": base64url(point[1:33]), "y": base64url(point[33:])}}, nil
}

// MarshalJSON is for sealed records only: it tells the private key.
func (p *prover) MarshalJSON() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(der)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *prover) UnmarshalJSON(text []byte) error {
	var der []byte
	if err := json.Unmarshal(text, &der); err != nil {
		return err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return fmt.Errorf("the stored key of proofs is a %T", parsed)
	}
	read, err := proverOf(key)
	if err != nil {
		return err
	}
	p.key, p.jwk, p.nonces = read.key, read.jwk, read.nonces
	return nil
}

// thumbprint names the key (RFC 7638); its members are in the order that json
// gives a map, which is the one that is wanted.
func (p *prover) thumbprint() string {
	text, _ := json.Marshal(p.jwk) // strings alone
	sum := sha256.Sum256(text)
	return base64url(sum[:])
}

// prove sets the proof of one request, bound to the token if there is one. A proof
// is good once: call it for each try.
func (p *prover) prove(req *http.Request, token string) error {
	claims := map[string]any{"jti": rand.Text(), "htm": req.Method, "htu": target(req.URL), "iat": time.Now().Unix()}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		claims["ath"] = base64url(sum[:])
	}
	p.mu.Lock()
	if nonce := p.nonces[originOf(req.URL)]; nonce != "" {
		claims["nonce"] = nonce
	}
	p.mu.Unlock()
	proof, err := sign(p.key, map[string]any{"typ": "dpop+jwt", "alg": algES256, "jwk": p.jwk}, claims)
	if err != nil {
		return err
	}
	req.Header.Set(headerProof, proof)
	return nil
}

// learn keeps the nonce that an answer brings for the next proof (RFC 9449, 8.2),
// and reports whether it is news.
func (p *prover) learn(at *url.URL, h http.Header) bool {
	nonce := h.Get(headerNonce)
	if nonce == "" || len(nonce) > maxWords {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.nonces[originOf(at)] == nonce
	p.nonces[originOf(at)] = nonce
	return !known
}

// target is the address of a request as a proof names it: without query and fragment.
func target(u *url.URL) string {
	out := *u
	out.RawQuery, out.Fragment, out.RawFragment, out.User, out.ForceQuery = "", "", "", nil, false
	return out.String()
}

func originOf(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }
