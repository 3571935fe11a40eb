package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// askWithin is how long one request of a login may take.
	askWithin = 10 * time.Second
	// maxDocument is how much is read of an answer, in bytes.
	maxDocument = 256 << 10
	// maxRedirects is how often a document may be said to be elsewhere.
	maxRedirects = 5
)

// courier makes the requests of a login. Where they go is said by others, so
// that it looks at every address before it goes there:
//
//   - https, or plain http to the server's own host (its URL in the config says
//     so already) or, for a server on this machine, to this machine;
//   - no address of a private network or of this machine, unless the server
//     itself is at one.
//
// Only documents follow redirections; what carries a secret does not.
type courier struct {
	home *url.URL // the MCP server
	http *http.Client
}

func newCourier(home *url.URL) *courier {
	c := &courier{home: home}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true // a login is rare
	t.TLSHandshakeTimeout = askWithin
	t.MaxResponseHeaderBytes = 64 << 10
	t.DialContext = c.dial
	c.http = &http.Client{Transport: t, Timeout: askWithin, CheckRedirect: c.redirect}
	return c
}

// allowed reads an address that a peer gave.
func (c *courier) allowed(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Opaque != "":
		return nil, fmt.Errorf("%q is no address", tidy(raw))
	case u.Scheme == "https":
	case u.Scheme == "http" && strings.EqualFold(u.Host, c.home.Host) && c.home.Scheme == "http":
	case u.Scheme == "http" && onThisMachine(u.Hostname()) && onThisMachine(c.home.Hostname()):
	default:
		return nil, fmt.Errorf("%s://%s is not https", tidy(u.Scheme), tidy(u.Host))
	}
	return u, nil
}

func (c *courier) redirect(req *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	_, err := c.allowed(req.URL.String())
	return err
}

// dial looks at the addresses that a name stands for, which the name's owner
// chooses. Through a proxy it sees the proxy's only, and the proxy decides.
func (c *courier) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: askWithin}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(host, c.home.Hostname()) || isProxy(address) {
		return dialer.DialContext(ctx, network, address)
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(addresses, inside) && !c.homeInside(ctx) {
		return nil, fmt.Errorf("%s is an address inside a private network, and the server is not", host)
	}
	var errs []error
	for _, a := range addresses { // the address that was looked at, not what the name stands for now
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (c *courier) homeInside(ctx context.Context) bool {
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", c.home.Hostname())
	return err == nil && slices.ContainsFunc(addresses, inside)
}

func isProxy(address string) bool {
	for _, scheme := range []string{"http", "https"} {
		req := &http.Request{URL: &url.URL{Scheme: scheme, Host: "proxy-of.example.com"}}
		if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil && (proxy.Host == address || proxy.Hostname() == hostOf(address)) {
			return true
		}
	}
	return false
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// inside reports whether only machines of the same network can reach the address.
func inside(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified() || !a.IsGlobalUnicast() ||
		netip.MustParsePrefix("100.64.0.0/10").Contains(a)
}

func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// document reads JSON from an address that a peer gave.
func (c *courier) document(ctx context.Context, at string, into any) error {
	u, err := c.allowed(at)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	_, err = c.do(req, into)
	return err
}

// do sends a request and decodes the JSON that answers it. An answer that is no
// success is an *answerError, with OAuth's code if it has one.
func (c *courier) do(req *http.Request, into any) (http.Header, error) {
	req.Header.Set("User-Agent", "dragoman")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unquoted(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return resp.Header, fmt.Errorf("its answer broke off: %w", unquoted(err))
	case len(body) > maxDocument:
		return resp.Header, fmt.Errorf("its answer is longer than %d bytes", maxDocument)
	}
	var refusal struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(body, &refusal)                   // an answer may also be a page
	if resp.StatusCode/100 != 2 || refusal.Error != "" { // some answer 200 with an error
		return resp.Header, &answerError{status: resp.StatusCode, code: tidy(refusal.Error), words: tidy(refusal.Description)}
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "text/html" {
		return resp.Header, fmt.Errorf("it answers with a web page")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return resp.Header, fmt.Errorf("its answer is not the JSON that it should be")
	}
	return resp.Header, nil
}

// unquoted is net/http's error without the address, which may hold a secret.
func unquoted(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
