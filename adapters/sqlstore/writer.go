package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"dragoman/ports"
)

// maxBatch bounds how many writes one commit carries, and so how long the first
// of them waits for the last.
const maxBatch = 256

// writeFunc is a write: what it does to the session is committed if it returns nil,
// else undone. It may run again, so it begins by forgetting what it found out
// before.
type writeFunc func(ctx context.Context, t *session) error

// Where a write stands. The one who moves it on from queued decides: the writer
// begins it, or its caller takes it back.
const (
	queued = iota
	begun
	left
)

type write struct {
	run   writeFunc
	state atomic.Int32
	done  chan error // holds one; never read if the caller left
}

// writer is the one goroutine that writes: group commit.
type writer struct {
	session *session
	log     *slog.Logger
	queue   chan *write
	closing chan struct{} // no more writes
	stopped chan struct{} // loop has ended
	last    writeFunc     // run alone as the last write; nil: none
	ill     atomic.Bool   // a write failed for a full disk or the like; see Store.Writable
}

func newWriter(t *session, log *slog.Logger) *writer {
	return &writer{
		session: t, log: log,
		queue:   make(chan *write, maxBatch),
		closing: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// do runs f and waits for the commit. An error means that nothing of it is stored.
func (w *writer) do(ctx context.Context, f writeFunc) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op := &write{run: f, done: make(chan error, 1)}
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	select {
	case w.queue <- op:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
	select {
	case err := <-op.done:
		return err
	case <-w.stopped:
		return w.outcome(op)
	case <-ctx.Done():
		if op.state.CompareAndSwap(queued, left) {
			return ctx.Err()
		}
	}
	select {
	case err := <-op.done:
		return err
	case <-w.stopped:
		return w.outcome(op)
	}
}

// outcome is for a write that was queued while the writer stopped.
func (w *writer) outcome(op *write) error {
	select {
	case err := <-op.done:
		return err
	default:
		return errClosed
	}
}

// stop ends the loop after what is queued and then last, and waits for it.
func (w *writer) stop(last writeFunc) {
	w.last = last
	close(w.closing)
	<-w.stopped
}

func (w *writer) loop(ctx context.Context) {
	defer close(w.stopped)
	batch := make([]*write, 0, maxBatch)
	for {
		select {
		case op := <-w.queue:
			batch = w.gather(append(batch[:0], op))
			w.commit(ctx, batch)
		case <-w.closing:
			w.commit(ctx, w.gather(batch[:0]))
			if w.last != nil {
				if err := w.transact(ctx, []*write{{run: w.last}}); err != nil {
					w.log.Warn("store_not_given_back", "err", err)
				}
			}
			return
		}
	}
}

// gather adds to the batch all that wait now.
func (w *writer) gather(batch []*write) []*write {
	for len(batch) < maxBatch {
		select {
		case op := <-w.queue:
			batch = append(batch, op)
		default:
			return batch
		}
	}
	return batch
}

// commit runs those writes of the batch whose callers still wait, and tells them.
func (w *writer) commit(ctx context.Context, batch []*write) {
	begin := batch[:0]
	for _, op := range batch {
		if op.state.CompareAndSwap(queued, begun) {
			begin = append(begin, op)
		}
	}
	if len(begin) == 0 {
		return
	}
	failed := make([]error, len(begin))
	if err := w.transactEach(ctx, begin, failed); err != nil {
		for i := range failed {
			failed[i] = err // also those that failed by themselves: what they saw is gone
		}
	}
	for i, op := range begin {
		if unwritable(failed[i]) {
			w.ill.Store(true)
		}
		op.done <- failed[i]
	}
}

func (w *writer) transact(ctx context.Context, ops []*write) error {
	failed := make([]error, len(ops))
	if err := w.transactEach(ctx, ops, failed); err != nil {
		return err
	}
	return failed[0]
}

// transactEach runs the writes in one transaction. A write that fails is undone
// alone and its error put into failed; an error that it returns is the whole
// transaction's, of which then nothing is stored.
func (w *writer) transactEach(ctx context.Context, ops []*write, failed []error) error {
	if err := w.session.begin(ctx, beginWrite); err != nil {
		return err
	}
	for i, op := range ops {
		err := w.within(ctx, op, &failed[i])
		if err != nil {
			w.session.rollback(ctx)
			return err
		}
	}
	return w.session.commit(ctx)
}

// within runs one write in a savepoint of its own. An error that it returns
// means that the savepoint is gone, and with it all that came before: a full
// disk, for one, makes SQLite roll back the whole transaction.
func (w *writer) within(ctx context.Context, op *write, failed *error) error {
	if _, err := w.session.exec(ctx, "SAVEPOINT op"); err != nil {
		return err
	}
	if *failed = w.safely(ctx, op); *failed != nil {
		if _, err := w.session.exec(ctx, "ROLLBACK TO op"); err != nil {
			return *failed
		}
	}
	_, err := w.session.exec(ctx, "RELEASE op")
	return err
}

// safely makes a panic in a write (a route function) an error of that write alone.
func (w *writer) safely(ctx context.Context, op *write) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("store_write_panicked", "err", p, "stack", string(debug.Stack()))
			err = &ports.Error{Kind: ports.KindInternal, Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	return op.run(ctx, w.session)
}
