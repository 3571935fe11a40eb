package gateway_test

import (
	"context"
	"sync"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// fault is how one write of the store goes wrong.
type fault int

const (
	killBefore fault = iota // the process dies before the commit
	killAfter               // the process dies after the commit, before it hears of it
	refused                 // nothing is written, the next try works
	unsure                  // it is written, and its caller is told that nobody knows
)

var faults = map[fault]string{killBefore: "killed before", killAfter: "killed after", refused: "refused"}

// failing is a store of which one write of the turns' goes wrong. After a death
// it answers like the store of somebody else: the lanes of the dead leave.
type failing struct {
	gateway.Store
	at   int // which write, from 1
	how  fault
	died chan struct{}

	mu         sync.Mutex
	n          int
	dead       bool
	loadFails  int    // how many of the next loads fail
	beforePark func() // called once, before the next park

	writing sync.RWMutex // held for reading by each write under way
}

var errDead = &ports.Error{Kind: ports.KindFenced, Op: "a dead process"}

func (f *failing) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

func (f *failing) die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dead {
		f.dead = true
		close(f.died)
	}
}

// write makes a write that counts.
func (f *failing) write(do func() error) error {
	f.writing.RLock()
	defer f.writing.RUnlock()
	f.mu.Lock()
	if f.dead {
		f.mu.Unlock()
		return errDead
	}
	f.n++
	hit := f.n == f.at
	f.mu.Unlock()
	switch {
	case !hit:
		return do()
	case f.how == killBefore:
		f.die()
		return errDead
	case f.how == refused:
		return ports.Errorf(ports.KindUnavailable, "write", "the disk is full for a moment")
	}
	if err := do(); err != nil {
		return err
	}
	if f.how == unsure {
		return ports.Errorf(ports.KindUnsure, "write", "nobody knows")
	}
	f.die()
	return errDead
}

func (f *failing) Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (got ports.Accepted, err error) {
	err = f.write(func() error { got, err = f.Store.Accept(ctx, src, b, route); return err })
	if err != nil {
		return ports.Accepted{}, err
	}
	return got, nil
}

func (f *failing) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	return f.write(func() error { return f.Store.Record(ctx, l, c) })
}

func (f *failing) Park(ctx context.Context, l ports.Lease, c ports.Change) error {
	f.mu.Lock()
	before := f.beforePark
	f.beforePark = nil
	f.mu.Unlock()
	if before != nil {
		before()
	}
	return f.write(func() error { return f.Store.Park(ctx, l, c) })
}

func (f *failing) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	return f.write(func() error { return f.Store.Finish(ctx, l, c, o) })
}

func (f *failing) Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error {
	return f.write(func() error { return f.Store.Delivered(ctx, l, id, r) })
}

// The dead read nothing either.

func (f *failing) Load(ctx context.Context, l ports.Lease) (ports.Work, error) {
	f.mu.Lock()
	fails := f.loadFails > 0
	if fails {
		f.loadFails--
	}
	f.mu.Unlock()
	switch {
	case f.isDead():
		return ports.Work{}, errDead
	case fails:
		return ports.Work{}, ports.Errorf(ports.KindUnavailable, "load", "the disk cannot be read for a moment")
	}
	return f.Store.Load(ctx, l)
}

func (f *failing) Pending(ctx context.Context, l ports.Lease) ([]ports.Delivery, error) {
	if f.isDead() {
		return nil, errDead
	}
	return f.Store.Pending(ctx, l)
}

// The sweep's writes come when they come: they do not count, but die too.

func (f *failing) Claim(ctx context.Context, limit int) ([]ports.Lease, error) {
	f.writing.RLock()
	defer f.writing.RUnlock()
	if f.isDead() {
		return nil, errDead
	}
	return f.Store.Claim(ctx, limit)
}

func (f *failing) Expire(ctx context.Context, limit int) (ports.Accepted, error) {
	f.writing.RLock()
	defer f.writing.RUnlock()
	if f.isDead() {
		return ports.Accepted{}, errDead
	}
	return f.Store.Expire(ctx, limit)
}

// startFailing is start on a store of which the at-th write goes wrong.
func (w *world) startFailing(at int, how fault) *failing {
	w.t.Helper()
	f := &failing{at: at, how: how, died: make(chan struct{})}
	w.startOn(func(s *sqlstore.Store) gateway.Store { f.Store = s; return f })
	return f
}
