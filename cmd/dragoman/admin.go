package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/adapters/control"
	"dragoman/adapters/sqlstore"
	"dragoman/config"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// lockPatience is how long a command waits for another one that has the data folder.
const lockPatience = 5 * time.Second

// withAdmin hands use the gateway that runs on the config's data folder.
// otherwise is for where none does.
func withAdmin(ctx context.Context, file string, use func(context.Context, ports.Admin) error, otherwise func(*config.Config) error) error {
	if running := findRunning(ctx, file); running != nil {
		return use(ctx, running)
	}
	cfg, _, err := loadConfig(ctx, file)
	if err != nil {
		return err
	}
	cfg.Log.Level = "error" // what a command prints is its answer
	return otherwise(cfg)
}

// findRunning finds the gateway that runs on the config's data folder, nil if none
// does. The rest of the config may be faulty, or its variables not set here: an
// admin must reach a gateway that runs from any shell.
func findRunning(ctx context.Context, file string) *control.Client {
	cfg, err := locate(file)
	if err != nil {
		return nil
	}
	running, err := control.Dial(ctx, socketPath(cfg))
	if err != nil {
		return nil
	}
	return running
}

// withServers is withAdmin for a command that wants tools. Where no gateway runs
// it connects the servers by itself, waits for each until it is ready or its
// timeout is over, and leaves nothing behind.
func withServers(ctx context.Context, file string, use func(context.Context, ports.Admin) error) error {
	return withAdmin(ctx, file, use, func(cfg *config.Config) error {
		return withOwn(ctx, cfg, func(g *gateway.Gateway) error { return connected(ctx, g, use) })
	})
}

// withOwn hands use a gateway without chats on a temporary store.
func withOwn(ctx context.Context, cfg *config.Config, use func(*gateway.Gateway) error) error {
	return withTemporary(ctx, cfg, func(store *sqlstore.Store, log *slog.Logger) error {
		return withGateway(ctx, cfg, store, log, use)
	})
}

// withTemporary hands use a store that is gone afterwards.
func withTemporary(ctx context.Context, cfg *config.Config, use func(*sqlstore.Store, *slog.Logger) error) error {
	temporary, err := os.MkdirTemp("", "dragoman-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	own := *cfg
	own.DataDir, own.Store.Path = temporary, ""
	return withStore(ctx, &own, use)
}

// withGateway hands use a gateway without chats on a temporary store. It knows
// what admins said of the servers, and their logins.
func withGateway(ctx context.Context, cfg *config.Config, store *sqlstore.Store, log *slog.Logger, use func(*gateway.Gateway) error) error {
	if hasStore(cfg) {
		err := withStore(ctx, cfg, func(kept *sqlstore.Store, _ *slog.Logger) error { return gateway.CopySwitches(ctx, kept, store) })
		if err != nil && !ports.IsKind(err, ports.KindConflict) { // of a gateway on another data folder it is none of our business
			return err
		}
	}
	logins, err := lateLogins(cfg, store, log)
	if err != nil {
		return err
	}
	defer logins.Close()
	g, err := assemble(cfg, store, &lateAudit{cfg: cfg, log: log}, door{logins: logins}, chats{}, log)
	if err != nil {
		return err
	}
	return use(g)
}

// hasStore reports whether something ran on the config's data folder before.
func hasStore(cfg *config.Config) bool {
	_, err := os.Stat(cmp.Or(cfg.Store.Path, filepath.Join(cfg.DataDir, "dragoman.db")))
	return err == nil
}

// connected runs the servers of g for as long as use takes.
func connected(ctx context.Context, g *gateway.Gateway, use func(context.Context, ports.Admin) error) error {
	stop, err := g.RunSources(ctx)
	if err != nil {
		return err
	}
	defer stop()
	g.Reached(ctx)
	return use(ctx, g)
}

// withRecords is withAdmin for a command that wants what is stored.
func withRecords(ctx context.Context, file string, use func(context.Context, ports.Admin) error) error {
	return withAdmin(ctx, file, use, func(cfg *config.Config) error {
		return withStore(ctx, cfg, func(store *sqlstore.Store, log *slog.Logger) error {
			g, err := assemble(cfg, store, store, door{}, chats{}, log)
			if err != nil {
				return err
			}
			return use(ctx, g)
		})
	})
}

// withStore opens a store for as long as use takes, and waits a while for
// another command that has it open.
func withStore(ctx context.Context, cfg *config.Config, use func(*sqlstore.Store, *slog.Logger) error) (err error) {
	log := newLog(cfg.Log, os.Stderr)
	store, err := awaitStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return use(store, log)
}

// awaitStore is openStore that waits a while for another command to be done with it.
func awaitStore(ctx context.Context, cfg *config.Config, log *slog.Logger, channels ...string) (*sqlstore.Store, error) {
	return backoff.Retry(ctx, func() (*sqlstore.Store, error) {
		store, err := openStore(ctx, cfg, log, channels...)
		if err != nil && !ports.IsKind(err, ports.KindConflict) {
			err = backoff.Permanent(err)
		}
		return store, err
	}, backoff.WithMaxElapsedTime(lockPatience))
}

// lateAudit writes to the audit of the real data folder, where there is one,
// and holds it no longer than that takes.
type lateAudit struct {
	cfg *config.Config
	log *slog.Logger
}

// Append implements ports.Audit.
func (a *lateAudit) Append(ctx context.Context, e ports.AuditEntry) error {
	if _, err := os.Stat(a.cfg.DataDir); errors.Is(err, os.ErrNotExist) {
		return nil // nothing ran here yet, and a command leaves nothing behind
	}
	return withStore(ctx, a.cfg, func(s *sqlstore.Store, _ *slog.Logger) error { return s.Append(ctx, e) })
}

// Entries implements ports.Audit.
func (a *lateAudit) Entries(ctx context.Context, limit int) (list []ports.AuditEntry, err error) {
	err = withStore(ctx, a.cfg, func(s *sqlstore.Store, _ *slog.Logger) (err error) {
		list, err = s.Entries(ctx, limit)
		return err
	})
	return list, err
}

// printJSON prints a listing for machines.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
