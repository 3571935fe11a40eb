package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	sqlite3 "modernc.org/sqlite/lib"

	"dragoman/ports"
)

// fileName is that of a database which the config does not name.
const fileName = "dragoman.db"

// folder is the data folder's full name. It may not be there yet.
func (c Config) folder() (string, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir, nil
	case err != nil:
		return "", &ports.Error{Kind: ports.KindUnavailable, Err: err}
	case !info.IsDir():
		return "", fail(ports.KindInvalid, `data_dir must be a folder, and %s is a file (to run on a database file, name it in the config as "store": {"path": …})`, dir)
	}
	return dir, nil
}

// file is the database's real name, behind every symbolic link: the locks and
// SQLite's own files beside it go by that. A file that the config names must be
// there: a name that is misspelt must not begin an empty database, in which
// nobody is known and to which the platforms hand over what people say.
func (c Config) file(dir string) (string, error) {
	name := filepath.Join(dir, fileName)
	if c.Path != "" {
		var err error
		if name, err = filepath.Abs(c.Path); err != nil {
			return "", err
		}
	}
	actual, err := filepath.EvalSymlinks(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Path == "":
		return name, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", fail(ports.KindNotFound, "store.path: there is no file %s (name a backup or another database of dragoman; without store.path one is made in data_dir)", name)
	case err != nil:
		return "", &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	info, err := os.Stat(actual)
	switch {
	case err != nil:
		return "", &ports.Error{Kind: ports.KindUnavailable, Err: err}
	case !info.Mode().IsRegular():
		return "", fail(ports.KindInvalid, "the database %s is no regular file", name)
	case info.Size() == 0 && c.Path != "":
		return "", noDatabase(name, "it is empty")
	case names(info) > 1: // SQLite would keep a log for each of them, and lose what is in the others
		return "", fail(ports.KindInvalid, "the database %s has another name too, as a hard link (copy it: each process must see it under one name)", name)
	}
	return actual, nil
}

func noDatabase(file, why string) error {
	return fail(ports.KindInvalid, "%s is no database of dragoman: %s (it is left as it is)", file, why)
}

// inspect looks at a database before anything is written to it. Whoever calls
// it holds the file's lock.
func (c Config) inspect(ctx context.Context, file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil // it is made now, or was when the process died
	}
	how := "immutable=1" // SQLite would put files of its own beside even what it only reads
	if _, err := os.Stat(file + "-wal"); err == nil {
		how = "mode=ro"
	}
	db, err := openSQLite(file, how, 1)
	if err != nil {
		return err
	}
	empty, err := examine(ctx, db, file)
	if err == nil && empty && c.Path != "" {
		err = noDatabase(file, "there is no table in it")
	}
	return errors.Join(err, db.Close())
}

// examine tells whether a database is one of ours that this program knows. empty:
// its making was cut off before there was anything in it.
func examine(ctx context.Context, db *sql.DB, file string) (empty bool, err error) {
	var tables, own, versioned int
	err = db.QueryRowContext(ctx, `SELECT COUNT(*), COUNT(*) FILTER (WHERE name IN ('conv', 'inbox', 'outbox')), COUNT(*) FILTER (WHERE name = 'goose_db_version')
		FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`).Scan(&tables, &own, &versioned)
	if err != nil {
		return false, asDamaged(file, err)
	}
	switch {
	case tables == 0, tables == 1 && versioned == 1:
		return true, nil
	case own < 3 || versioned == 0:
		return false, noDatabase(file, "another program's tables are in it")
	}
	var have int64
	if err := db.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied = 1`).Scan(&have); err != nil {
		return false, asDamaged(file, err)
	}
	known, err := knownSchema(migrations)
	if err == nil && have > known {
		return false, newerSchema(have, known)
	}
	return false, err
}

func newerSchema(have, known int64) error {
	return fail(ports.KindInvalid, "the data was written by a newer dragoman (schema %d, this one knows %d); "+
		"run that version, or choose another data_dir", have, known)
}

// asDamaged names the file that SQLite finds damaged, or to be no database at all.
func asDamaged(file string, err error) error {
	switch resultCode(err) {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fail(ports.KindUnavailable, "%s is damaged, or no database of dragoman; it is left as it is (restore a backup: name it in the config as store.path): %w", file, err)
	}
	return fmt.Errorf("read %s: %w", file, err)
}
