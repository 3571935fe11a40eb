package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"time"
)

// The algorithms that sign here (RFC 7518, 3.1 and RFC 8037).
const (
	algES256 = "ES256"
	algRS256 = "RS256"
	algEdDSA = "EdDSA"
)

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	// assertionLife is short: an assertion is used at once, and clocks differ by less.
	assertionLife = 2 * time.Minute
	minRSABits    = 2048
)

// readKey reads a private key in PEM and says how it signs. algorithm may be "".
func readKey(text, algorithm string) (crypto.Signer, string, error) {
	block, _ := pem.Decode([]byte(strings.TrimSpace(text) + "\n"))
	if block == nil {
		return nil, "", fmt.Errorf("private_key is not in PEM (must begin with -----BEGIN PRIVATE KEY-----)")
	}
	key, err := parseKey(block.Bytes)
	if err != nil {
		return nil, "", fmt.Errorf("private_key cannot be read (must be an unencrypted EC, RSA or Ed25519 key)")
	}
	fits := ""
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		if k.Curve != elliptic.P256() {
			return nil, "", fmt.Errorf("private_key is on the curve %s (must be P-256)", k.Params().Name)
		}
		fits = algES256
	case *rsa.PrivateKey:
		if k.N.BitLen() < minRSABits {
			return nil, "", fmt.Errorf("private_key has %d bits (must have %d)", k.N.BitLen(), minRSABits)
		}
		fits = algRS256
	case ed25519.PrivateKey:
		fits = algEdDSA
	}
	if algorithm != "" && algorithm != fits {
		return nil, "", fmt.Errorf("algorithm is %q, but private_key is for %q", algorithm, fits)
	}
	return key, fits, nil
}

func parseKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return x509.ParsePKCS1PrivateKey(der)
}

// sign makes a JWS in compact form (RFC 7515, 3.1).
func sign(key crypto.Signer, header, claims map[string]any) (string, error) {
	head, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := base64url(head) + "." + base64url(body)
	sum := sha256.Sum256([]byte(text))
	var signature []byte
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		r, s, signErr := ecdsa.Sign(rand.Reader, k, sum[:])
		if err = signErr; err == nil { // 32 bytes each (RFC 7518, 3.4), not ASN.1
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, sum[:])
	case ed25519.PrivateKey:
		signature = ed25519.Sign(k, []byte(text))
	default:
		err = fmt.Errorf("no way to sign with a %T", key)
	}
	if err != nil {
		return "", err
	}
	return text + "." + base64url(signature), nil
}

// assertion is what a client with a key shows instead of a secret (RFC 7523, 2.2
// and 3). Its audience is the issuer, not the token endpoint: a hostile server
// that names the endpoint of another cannot pass the assertion on.
func (s settings) assertion(issuer string, now time.Time) (string, error) {
	header := map[string]any{"alg": s.Algorithm, "typ": "JWT"}
	if s.KeyID != "" {
		header["kid"] = s.KeyID
	}
	return sign(s.signer, header, map[string]any{"iss": s.ClientID, "sub": s.ClientID, "aud": issuer, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix()})
}

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
