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
	// probe writes a page and changes nothing: nobody reads this number.
	probe = "PRAGMA user_version = 0"
)

// migrationsDir is the folder of the migrations among what is embedded.
const migrationsDir = "migrations/sqlite"

//go:embed migrations/sqlite/*.sql
var migrations embed.FS

// The connections keep few pages of their own: the system's cache has them too,
// and what they keep is allocated twice over and stays with the process.

// openWriter opens the database for its one writing connection, makes the file
// if it is not there, and brings its schema up to date.
func openWriter(ctx context.Context, path, sync string) (*sql.DB, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite's own would be readable by others
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	if err := f.Close(); err != nil {
		return nil, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	db, err := openSQLite(path, "mode=rw", 1,
		"journal_mode(WAL)", "synchronous("+sync+")", "foreign_keys(1)", "cache_size(-2048)", "journal_size_limit(67108864)")
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, db, migrations); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openReaders opens the database for n connections that cannot write.
func openReaders(path string, n int) (*sql.DB, error) {
	return openSQLite(path, "mode=rw", n, "query_only(1)", "cache_size(-512)")
}

// openSQLite keeps no idle connection: a session holds one for as long as it
// lives, and one that it drops must be closed for good. how is what the file is
// opened for: mode=rw, mode=ro or immutable=1.
func openSQLite(path, how string, conns int, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)", "temp_store(MEMORY)"}, pragmas...)}
	if name, value, ok := strings.Cut(how, "="); ok {
		q.Set(name, value)
	}
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

// migrate brings the schema up to date with the migrations of a folder. Each of
// them is one transaction, with the note that it is done.
func migrate(ctx context.Context, db *sql.DB, from fs.FS) error {
	dir, err := fs.Sub(from, migrationsDir)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the schema up to date: %w", err)
	}
	return nil
}

// knownSchema is the number of the last migration.
func knownSchema(from fs.FS) (last int64, err error) {
	files, err := fs.ReadDir(from, migrationsDir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		n, err := goose.NumericComponent(f.Name())
		if err != nil {
			return 0, fmt.Errorf("read the migrations: %w", err)
		}
		last = max(last, n)
	}
	return last, nil
}

// expand makes SQLite's parameters out of PostgreSQL's: $1 would be a name here.
func expand(query string) string { return strings.ReplaceAll(query, "$", "?") }

// classifySQLite sorts by SQLite's primary result code: https://sqlite.org/rescode.html
func classifySQLite(err error) (ports.Kind, string) {
	switch resultCode(err) {
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

// resultCode is SQLite's primary one, 0 of an error of others.
func resultCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}
