package oauth

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

// The paths that a Desk serves.
const (
	callbackPath = "/oauth/callback"
	documentPath = "/oauth/client.json"
)

// DeskConfig is what a Desk works with.
type DeskConfig struct {
	// Records keep links, tokens and registrations; several processes may share them.
	Records ports.Records
	// Key seals what is kept: 16 characters at least.
	Key ports.Secret
	// Base is where browsers reach the gateway: https, or http on this machine. "":
	// nowhere, so that no login can be offered, but tokens that are there are used.
	Base string
	Log  *slog.Logger // nil: nobody wants to know
}

// Desk is where the logins of all servers come together. Safe for many goroutines.
type Desk struct {
	vault *vault
	base  string
	log   *slog.Logger

	mu      sync.Mutex
	clients map[string]*Client // by mark
	closed  bool
	late    chan struct{} // closed when a close has waited long enough
	work    sync.WaitGroup
}

// NewDesk makes a Desk. It does no I/O. An error is KindInvalid.
func NewDesk(cfg DeskConfig) (*Desk, error) {
	invalid := func(err error) error { return &ports.Error{Kind: ports.KindInvalid, Op: "oauth desk", Err: err} }
	kept, err := newVault(cfg.Records, cfg.Key)
	if err != nil {
		return nil, invalid(err)
	}
	if u, err := url.Parse(cfg.Base); cfg.Base != "" && (err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !onThisMachine(u.Hostname()))) {
		return nil, invalid(fmt.Errorf("%s cannot be come back to from a login (must be https, or http on this machine)", cfg.Base))
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Desk{vault: kept, base: strings.TrimSuffix(cfg.Base, "/"), log: cfg.Log, clients: map[string]*Client{}, late: make(chan struct{})}, nil
}

// Server is an MCP server as its Client knows it.
type Server struct {
	// Scope names the server among the records, and must not change.
	Scope string
	// URL is the endpoint. It is a secret because it may hold one.
	URL ports.Secret
	Log *slog.Logger // nil: that of the desk
}

// Client makes the client of a server. It does no I/O. A second one of the same
// scope takes the place of the first at the desk. An error is KindInvalid and says
// which key of cfg is wrong.
func (d *Desk) Client(cfg Config, s Server) (*Client, error) {
	read, err := cfg.complete()
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindInvalid, Op: "oauth config", Err: err}
	}
	home, err := url.Parse(s.URL.Reveal())
	if err != nil || home.Host == "" {
		return nil, ports.Errorf(ports.KindInvalid, "oauth config", "the url of the server is no address")
	}
	if s.Log == nil {
		s.Log = d.log
	}
	c := &Client{desk: d, cfg: read, scope: s.Scope, home: home, courier: newCourier(home), log: s.Log,
		flow: make(chan struct{}, 1), changed: make(chan struct{}), steps: map[string]int{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients[c.mark()] = c
	return c, nil
}

// Handler serves /oauth/callback, which a person's browser comes back to, and
// /oauth/client.json, which describes the gateway to authorization servers. Both
// are for everybody: a callback is worth nothing without the state of an open link.
func (d *Desk) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, d.callback)
	mux.HandleFunc("GET "+documentPath, d.document)
	return mux
}

// closeWithin is how long a close waits for what is under way: a refresh token
// that was sent is spent, and its successor is worth a moment.
const closeWithin = 2 * time.Second

// Close waits a moment for what is under way, ends the rest, and begins nothing more.
// It is called once.
func (d *Desk) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	late := time.AfterFunc(closeWithin, func() { close(d.late) })
	defer late.Stop()
	d.work.Wait()
}

// begin does work beside, unless the desk is closed.
func (d *Desk) begin(work func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.work.Go(work)
	return true
}

// redirect is where a browser comes back to.
func (d *Desk) redirect() (string, error) {
	if d.base == "" {
		return "", fmt.Errorf("no browser could come back from it (set public_url to the https address of this gateway, or listen to one like \"127.0.0.1:7420\")")
	}
	return d.base + callbackPath, nil
}

// documentURL is the client id of a gateway that others can reach; "" of others.
func (d *Desk) documentURL() string {
	if u, err := url.Parse(d.base); err != nil || u.Scheme != "https" || onThisMachine(u.Hostname()) {
		return ""
	}
	return d.base + documentPath
}

// document describes the gateway (draft-ietf-oauth-client-id-metadata-document-00, 4).
func (d *Desk) document(w http.ResponseWriter, r *http.Request) {
	id := d.documentURL()
	if id == "" {
		http.NotFound(w, r)
		return
	}
	about := d.describe(d.base+callbackPath, byNone)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=3600")
	_ = json.NewEncoder(w).Encode(map[string]any{"client_id": id, "client_name": about.ClientName, "redirect_uris": about.RedirectURIs,
		"grant_types": about.GrantTypes, "response_types": about.ResponseTypes, "token_endpoint_auth_method": byNone, "application_type": about.ApplicationType})
}

// byState is the client whose link has this state; nil if there is none.
func (d *Desk) byState(state string) *Client {
	mark, _, _ := strings.Cut(state, ".")
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clients[mark]
}
