package oauth

import (
	"bytes"
	"context"
	"sync"
	"time"

	"dragoman/ports"
)

// shelf is a strict ports.Records in memory. A version is never used twice.
type shelf struct {
	mu   sync.Mutex
	last int64
	all  map[name]ports.Record
	fail error // of writes, if set
	good int   // writes that go well before it
}

func newShelf() *shelf { return &shelf{all: map[name]ports.Record{}} }

func (s *shelf) get(at name) (ports.Record, bool) {
	r, ok := s.all[at]
	if ok && !r.Expires.IsZero() && !time.Now().Before(r.Expires) {
		delete(s.all, at)
		return ports.Record{}, false
	}
	r.Body = bytes.Clone(r.Body)
	return r, ok
}

func (s *shelf) Get(ctx context.Context, scope, kind, key string) (ports.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return ports.Record{}, err
	}
	r, ok := s.get(name{scope, kind, key})
	if !ok {
		return ports.Record{}, ports.Errorf(ports.KindNotFound, "shelf get", "there is none")
	}
	return r, nil
}

func (s *shelf) List(_ context.Context, scope, kind string) ([]ports.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ports.Record
	for at := range s.all {
		if r, ok := s.get(at); ok && at.scope == scope && at.kind == kind {
			list = append(list, r)
		}
	}
	return list, nil
}

func (s *shelf) Put(ctx context.Context, r ports.Record) (ports.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return ports.Record{}, err
	}
	if s.fail != nil {
		if s.good--; s.good < 0 {
			return ports.Record{}, s.fail
		}
	}
	at := name{r.Scope, r.Kind, r.Key}
	if now, _ := s.get(at); now.Version != r.Version {
		return ports.Record{}, ports.Errorf(ports.KindConflict, "shelf put", "it is of version %d, not %d", now.Version, r.Version)
	}
	s.last++
	r.Version, r.Body = s.last, bytes.Clone(r.Body)
	s.all[at] = r
	return r, nil
}

func (s *shelf) Delete(_ context.Context, r ports.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := name{r.Scope, r.Kind, r.Key}
	now, ok := s.get(at)
	switch {
	case !ok:
		return nil
	case now.Version != r.Version:
		return ports.Errorf(ports.KindConflict, "shelf delete", "it is of version %d, not %d", now.Version, r.Version)
	}
	delete(s.all, at)
	return nil
}

// failAfter lets n writes through, and then none.
func (s *shelf) failAfter(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.good, s.fail = n, err
}

// text is all that is stored, as who steals the database sees it.
func (s *shelf) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	for at, r := range s.all {
		b.WriteString(at.scope + at.kind + at.key)
		b.Write(r.Body)
	}
	return b.String()
}
