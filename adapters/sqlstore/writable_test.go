package sqlstore

import (
	"context"
	"testing"

	"dragoman/ports"
)

func TestAStoreThatCannotWriteSaysSoUntilItCan(t *testing.T) {
	s := openAt(t, t.TempDir())
	only := func(reads string) {
		t.Helper()
		if err := s.update(t.Context(), "test", func(ctx context.Context, q *session) error {
			_, err := q.exec(ctx, `PRAGMA query_only = `+reads)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	only("1")
	if err := s.Writable(t.Context()); err != nil {
		t.Errorf("nothing was written yet, and it says %v", err)
	}
	if err := acceptOne(t.Context(), s, "a", "1"); !ports.IsKind(err, ports.KindUnavailable) {
		t.Fatalf("a write gives %v", err)
	}
	for range 2 { // a refused write may cost the writer its connection, and that connection what it was told
		only("1")
		if err := s.Writable(t.Context()); !ports.IsKind(err, ports.KindUnavailable) {
			t.Errorf("it says %v, want that it is unavailable", err)
		}
	}
	only("0")
	if err := s.Writable(t.Context()); err != nil {
		t.Errorf("it can write again, and says %v", err)
	}
	if s.writer.ill.Load() {
		t.Error("it would try again for ever")
	}
}
