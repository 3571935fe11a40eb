package sqlstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dragoman/ports"
)

// errHeld is what tryLock returns when another process has the lock.
var errHeld = errors.New("held by another process")

// lockAll takes the locks on a data folder and on a database file, which may be
// elsewhere, for this process. The kernel lets go of them when the process dies,
// however it dies; so whoever has them knows that every earlier owner is dead.
// The file's lock is a file beside it: a lock on itself would meet SQLite's own
// where the system has one kind of locks.
func lockAll(dir, file string) (locks []*os.File, err error) {
	for _, what := range [][2]string{
		{filepath.Join(dir, "lock"), dir + "; stop it first, or choose another data_dir"},
		{file + "-lock", "the database " + file + "; stop it first, or choose another store.path"},
	} {
		lock, err := takeLock(what[0], what[1])
		if err != nil {
			for _, l := range locks {
				_ = l.Close()
			}
			return nil, err
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

// takeLock takes one. what says what it guards, and what to do if it is taken.
func takeLock(name, what string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	switch err := tryLock(f); {
	case errors.Is(err, errHeld):
		pid := holder(f)
		_ = f.Close()
		return nil, fail(ports.KindConflict, "another dragoman%s is using %s", pid, what)
	case err != nil:
		_ = f.Close()
		return nil, fail(ports.KindUnavailable, "lock %s: %w", name, err)
	}
	if err := writeHolder(f); err != nil {
		_ = f.Close()
		return nil, fail(ports.KindUnavailable, "lock %s: %w", name, err)
	}
	return f, nil
}

func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// holder is " (pid 1234)", or "" if the holder has not written it yet.
func holder(f *os.File) string {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0) // io.EOF is usual: the file is short
	if pid := strings.TrimSpace(string(b[:n])); pid != "" {
		return " (pid " + pid + ")"
	}
	return ""
}
