package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"

	"dragoman/adapters/mcp"
	"dragoman/adapters/mcp/oauth"
	"dragoman/adapters/sqlstore"
	"dragoman/config"
	"dragoman/ports"
)

// newLogins is the desk of the logins to MCP servers. Only one process may use
// the data folder: call it with the store open.
func newLogins(cfg *config.Config, records ports.Records, base string, log *slog.Logger) (*oauth.Desk, error) {
	key, err := secretKey(cfg, log)
	if err != nil {
		return nil, err
	}
	return oauth.NewDesk(oauth.DeskConfig{Records: records, Key: key, Base: base, Log: log})
}

// lateLogins is the desk of a command that connects servers by itself: it uses the
// logins of the data folder, where a gateway made some, and else has none.
func lateLogins(cfg *config.Config, temporary *sqlstore.Store, log *slog.Logger) (*oauth.Desk, error) {
	if !hasSecretKey(cfg) {
		return oauth.NewDesk(oauth.DeskConfig{Records: temporary, Key: newSecret(), Log: log})
	}
	return newLogins(cfg, &lateRecords{cfg: cfg}, loginBase(cfg, nil), log)
}

// loginBase is where a browser comes back to from a login: public_url, else the
// listener if it is on this machine (OAuth allows no other http); "" for nowhere.
// Without a listener it is where the gateway's would be.
func loginBase(cfg *config.Config, listener net.Listener) string {
	if cfg.PublicURL != "" {
		return cfg.PublicURL
	}
	address := cfg.Listen
	if listener != nil {
		address = reachable(listener.Addr())
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "0" {
		return ""
	}
	ip := net.ParseIP(host)
	switch {
	case host == "" || ip != nil && ip.IsUnspecified():
		host = "127.0.0.1"
	case host != "localhost" && (ip == nil || !ip.IsLoopback()):
		return ""
	}
	return "http://" + net.JoinHostPort(host, port)
}

// loginTo is the login of an MCP server; nil for one that has no url, or its token
// in the config.
func loginTo(c mcp.Config, p parts) (mcp.Login, error) {
	how, ok := c.Logins()
	if !ok || p.logins == nil {
		return nil, nil
	}
	client, err := p.logins.Client(how, oauth.Server{Scope: "mcp/" + p.name, URL: c.URL, Log: p.log})
	if err != nil {
		return nil, err
	}
	return client, nil
}

// lateRecords are the records of the real data folder, which it holds no longer
// than each use takes.
type lateRecords struct {
	cfg *config.Config
	one sync.Mutex // the folder has room for one
}

func (l *lateRecords) with(ctx context.Context, use func(*sqlstore.Store) error) error {
	l.one.Lock()
	defer l.one.Unlock()
	return withStore(ctx, l.cfg, func(s *sqlstore.Store, _ *slog.Logger) error { return use(s) })
}

// Get implements ports.Records.
func (l *lateRecords) Get(ctx context.Context, scope, kind, key string) (r ports.Record, err error) {
	if _, err := os.Stat(l.cfg.DataDir); errors.Is(err, os.ErrNotExist) {
		return r, ports.Errorf(ports.KindNotFound, "records", "nothing ran here yet")
	}
	err = l.with(ctx, func(s *sqlstore.Store) (err error) {
		r, err = s.Get(ctx, scope, kind, key)
		return err
	})
	return r, err
}

// List implements ports.Records.
func (l *lateRecords) List(ctx context.Context, scope, kind string) (list []ports.Record, err error) {
	err = l.with(ctx, func(s *sqlstore.Store) (err error) {
		list, err = s.List(ctx, scope, kind)
		return err
	})
	return list, err
}

// Put implements ports.Records.
func (l *lateRecords) Put(ctx context.Context, r ports.Record) (out ports.Record, err error) {
	err = l.with(ctx, func(s *sqlstore.Store) (err error) {
		out, err = s.Put(ctx, r)
		return err
	})
	return out, err
}

// Delete implements ports.Records.
func (l *lateRecords) Delete(ctx context.Context, r ports.Record) error {
	return l.with(ctx, func(s *sqlstore.Store) error { return s.Delete(ctx, r) })
}
