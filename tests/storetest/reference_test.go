package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"dragoman/adapters/sqlstore"
	"dragoman/ports"
)

// bench makes stores with one flaw, "" for none: the real store, in a wrapping
// that does one thing wrong.
type bench struct {
	dir  string
	flaw string

	mu    sync.Mutex
	pasts map[string]*past // by place
}

// past is what a flaw knows of its place. It outlives the process as a file would.
type past struct {
	dir  string // of the present process
	life int    // of the present process, from 1

	mu        sync.Mutex
	calls     int
	told      map[ports.Conversation]ports.Lease
	handled   []ports.Lease // by Claim and Accept, in all lives
	events    map[string]string
	leases    map[string]int64
	questions map[string]ports.Question
	receipts  map[string]ports.Receipt
	records   map[string]ports.Record
	versions  map[string]int64
	artifacts []ports.Artifact
	finished  []ports.Turn
	ending    map[ports.Conversation]bool
	preview   *ports.Preview
	parks     int
	tried     []ports.Conversation
	asked     map[string]bool
	posted    map[string]bool
	steps     map[int]ports.Step
	paid      map[int]bool  // steps whose usage is booked
	extra     []ports.Spent // what a flaw books beside
	dead      bool
	forgot    bool // a message was deleted
}

func (b *bench) harness() Harness { return Harness{Open: b.open, Crash: b.crash} }

func (b *bench) open(ctx context.Context, place string) (Store, error) {
	b.mu.Lock()
	p := b.pasts[place]
	if p == nil {
		p = &past{
			dir:  filepath.Join(b.dir, place),
			told: map[ports.Conversation]ports.Lease{}, ending: map[ports.Conversation]bool{},
			events: map[string]string{}, leases: map[string]int64{}, versions: map[string]int64{},
			questions: map[string]ports.Question{}, receipts: map[string]ports.Receipt{}, records: map[string]ports.Record{},
			posted: map[string]bool{}, asked: map[string]bool{}, steps: map[int]ports.Step{}, paid: map[int]bool{},
		}
		b.pasts[place] = p
	}
	b.mu.Unlock()
	s, err := sqlstore.Open(ctx, sqlstore.Config{Dir: p.dir, Sync: "normal"}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	p.life++
	return &flawed{Store: s, flaw: b.flaw, past: p}, nil
}

// crash is a death as the disk sees it: the next process opens a copy of the
// files as they are now, and what the store writes while it closes is lost on it.
func (b *bench) crash(s Store) error {
	f, ok := s.(*flawed)
	if !ok {
		return fmt.Errorf("%T is no store of this bench", s)
	}
	return errors.Join(f.die(), f.Store.Close())
}

// die moves the place to a copy of its files.
func (p *past) die() error {
	next := fmt.Sprintf("%s+%d", strings.TrimSuffix(p.dir, fmt.Sprintf("+%d", p.life-1)), p.life)
	if err := os.Mkdir(next, 0o700); err != nil {
		return err
	}
	err := fs.WalkDir(os.DirFS(p.dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(name, "dragoman.db") || strings.HasSuffix(name, "-shm") { // memory: it dies too
			return err
		}
		data, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(next, name), data, 0o600)
	})
	p.dir = next
	return err
}
