package crash

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"dragoman/core/gateway"
	"dragoman/ports"
)

// store records every call of the store. It names each method by itself: one that
// the ports get more must become a point before this compiles.
type store struct {
	inner gateway.Store
	p     *points
}

var _ gateway.Store = (*store)(nil)

func (s *store) Cursor(ctx context.Context, channel string) (string, error) {
	defer s.p.call(beside + "store.Cursor")()
	return s.inner.Cursor(ctx, channel)
}

// Accept is a point inside its transaction too.
func (s *store) Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error) {
	says := saysAll(b.Messages)
	if ctx.Value(redelivered{}) != nil {
		defer s.p.call(beside + "store.Accept again")()
		return s.inner.Accept(ctx, src, b, route)
	}
	defer s.p.call("store.Accept " + says)()
	got, err := s.inner.Accept(ctx, src, b, func(v ports.Sight) ports.Route {
		s.p.label(ports.TurnID(v.Message.In, v.Seq), saysOf(v.Message))
		after := s.p.call("store.Accept.route " + saysOf(v.Message))
		r := route(v)
		after()
		return r
	})
	if err == nil && got.Stored > 0 {
		s.p.accepted(says)
	}
	return got, err
}

// sweep is a call that comes at a process's start, where it finds what the dead
// left, and then every second.
func (s *store) sweep(op string, do func() (n int, err error)) error {
	name := beside + op
	if s.p.first(op) {
		name += " at the start"
	}
	s.p.pass(name + " | before")
	n, err := do()
	if n > 0 {
		name += " finds work"
	}
	s.p.pass(name + " | after")
	return err
}

func (s *store) Claim(ctx context.Context, limit int) (leases []ports.Lease, err error) {
	err = s.sweep("store.Claim", func() (int, error) {
		leases, err = s.inner.Claim(ctx, limit)
		return len(leases), err
	})
	return leases, err
}

func (s *store) Expire(ctx context.Context, limit int) (got ports.Accepted, err error) {
	err = s.sweep("store.Expire", func() (int, error) {
		got, err = s.inner.Expire(ctx, limit)
		return len(got.Leases), err
	})
	return got, err
}

func (s *store) Load(ctx context.Context, l ports.Lease) (ports.Work, error) {
	defer s.p.call(s.p.now("store.Load"))()
	w, err := s.inner.Load(ctx, l)
	if w.Turn != nil {
		s.p.follow(w.Turn.ID, w.Steps)
	}
	return w, err
}

func (s *store) History(ctx context.Context, l ports.Lease, limit int) ([]ports.Past, error) {
	defer s.p.call("store.History")() // of those that come in a race with a press there would be a name that nobody meets again
	return s.inner.History(ctx, l, limit)
}

func (s *store) Trial(ctx context.Context, l ports.Lease, alone bool) error {
	defer s.p.call(beside + "store.Trial")() // only behind a death in one place
	return s.inner.Trial(ctx, l, alone)
}

func (s *store) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	return s.commit("store.Record "+s.p.change(c), c, func() error { return s.inner.Record(ctx, l, c) })
}

func (s *store) Park(ctx context.Context, l ports.Lease, c ports.Change) error {
	return s.commit("store.Park "+s.p.change(c), c, func() error { return s.inner.Park(ctx, l, c) })
}

func (s *store) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	return s.commit(fmt.Sprintf("store.Finish %s %s", s.p.change(c), o), c, func() error { return s.inner.Finish(ctx, l, c, o) })
}

// commit notes what is recorded for good: it is not asked for again.
func (s *store) commit(name string, c ports.Change, write func() error) error {
	s.p.pass(name + " | before")
	err := write()
	if err == nil {
		s.p.follow(c.Turn, c.Steps)
		for _, st := range c.Steps {
			switch st.Kind {
			case ports.StepReply, ports.StepMemo:
				s.p.fact(factRecorded, reply)
			case ports.StepResult:
				s.p.fact(factRecorded, s.p.tool(c.Turn, st.Call))
			}
		}
	}
	s.p.pass(name + " | after")
	return err
}

func (s *store) Pending(ctx context.Context, l ports.Lease) ([]ports.Delivery, error) {
	defer s.p.call(s.p.now("store.Pending"))()
	return s.inner.Pending(ctx, l)
}

func (s *store) Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error {
	name := "store.Delivered " + s.p.delivery(id)
	if strings.HasSuffix(id, "/"+preview) {
		name = beside + "store.Delivered preview"
	}
	if r.Failed != "" {
		name += " given up"
	}
	s.p.pass(name + " | before")
	err := s.inner.Delivered(ctx, l, id, r)
	if err == nil {
		s.p.fact(factMarked, id)
	}
	s.p.pass(name + " | after")
	return err
}

func (s *store) Backlog(ctx context.Context) (ports.Backlog, error) {
	defer s.p.call(beside + "store.Backlog")()
	return s.inner.Backlog(ctx)
}

func (s *store) Question(ctx context.Context, id string) (ports.Question, error) {
	defer s.p.call(s.p.now("store.Question"))()
	return s.inner.Question(ctx, id)
}

func (s *store) Acquire(ctx context.Context, name string) (int64, error) {
	defer s.p.call(beside + "store.Acquire")()
	return s.inner.Acquire(ctx, name)
}

func (s *store) Renew(ctx context.Context, name string, epoch int64) error {
	defer s.p.call(beside + "store.Renew")()
	return s.inner.Renew(ctx, name, epoch)
}

func (s *store) Release(ctx context.Context, name string, epoch int64) error {
	defer s.p.call(beside + "store.Release")()
	return s.inner.Release(ctx, name, epoch)
}

// usedTools is in the record of the tools that were found once one of them was called.
var usedTools = regexp.MustCompile(`"used":\d*[13579]\b`)

func (s *store) Get(ctx context.Context, scope, kind, key string) (ports.Record, error) {
	name := s.p.now("store.Get " + kind)
	if kind == "room" {
		name = beside + "store.Get room" // where an admin is told something, when there is time
	}
	defer s.p.call(name)()
	return s.inner.Get(ctx, scope, kind, key)
}

func (s *store) List(ctx context.Context, scope, kind string) ([]ports.Record, error) {
	defer s.p.call(beside + "store.List " + kind)() // at the start, and for the admin at any time
	return s.inner.List(ctx, scope, kind)
}

func (s *store) Put(ctx context.Context, r ports.Record) (ports.Record, error) {
	what := r.Kind
	if usedTools.Match(r.Body) {
		what += " that were called"
	}
	defer s.p.call(s.p.now("store.Put " + what))()
	return s.inner.Put(ctx, r)
}

func (s *store) Delete(ctx context.Context, r ports.Record) error {
	defer s.p.call("store.Delete " + r.Kind)() // the person was told by then, and may be a word further
	return s.inner.Delete(ctx, r)
}

func (s *store) Save(ctx context.Context, a ports.Artifact) error {
	what := "" // the id of what a tool gave is of a row
	if hash, ok := sentFile(a.ID); ok {
		what = " file " + hash
	}
	defer s.p.call(s.p.now("store.Save" + what))()
	return s.inner.Save(ctx, a)
}

// sentFile is the hash of a file that a person sent, by the id that it is kept under.
func sentFile(id string) (hash string, ok bool) {
	parts := strings.Split(id, "-")
	if len(parts) != 3 {
		return "", false
	}
	return parts[2], true
}

func (s *store) Read(ctx context.Context, in ports.Conversation, id string, offset, limit int64) (ports.Artifact, error) {
	name := "store.Read for the chat" // by when its person may be a word further
	if _, ok := sentFile(id); ok {
		name = s.p.now("store.Read")
	}
	defer s.p.call(name)()
	return s.inner.Read(ctx, in, id, offset, limit)
}

// audit records the log of admins' deeds.
type audit struct {
	inner ports.Audit
	p     *points
}

var _ ports.Audit = (*audit)(nil)

func (a *audit) Append(ctx context.Context, e ports.AuditEntry) error {
	defer a.p.call("audit.Append " + e.What)()
	return a.inner.Append(ctx, e)
}

func (a *audit) Entries(ctx context.Context, limit int) ([]ports.AuditEntry, error) {
	defer a.p.call("audit.Entries")()
	return a.inner.Entries(ctx, limit)
}
