package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"dragoman/ports"
)

const (
	beginWrite = "BEGIN IMMEDIATE" // takes the write lock now, not at the first write
	beginRead  = "BEGIN"
	fileName   = "dragoman.db"
	// probe writes a page and changes nothing: nobody reads this number.
	probe = "PRAGMA user_version = 0"
)

//go:embed migrations/sqlite/*.sql
var migrations embed.FS

// The connections keep few pages of their own: the system's cache has them too,
// and what they keep is allocated twice over and stays with the process.

// openWriter opens the database for its one writing connection, makes the file
// if it is not there, and brings its schema up to date.
func openWriter(ctx context.Context, cfg Config) (*sql.DB, error) {
	path := filepath.Join(cfg.Dir, fileName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite's own would be readable by others
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	if err := f.Close(); err != nil {
		return nil, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	db, err := openSQLite(path, 1,
		"journal_mode(WAL)", "synchronous("+cfg.Sync+")", "foreign_keys(1)", "cache_size(-2048)", "journal_size_limit(67108864)")
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openReaders opens the database for n connections that cannot write.
func openReaders(cfg Config, n int) (*sql.DB, error) {
	return openSQLite(filepath.Join(cfg.Dir, fileName), n, "query_only(1)", "cache_size(-512)")
}

// openSQLite keeps no idle connection: a session holds one for as long as it
// lives, and one that it drops must be closed for good.
func openSQLite(path string, conns int, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)", "temp_store(MEMORY)"}, pragmas...)}
	path = "/" + strings.TrimPrefix(filepath.ToSlash(path), "/") // C:/data is file:///C:/data
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(-1)
	return db, nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	dir, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	have, known, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have > known {
		return fail(ports.KindInvalid, "the data was written by a newer dragoman (schema %d, this one knows %d); "+
			"run that version, or choose another data_dir", have, known)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the schema up to date: %w", err)
	}
	return nil
}

// expand makes SQLite's parameters out of PostgreSQL's: $1 would be a name here.
func expand(query string) string { return strings.ReplaceAll(query, "$", "?") }

// classifySQLite sorts by SQLite's primary result code: https://sqlite.org/rescode.html
func classifySQLite(err error) (ports.Kind, string) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return ports.KindInternal, ""
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return ports.KindUnavailable, "the disk is full"
	case sqlite3.SQLITE_IOERR:
		return ports.KindUnavailable, "the disk cannot be read or written"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return ports.KindUnavailable, "the data folder cannot be written to"
	case sqlite3.SQLITE_CANTOPEN:
		return ports.KindUnavailable, "the database file cannot be opened"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ports.KindUnavailable, "the database file is damaged; restore a backup"
	case sqlite3.SQLITE_NOMEM:
		return ports.KindUnavailable, "out of memory"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return ports.KindTemporary, "another program is using the database file"
	case sqlite3.SQLITE_INTERRUPT:
		return ports.KindCancelled, ""
	case sqlite3.SQLITE_TOOBIG:
		return ports.KindTooLarge, ""
	}
	return ports.KindInternal, ""
}
