package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// maxTraceFile is how long a trace grows before a new file is begun.
const maxTraceFile = 10 << 20

// TraceFile is a file for Deps.Trace: private (0600), and no longer than 10 MiB;
// then it is renamed to NAME.1.jsonl, in place of the one before, and begun anew.
// It is opened for each write: nothing has to be closed, and a folder that comes
// back is written to again. Safe for many goroutines.
type TraceFile struct {
	path string
	mu   sync.Mutex
}

// NewTraceFile names the file; it, and its folder, are made by the first Write.
func NewTraceFile(path string) *TraceFile { return &TraceFile{path: path} }

// Write appends p as a whole.
func (t *TraceFile) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if info, err := os.Stat(t.path); err == nil && info.Size()+int64(len(p)) > maxTraceFile {
		ext := filepath.Ext(t.path)
		if err := os.Rename(t.path, strings.TrimSuffix(t.path, ext)+".1"+ext); err != nil {
			return 0, err
		}
	}
	f, err := t.open()
	if os.IsNotExist(err) {
		if err = os.MkdirAll(filepath.Dir(t.path), 0o700); err == nil {
			f, err = t.open()
		}
	}
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return n, err
}

func (t *TraceFile) open() (*os.File, error) {
	return os.OpenFile(t.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}
