package oauth

import (
	"crypto"
	"fmt"
	"net/url"

	"dragoman/ports"
)

// The grants of Config.Grant.
const (
	grantCode    = "authorization_code"
	grantMachine = "client_credentials"
)

// Config is the oauth key of an MCP server. Everything is optional: the zero
// Config finds out all of it from the server.
type Config struct {
	Grant string `json:"grant,omitempty" default:"authorization_code" validate:"omitempty,oneof=authorization_code client_credentials" doc:"authorization_code: an admin logs in once; client_credentials: the gateway logs in by itself, with client_id and a secret or key"`
	// Issuer binds the client id to the authorization server that gave it.
	Issuer       string       `json:"issuer,omitempty" validate:"omitempty,http_url" doc:"Authorization server that gave client_id; absent: the first that the server names"`
	ClientID     string       `json:"client_id,omitempty" validate:"required_with=ClientSecret,required_with=PrivateKey,required_if=Grant client_credentials" doc:"Client id that you registered; absent: the gateway registers itself"`
	ClientSecret ports.Secret `json:"client_secret,omitempty" doc:"Its secret, if it has one"`
	PrivateKey   ports.Secret `json:"private_key,omitempty" validate:"excluded_with=ClientSecret" doc:"Key in PEM that signs in instead of a secret (private_key_jwt), like ${file:client.pem}"`
	Algorithm    string       `json:"algorithm,omitempty" validate:"omitempty,excluded_without=PrivateKey,oneof=ES256 RS256 EdDSA" doc:"How private_key signs; absent: as fits the key"`
	KeyID        string       `json:"key_id,omitempty" validate:"omitempty,excluded_without=PrivateKey,printascii" doc:"Id of private_key at the authorization server, if it wants one"`
	Scopes       []string     `json:"scopes,omitempty" validate:"dive,required,printascii" doc:"What to ask for; absent: what the server says that it needs"`
	// ClientMetadataURL is for a gateway that cannot be reached from outside.
	ClientMetadataURL string `json:"client_metadata_url,omitempty" validate:"omitempty,https_url" doc:"Where the document lies that describes this client; absent: /oauth/client.json below public_url"`
	DPoP              bool   `json:"dpop,omitempty" doc:"true: take only tokens that are bound to a key of the gateway"`
}

// Check says what is wrong between the keys of c, naming the key; nil if nothing is.
func (c Config) Check() error {
	_, err := c.complete()
	return err
}

// settings are a Config that was read.
type settings struct {
	Config
	signer crypto.Signer // of PrivateKey; nil without
}

func (c Config) complete() (settings, error) {
	s := settings{Config: c}
	if s.Grant == "" {
		s.Grant = grantCode
	}
	switch {
	case s.Grant != grantCode && s.Grant != grantMachine:
		return s, fmt.Errorf("grant is unknown (must be %q or %q)", grantCode, grantMachine)
	case s.ClientID == "" && (s.ClientSecret != "" || s.PrivateKey != ""):
		return s, fmt.Errorf("client_id is missing (client_secret and private_key are of a client that you registered)")
	case s.ClientSecret != "" && s.PrivateKey != "":
		return s, fmt.Errorf("client_secret and private_key are both given (keep one)")
	case s.Grant == grantMachine && (s.ClientID == "" || s.ClientSecret == "" && s.PrivateKey == ""):
		return s, fmt.Errorf("grant %q needs client_id, and client_secret or private_key", grantMachine)
	case s.PrivateKey == "" && (s.Algorithm != "" || s.KeyID != ""):
		return s, fmt.Errorf("algorithm and key_id are of a private_key, which is missing")
	}
	if u, err := url.Parse(s.ClientMetadataURL); err != nil || s.ClientMetadataURL != "" && (u.Scheme != "https" || u.Host == "" || u.Path == "" || u.Path == "/") {
		return s, fmt.Errorf(`client_metadata_url is not right (must be an https address with a path, as "https://example.org/client.json")`)
	}
	if s.PrivateKey == "" {
		return s, nil
	}
	var err error
	s.signer, s.Algorithm, err = readKey(s.PrivateKey.Reveal(), s.Algorithm)
	return s, err
}
