package sqlstore

import (
	"context"

	"dragoman/ports"
)

// Writable tells whether the database takes writes. While writes succeed it does
// no I/O; since one failed because the disk is full, or the like, it tries one of
// its own, so that it knows of new room before anybody has something to write.
// KindUnavailable says why not.
func (s *Store) Writable(ctx context.Context) error {
	if !s.writer.ill.Load() {
		return nil
	}
	err := s.update(ctx, "store probe", func(ctx context.Context, t *session) error {
		_, err := t.exec(ctx, probe)
		return err
	})
	if err == nil {
		s.writer.ill.Store(false)
	}
	return err
}

// unwritable reports whether a write failed for a reason that others share.
func unwritable(err error) bool {
	if err == nil {
		return false
	}
	kind, _ := classify(err)
	return kind == ports.KindUnavailable
}
