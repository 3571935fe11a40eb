package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"dragoman/ports"
)

// Copied is what a backup holds.
type Copied struct {
	Bytes, Conversations, Messages int64
}

// partialMark begins the names of backups that are not whole yet.
const partialMark = ".dragoman-backup-"

// leftover is how old what a killed backup left behind must be before another
// one takes it away: nobody writes to it any more.
const leftover = time.Hour

// Backup writes a copy of the database, as it is at one moment, to a new file
// that Config.Path may name later. It may run beside the process that has the
// store open: it takes no lock of it. The copy belongs to nobody, as after Close,
// so that what ran when it was made counts as no crash. The file is there whole
// or not at all; one that is there already is never touched (KindConflict).
// KindNotFound: there is no database to copy.
func Backup(ctx context.Context, cfg Config, file string) (Copied, error) {
	out, err := backup(ctx, cfg, file)
	if err != nil && ctx.Err() != nil {
		err = fail(ports.KindCancelled, "stopped before the copy was whole; %s is not written", file)
	}
	return out, wrap("back up", err)
}

func backup(ctx context.Context, cfg Config, file string) (out Copied, err error) {
	source, err := cfg.source()
	if err != nil {
		return out, err
	}
	if err := vacant(file); err != nil {
		return out, err
	}
	partial, err := newPartial(file)
	if err != nil {
		return out, err
	}
	defer func() {
		for _, name := range []string{partial, partial + "-journal"} {
			if e := os.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, &ports.Error{Kind: ports.KindUnavailable, Err: e})
			}
		}
	}()
	if err := copyInto(ctx, source, partial); err != nil {
		return out, err
	}
	if out, err = disown(ctx, partial); err != nil {
		return out, err
	}
	if out.Bytes, err = flush(partial); err != nil {
		return out, err
	}
	return out, publish(ctx, partial, file)
}

// source is the database to copy. None is made.
func (c Config) source() (string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", err
	}
	file, err := c.file(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return "", fail(ports.KindNotFound, "there is nothing to back up: %s is not there", file)
	}
	return file, nil
}

// vacant refuses a name that is taken, and one where SQLite would take the rest
// of another database for a part of this one.
func vacant(file string) error {
	for _, name := range []string{file, file + "-wal", file + "-journal"} {
		switch _, err := os.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return &ports.Error{Kind: ports.KindUnavailable, Err: err}
		case name == file:
			return fail(ports.KindConflict, "%s is there already, and is left as it is (choose another name)", file)
		default:
			return fail(ports.KindConflict, "%s is there, a rest of another database of this name (choose another name)", name)
		}
	}
	return nil
}

// newPartial makes the empty file that becomes the backup, in the same folder,
// and takes away what a killed backup left there.
func newPartial(file string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(file)) // SQLite takes some other names for addresses
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fail(ports.KindNotFound, "the folder %s is not there (make it first)", dir)
	}
	for _, e := range entries { // none, if the folder can be written to and not be read
		if !strings.HasPrefix(e.Name(), partialMark) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > leftover {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	name := filepath.Join(dir, partialMark+rand.Text()[:8]+".partial")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	if err := f.Close(); err != nil {
		return "", &ports.Error{Kind: ports.KindUnavailable, Err: errors.Join(err, os.Remove(name))}
	}
	return name, nil
}

// copyInto writes one snapshot of the source into an empty file.
func copyInto(ctx context.Context, source, partial string) error {
	db, err := openSQLite(source, "mode=rw", 1, "cache_size(-2048)") // a file that cannot be written is opened to be read
	if err != nil {
		return err
	}
	empty, err := examine(ctx, db, source)
	switch {
	case err != nil:
	case empty:
		err = fail(ports.KindNotFound, "there is nothing to back up: %s is empty", source)
	default:
		if _, err = db.ExecContext(ctx, `VACUUM INTO ?1`, partial); err != nil {
			err = fmt.Errorf("copy %s to %s: %w", source, partial, err)
		}
	}
	return errors.Join(err, db.Close())
}

// disown gives the copy back as Close does: the owners of the life that ran while
// it was made have not died in it. It counts what the copy holds.
func disown(ctx context.Context, partial string) (out Copied, err error) {
	db, err := openSQLite(partial, "mode=rw", 1, "journal_mode(MEMORY)", "synchronous(OFF)") // flush comes later
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return out, err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for _, q := range []string{
		`UPDATE conv SET owner = NULL WHERE owner IS NOT NULL`,
		`UPDATE lease SET holder = NULL WHERE holder IS NOT NULL`,
		`DELETE FROM node`,
	} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return out, err
		}
	}
	row := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM conv), (SELECT COUNT(*) FROM inbox)`)
	if err := row.Scan(&out.Conversations, &out.Messages); err != nil {
		return out, err
	}
	return out, tx.Commit()
}

// flush brings the copy to the disk and tells its size.
func flush(partial string) (size int64, err error) {
	f, err := os.OpenFile(partial, os.O_RDWR, 0)
	if err != nil {
		return 0, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil {
		return 0, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	info, err := f.Stat()
	if err != nil {
		return 0, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	return info.Size(), nil
}

// publish gives the copy its name, unless somebody took that meanwhile: a link
// fails then, where a rename would replace.
func publish(ctx context.Context, partial, file string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := os.Link(partial, file)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		if err = vacant(file); err != nil {
			return err
		}
		err = os.Rename(partial, file)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return vacant(file)
	case err != nil:
		return &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	return syncFolder(filepath.Dir(file))
}

// syncFolder makes a new name in a folder outlive a power cut.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" { // which has no such call
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	return nil
}
