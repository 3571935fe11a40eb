package mcp

import (
	"fmt"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"dragoman/adapters/mcp/oauth"
	"dragoman/ports"
)

// longSegment is from how many bytes on a part of a URL's path may be a key:
// some hosted servers put it there.
const longSegment = 16

// ownHeaders are set by the transport, or would make net/http send a call twice
// when a connection breaks (Idempotency-Key).
func ownHeaders() []string {
	return []string{"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "Last-Event-Id",
		"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Idempotency-Key"}
}

func (c *Config) checkURL() error {
	if c.Transport == overStdio {
		if len(c.Headers) > 0 {
			return fmt.Errorf("headers are for a url, and there is a command (leave them out)")
		}
		return nil
	}
	u, err := url.Parse(c.URL.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf(`url is not right (must be an address like "https://example.org/mcp")`)
	}
	if u.Fragment != "" {
		return fmt.Errorf("url has a part behind # (leave it out: no server sees it)")
	}
	for name, value := range c.Headers {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return fmt.Errorf("headers: %q cannot be the name of a header", name)
		case !httpguts.ValidHeaderFieldValue(value.Reveal()):
			return fmt.Errorf("headers: the value of %s has characters that a header cannot have (a line break?)", name)
		case slices.Contains(ownHeaders(), textproto.CanonicalMIMEHeaderKey(name)):
			return fmt.Errorf("headers: %s is set by the gateway itself (leave it out)", name)
		}
	}
	return nil
}

func (c *Config) checkLogin() error {
	switch {
	case c.OAuth == nil:
		return nil
	case c.Transport == overStdio:
		return fmt.Errorf("oauth is for a url, and there is a command (leave it out)")
	case c.authorized():
		return fmt.Errorf("oauth and headers.Authorization are both given (keep one)")
	}
	if err := c.OAuth.Check(); err != nil {
		return fmt.Errorf("oauth: %w", err)
	}
	return nil
}

// authorized reports whether the config says itself what gets in.
func (c *Config) authorized() bool {
	return slices.ContainsFunc(headerNames(*c), func(name string) bool { return strings.EqualFold(name, "Authorization") })
}

// Logins is how to log in to the server, if it wants that. ok is false for one that
// has its token in headers, or is no url.
func (c Config) Logins() (how oauth.Config, ok bool) {
	if c.URL == "" || c.authorized() {
		return oauth.Config{}, false
	}
	if c.OAuth != nil {
		how = *c.OAuth
	}
	return how, true
}

// origin is where the server is, without what may be secret.
func (c Config) origin() string {
	u, err := url.Parse(c.URL.Reveal())
	if err != nil {
		return "the url"
	}
	return u.Scheme + "://" + u.Host
}

// urlSecrets are the parts of the URL that may be a key.
func (c Config) urlSecrets() []ports.Secret {
	u, err := url.Parse(c.URL.Reveal())
	if err != nil {
		return []ports.Secret{c.URL}
	}
	var parts []string
	if password, ok := u.User.Password(); ok {
		parts = append(parts, password, u.User.Username())
	}
	for _, values := range u.Query() {
		for _, value := range values {
			parts = append(parts, value, url.QueryEscape(value))
		}
	}
	for _, segment := range strings.Split(u.EscapedPath(), "/") {
		if len(segment) >= longSegment {
			parts = append(parts, segment)
		}
	}
	secrets := make([]ports.Secret, len(parts))
	for i, part := range parts {
		secrets[i] = ports.Secret(part)
	}
	return secrets
}
