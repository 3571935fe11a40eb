package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

// records keep what a login leaves, for as long as the scenario takes.
type records struct {
	mu   sync.Mutex
	last int64 // a version is never given twice
	all  map[slot]ports.Record
}

// slot is where a record is.
type slot struct{ scope, kind, key string }

var _ ports.Records = (*records)(nil)

// Get reads one.
func (s *records) Get(_ context.Context, scope, kind, key string) (ports.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.read(slot{scope, kind, key}); r.Version != 0 {
		return r, nil
	}
	return ports.Record{}, ports.Errorf(ports.KindNotFound, "records get", "there is none")
}

// List reads all of a kind, by key.
func (s *records) List(_ context.Context, scope, kind string) ([]ports.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ports.Record
	for at := range s.all {
		if r := s.read(at); r.Version != 0 && at.scope == scope && at.kind == kind {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b ports.Record) int { return strings.Compare(a.Key, b.Key) })
	return list, nil
}

// Put writes r if the version is as it says.
func (s *records) Put(_ context.Context, r ports.Record) (ports.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slot{r.Scope, r.Kind, r.Key}
	if s.read(at).Version != r.Version {
		return ports.Record{}, ports.Errorf(ports.KindConflict, "records put", "it is of another version")
	}
	s.last++
	r.Version, r.Body = s.last, bytes.Clone(r.Body)
	s.all[at] = r
	return r, nil
}

// Delete removes r if the version is as it says.
func (s *records) Delete(_ context.Context, r ports.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slot{r.Scope, r.Kind, r.Key}
	if now := s.read(at).Version; now != 0 && now != r.Version {
		return ports.Errorf(ports.KindConflict, "records delete", "it is of another version")
	}
	delete(s.all, at)
	return nil
}

// read gives the zero Record for one that is not there any more.
func (s *records) read(at slot) ports.Record {
	r := s.all[at]
	if !r.Expires.IsZero() && !time.Now().Before(r.Expires) {
		return ports.Record{}
	}
	r.Body = bytes.Clone(r.Body)
	return r
}
