package sqlstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"dragoman/ports"
)

// stall makes the writer wait in a write of its own, so that what is queued
// meanwhile is one batch. go_on lets it go.
func stall(t *testing.T, s *Store) (goOn func()) {
	t.Helper()
	started, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.writer.do(context.WithoutCancel(t.Context()), func(context.Context, *session) error {
			close(started)
			<-free
			return nil
		})
	}()
	<-started
	return func() {
		close(free)
		if err := <-done; err != nil {
			t.Error("the stalling write:", err)
		}
	}
}

// queue adds writes behind the stalled one and returns where their errors come.
func queue(t *testing.T, s *Store, writes ...writeFunc) []chan error {
	t.Helper()
	out := make([]chan error, len(writes))
	for i, f := range writes {
		out[i] = make(chan error, 1)
		go func() { out[i] <- s.update(t.Context(), "test", f) }()
		waitFor(t, func() bool { return len(s.writer.queue) == i+1 })
	}
	return out
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("waited too long")
		}
		<-time.After(time.Millisecond)
	}
}

func cursor(channel string) writeFunc {
	return func(ctx context.Context, t *session) error {
		_, err := t.exec(ctx, `INSERT INTO cursor (channel, cursor) VALUES ($1, $1)`, channel)
		return err
	}
}

func wantCursors(t *testing.T, s *Store, want map[string]bool) {
	t.Helper()
	for channel, there := range want {
		got, err := s.Cursor(t.Context(), channel)
		if err != nil || (got != "") != there {
			t.Errorf("write %q is stored: %v (%v), want %v", channel, got != "", err, there)
		}
	}
}

func TestFailingWriteUndoesItselfAlone(t *testing.T) {
	s := openAt(t, t.TempDir())
	boom := errors.New("boom")
	goOn := stall(t, s)
	got := queue(t, s,
		cursor("a"),
		func(ctx context.Context, q *session) error { return errors.Join(cursor("b")(ctx, q), boom) },
		func(ctx context.Context, q *session) error {
			_ = cursor("c")(ctx, q)
			panic("route")
		},
		cursor("a"), // breaks a constraint
		cursor("d"),
	)
	goOn()
	for i, want := range []bool{true, false, false, false, true} {
		if err := <-got[i]; (err == nil) != want {
			t.Errorf("write %d: %v", i, err)
		}
	}
	wantCursors(t, s, map[string]bool{"a": true, "b": false, "c": false, "d": true})
}

func TestFailingCommitFailsEveryWaiter(t *testing.T) {
	s := openAt(t, t.TempDir())
	goOn := stall(t, s)
	got := queue(t, s,
		cursor("a"),
		func(ctx context.Context, q *session) error { // a foreign key that COMMIT alone looks at
			if _, err := q.exec(ctx, `PRAGMA defer_foreign_keys = 1`); err != nil {
				return err
			}
			_, err := q.exec(ctx, `INSERT INTO step (turn, idx, kind, call, body, at) VALUES ('none', 0, '', 0, '', 0)`)
			return err
		},
		cursor("b"),
	)
	goOn()
	for i := range got {
		if err := <-got[i]; err == nil {
			t.Errorf("write %d of a batch whose commit failed succeeded", i)
		}
	}
	wantCursors(t, s, map[string]bool{"a": false, "b": false})
	if err := s.update(t.Context(), "test", cursor("c")); err != nil {
		t.Errorf("the writer does not go on: %v", err)
	}
	wantCursors(t, s, map[string]bool{"c": true})
}

func TestWriteIsTakenBackWhileItWaits(t *testing.T) {
	s := openAt(t, t.TempDir())
	goOn := stall(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.update(ctx, "test", cursor("a")) }()
	waitFor(t, func() bool { return len(s.writer.queue) == 1 })
	cancel()
	if err := <-done; !ports.IsKind(err, ports.KindCancelled) { // the writer is still stalled
		t.Errorf("got %v", err)
	}
	goOn()
	if err := s.update(t.Context(), "test", cursor("b")); err != nil {
		t.Fatal(err)
	}
	wantCursors(t, s, map[string]bool{"a": false, "b": true})
}

func TestBegunWriteIsWaitedFor(t *testing.T) {
	s := openAt(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	err := s.update(ctx, "test", func(inner context.Context, q *session) error {
		cancel()
		return cursor("a")(inner, q)
	})
	if err != nil {
		t.Errorf("a write that was committed says %v", err)
	}
	wantCursors(t, s, map[string]bool{"a": true})
}

func TestReaderDoesNotStopTheWriter(t *testing.T) {
	s := openAt(t, t.TempDir())
	err := s.view(t.Context(), "slow read", func(ctx context.Context, q *session) error {
		read := func() (n int) {
			if _, err := q.get(ctx, `SELECT COUNT(*) FROM cursor`, nil, &n); err != nil {
				t.Error(err)
			}
			return n
		}
		before := read()
		if err := s.update(t.Context(), "test", cursor("a")); err != nil {
			t.Error("a write beside a read:", err)
		}
		if after := read(); after != before {
			t.Errorf("the read's snapshot moved from %d to %d rows", before, after)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCloseEndsWhatWaits(t *testing.T) {
	s := openAt(t, t.TempDir())
	goOn := stall(t, s)
	got := queue(t, s, cursor("a"))
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	waitFor(t, func() bool {
		select {
		case <-s.writer.closing:
			return true
		default:
			return false
		}
	})
	if err := s.update(t.Context(), "test", cursor("b")); !ports.IsKind(err, ports.KindUnavailable) {
		t.Errorf("a write while closing: %v", err)
	}
	goOn()
	if err := errors.Join(<-got[0], <-closed); err != nil {
		t.Error(err)
	}
}

// Only another node's Accept leaves an owner untold; the sweep must find it.
func TestClaimTellsOfNewsOnce(t *testing.T) {
	s := openAt(t, t.TempDir())
	got, err := acceptEvent(t.Context(), s, "a", "1")
	if err != nil {
		t.Fatal(err)
	}
	err = s.update(t.Context(), "test", func(ctx context.Context, q *session) error {
		_, err := q.exec(ctx, `UPDATE conv SET news = news + 1`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		told, err := s.Claim(t.Context(), 10)
		if err != nil || len(told) != want || (want == 1 && told[0] != got.Leases[0]) {
			t.Errorf("claim tells %v (%v), want %d of %v", told, err, want, got.Leases)
		}
	}
}
