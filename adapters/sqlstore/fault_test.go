package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/ports"
)

func TestFullDiskFailsPlainlyAndRecovers(t *testing.T) {
	s := openAt(t, t.TempDir())
	limit := func(pages string) {
		t.Helper()
		err := s.update(t.Context(), "test", func(ctx context.Context, q *session) error {
			_, err := q.get(ctx, `PRAGMA max_page_count = `+pages, nil, new(int))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	stored := 0
	fill := func() error {
		for range 500 {
			if err := acceptOne(t.Context(), s, "a", fmt.Sprint(stored)); err != nil {
				return err
			}
			stored++
		}
		return nil
	}
	for round := range 3 { // a full disk may cost the writer its connection, and that connection its limit
		limit("1") // as small as what is there
		err := fill()
		if !ports.IsKind(err, ports.KindUnavailable) || !strings.Contains(err.Error(), "the disk is full") {
			t.Fatalf("round %d: got %v (kind %s)", round, err, ports.KindOf(err))
		}
		if c, err := s.Cursor(t.Context(), "c"); err != nil || (stored > 0 && c != fmt.Sprint(stored-1)) {
			t.Errorf("a read with a full disk: %q %v", c, err)
		}
		limit("1000000")
		if err := acceptOne(t.Context(), s, "a", fmt.Sprint(stored)); err != nil {
			t.Errorf("with room again: %v", err)
		}
		stored++
	}
	b, err := s.Backlog(t.Context())
	if err != nil || b.Inbox != stored {
		t.Errorf("%d rows are stored (%v), want %d", b.Inbox, err, stored)
	}
	checkIntegrity(t, s)
}

func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	err := s.update(t.Context(), "test", func(ctx context.Context, q *session) error {
		_, err := q.exec(ctx, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also the second time: the lock was given back
		_, err = Open(t.Context(), Config{Dir: dir, Sync: "full"}, slog.New(slog.DiscardHandler))
		if !ports.IsKind(err, ports.KindInvalid) || !strings.Contains(err.Error(), "newer dragoman (schema 999") {
			t.Errorf("got %v (kind %s)", err, ports.KindOf(err))
		}
	}
}

// A disk that is full in the middle of a batch ends the whole transaction: nobody
// in it may be told that it is stored, also not those whose part went well.
func TestADiskThatIsFullInABatchFailsEveryWaiter(t *testing.T) {
	s := openAt(t, t.TempDir())
	limit := func(pages string) writeFunc {
		return func(ctx context.Context, q *session) error {
			_, err := q.get(ctx, `PRAGMA max_page_count = `+pages, nil, new(int))
			return err
		}
	}
	large := func(ctx context.Context, q *session) error {
		_, err := q.exec(ctx, `INSERT INTO cursor (channel, cursor) VALUES ('large', $1)`, strings.Repeat("x", 1<<20))
		return err
	}
	goOn := stall(t, s)
	got := queue(t, s, limit("1"), cursor("a"), large, cursor("b"))
	goOn()
	for i := range got {
		if err := <-got[i]; !ports.IsKind(err, ports.KindUnavailable) {
			t.Errorf("write %d says %v", i, err)
		}
	}
	wantCursors(t, s, map[string]bool{"a": false, "large": false, "b": false})
	if err := s.update(t.Context(), "test", limit("1000000")); err != nil {
		t.Fatal(err)
	}
	for _, w := range []writeFunc{cursor("a"), large, cursor("b")} {
		if err := s.update(t.Context(), "test", w); err != nil {
			t.Errorf("with room again: %v", err)
		}
	}
	wantCursors(t, s, map[string]bool{"a": true, "large": true, "b": true})
	checkIntegrity(t, s)
}

func TestNoDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Config{Dir: dir, Sync: "full"}, slog.New(slog.DiscardHandler))
	if !ports.IsKind(err, ports.KindUnavailable) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v (kind %s)", err, ports.KindOf(err))
	}
}

func TestOpenMakesAPrivateFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?#%20ü", "data")
	s := openAt(t, dir)
	if err := acceptOne(t.Context(), s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, fileName): 0o600, filepath.Join(dir, fileName+"-wal"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", path, info, err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, fileName+"-wal")); !os.IsNotExist(err) {
		t.Errorf("after Close the log is not in the database file: %v", err)
	}
}

// No statement of a turn may read a whole table: it would be slow only later.
func TestStatementsUseIndexes(t *testing.T) {
	s := openAt(t, t.TempDir())
	for i := range 3 {
		if err := benchTurn(t.Context(), s, ports.Conversation{Channel: "bench", Chat: "a"}, int64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := acceptEvent(t.Context(), s, "a", "1")
	if err != nil {
		t.Fatal(err)
	}
	_, history := s.History(t.Context(), got.Leases[0], 10)
	_, claim := s.Claim(t.Context(), 10)
	_, expire := s.Expire(t.Context(), 10)
	_, put := s.Put(t.Context(), ports.Record{Scope: "s", Kind: "k", Key: "x"})
	for _, err := range []error{history, claim, expire, put} {
		if err != nil {
			t.Fatal(err)
		}
	}
	plan := map[string]bool{}
	err = s.update(t.Context(), "test", func(_ context.Context, q *session) error {
		for query := range q.stmts {
			plan[query] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range readers {
		r := <-s.pool
		for query := range r.stmts {
			plan[query] = true
		}
		s.pool <- r
	}
	explained := 0
	for query := range plan {
		if strings.Contains(query, "$1") {
			explain(t, s, query)
			explained++
		}
	}
	if explained < 25 {
		t.Errorf("only %d statements were looked at", explained)
	}
}

func explain(t *testing.T, s *Store, query string) {
	t.Helper()
	err := s.update(t.Context(), "test", func(ctx context.Context, q *session) error {
		args := make([]any, strings.Count(query, "$"))
		return q.each(ctx, `EXPLAIN QUERY PLAN `+query, args, func(scan scanner) error {
			var (
				id, parent, unused int
				detail             string
			)
			err := scan(&id, &parent, &unused, &detail)
			if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "INDEX") && !strings.Contains(detail, "CONSTANT ROW") && !strings.Contains(detail, "SCAN w") {
				t.Errorf("%s\n%s", detail, query)
			}
			return err
		})
	})
	if err != nil {
		t.Errorf("%v\n%s", err, query)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
