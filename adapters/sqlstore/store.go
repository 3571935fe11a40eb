package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"dragoman/ports"
)

// readers is how many reads run side by side.
const readers = 4

// Store is an open database. Safe for many goroutines.
type Store struct {
	log     *slog.Logger
	node    string   // this life of this process, as owners and holders are named
	only    []string // Config.Channels
	locks   []*os.File
	writeDB *sql.DB
	readDB  *sql.DB
	writer  *writer
	pool    chan *session

	closeOnce sync.Once
	closeErr  error
}

var (
	_ ports.Turns     = (*Store)(nil)
	_ ports.Questions = (*Store)(nil)
	_ ports.Leases    = (*Store)(nil)
	_ ports.Records   = (*Store)(nil)
	_ ports.Artifacts = (*Store)(nil)
	_ ports.Audit     = (*Store)(nil)
	_ ports.Usage     = (*Store)(nil)
	_ ports.Feed      = (*feed)(nil)
	_ ports.Fates     = (*fates)(nil)
)

// Open locks the data folder and the database file for this process, brings the
// schema up to date and frees what a dead process owned. ctx bounds the opening
// alone. KindConflict: another process uses the folder or the file. KindInvalid:
// a newer version wrote it, or it is no database of ours; KindNotFound: the file
// that Config.Path names is not there. What is refused is left as it is.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (*Store, error) {
	s, err := open(ctx, cfg, log)
	return s, wrap("open the store", err)
}

// Close finishes the writes that wait, gives back every conversation and lease
// without counting it as a crash, and unlocks the folder. Calls that come later
// fail with KindUnavailable. Closing twice is no error.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.writer.stop(s.giveBack)
		s.closeErr = wrap("close the store", s.shut())
	})
	return s.closeErr
}

func open(ctx context.Context, cfg Config, log *slog.Logger) (_ *Store, err error) {
	dir, err := cfg.folder()
	if err != nil {
		return nil, err
	}
	file, err := cfg.file(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &ports.Error{Kind: ports.KindUnavailable, Err: err}
	}
	s := &Store{log: log, node: nodeID(), only: cfg.Channels, pool: make(chan *session, readers)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.shut())
		}
	}()
	if s.locks, err = lockAll(dir, file); err != nil {
		return nil, err
	}
	if err := cfg.inspect(ctx, file); err != nil {
		return nil, err
	}
	if s.writeDB, err = openWriter(ctx, file, cfg.Sync); err != nil {
		return nil, err
	}
	if s.readDB, err = openReaders(file, readers); err != nil {
		return nil, err
	}
	for range readers {
		s.pool <- newSession(s.readDB)
	}
	s.writer = newWriter(newSession(s.writeDB), log)
	if err := s.writer.transact(ctx, []*write{{run: s.takeOver}}); err != nil {
		return nil, err
	}
	go s.writer.loop(context.WithoutCancel(ctx)) // stop waits for it
	return s, nil
}

// shut closes whatever open opened, after the writer stopped.
func (s *Store) shut() error {
	var errs []error
	for range cap(s.pool) {
		if s.readDB == nil {
			break
		}
		errs = append(errs, (<-s.pool).close()) // waits for the reads under way
	}
	if s.writer != nil {
		errs = append(errs, s.writer.session.close())
	}
	for _, db := range []*sql.DB{s.readDB, s.writeDB} { // the last one to close checkpoints
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	for _, lock := range s.locks {
		errs = append(errs, lock.Close())
	}
	return errors.Join(errs...)
}

// update runs f as one durable write.
func (s *Store) update(ctx context.Context, op string, f writeFunc) error {
	return wrap(op, s.writer.do(ctx, f))
}

// view runs f over one snapshot. A read takes milliseconds, so ctx counts
// while it waits for its turn, not within a statement.
func (s *Store) view(ctx context.Context, op string, f func(ctx context.Context, t *session) error) error {
	return wrap(op, s.snapshot(ctx, f))
}

func (s *Store) snapshot(ctx context.Context, f func(ctx context.Context, t *session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.writer.closing:
		return errClosed
	default:
	}
	var t *session
	select {
	case t = <-s.pool:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.writer.closing:
		return errClosed
	}
	defer func() { s.pool <- t }()
	ctx = context.WithoutCancel(ctx)
	if err := t.begin(ctx, beginRead); err != nil {
		return err
	}
	if err := f(ctx, t); err != nil {
		t.rollback(ctx)
		return err
	}
	return t.commit(ctx)
}

// now is the one clock of the rows.
func (s *Store) now() int64 { return time.Now().UnixMilli() }

func nodeID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// millis and moment map times to columns: 0 stands for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
