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

// lockDir takes the lock on a data folder for this process. The kernel lets go
// of it when the process dies, however it dies; so whoever has it knows that
// every earlier owner is dead.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	switch err := tryLock(f); {
	case errors.Is(err, errHeld):
		pid := holder(f)
		_ = f.Close()
		return nil, fail(ports.KindConflict, "another dragoman%s is using %s; stop it first, or choose another data_dir", pid, dir)
	case err != nil:
		_ = f.Close()
		return nil, fail(ports.KindUnavailable, "lock %s: %w", dir, err)
	}
	if err := writeHolder(f); err != nil {
		_ = f.Close()
		return nil, fail(ports.KindUnavailable, "lock %s: %w", dir, err)
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
