package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"dragoman/adapters/mcp/oauth"
	"dragoman/ports"
)

// admin opens login links, as a browser would that agrees to everything.
type admin struct {
	desk *oauth.Desk
	log  *slog.Logger
	seen map[string]bool // links that were opened
}

// newAdmin makes the desk that logins come back to, and the scenario's client of
// the server. Nothing listens at the desk's address: the admin walks over.
func newAdmin(log *slog.Logger, s *scene, url string) (*admin, *oauth.Client, error) {
	desk, err := oauth.NewDesk(oauth.DeskConfig{
		Records: &records{all: map[slot]ports.Record{}},
		Key:     "of a scenario, and gone with it",
		Base:    "http://127.0.0.1:7420",
		Log:     log,
	})
	if err != nil {
		return nil, nil, err
	}
	client, err := desk.Client(s.login(), oauth.Server{Scope: "conformance", URL: ports.Secret(url), Log: log})
	return &admin{desk: desk, log: log, seen: map[string]bool{}}, client, err
}

// login is what the admin of the scenario wrote into the config.
func (s *scene) login() oauth.Config {
	cfg := oauth.Config{
		ClientID:          s.about.ClientID,
		ClientSecret:      ports.Secret(s.about.ClientSecret),
		PrivateKey:        ports.Secret(s.about.PrivateKey),
		Algorithm:         s.about.Algorithm,
		ClientMetadataURL: "https://conformance-test.local/client-metadata.json",
		DPoP:              strings.HasPrefix(s.name, "auth/dpop"),
	}
	if strings.HasPrefix(s.name, "auth/client-credentials") {
		cfg.Grant = "client_credentials"
	}
	return cfg
}

// open follows a link to the authorization server, which agrees at once, and
// takes its answer to the desk.
func (a *admin) open(ctx context.Context, link string) error {
	a.seen[link] = true
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return err
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	back := resp.Header.Get("Location")
	a.log.Info("login_opened", "link", link, "status", resp.StatusCode, "back", back)
	if back == "" {
		return fmt.Errorf("the authorization server answers %s", resp.Status)
	}
	page := httptest.NewRecorder()
	a.desk.Handler().ServeHTTP(page, httptest.NewRequestWithContext(ctx, http.MethodGet, back, nil))
	if page.Code != http.StatusOK {
		return fmt.Errorf("the login is refused: %d %s", page.Code, page.Body)
	}
	return nil
}
