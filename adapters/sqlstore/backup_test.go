package sqlstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
)

// A backup beside a process that writes is one moment of it: what was
// acknowledged before it began is there, and nothing is half there.
func TestABackupIsOneMomentOfAStoreThatWrites(t *testing.T) {
	at := t.TempDir()
	dir := filepath.Join(at, "data")
	_, _, out := startChild(t, dir, "write")
	var mu sync.Mutex
	acknowledged := map[string]string{} // event to chat
	go func() {
		for out.Scan() {
			if event := out.Text(); strings.Count(event, "-") == 2 {
				mu.Lock()
				acknowledged[event] = strings.Split(event, "-")[1]
				mu.Unlock()
			}
		}
	}()
	known := func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		before := make(map[string]string, len(acknowledged))
		for event, chat := range acknowledged {
			before[event] = chat
		}
		return before
	}
	waitFor(t, func() bool { // each writer was heard
		chats := map[string]bool{}
		for _, chat := range known() {
			chats[chat] = true
		}
		return len(chats) == 8
	})
	for round := range 4 {
		waitFor(t, func() bool { return len(known()) > 100*(round+1) })
		before := known()
		file := filepath.Join(at, fmt.Sprintf("%d.db", round))
		got, err := Backup(t.Context(), Config{Dir: dir}, file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() != got.Bytes || got.Messages < int64(len(before)) || got.Conversations != 8 {
			t.Errorf("backup %d is %v, says %+v, and %d messages were acknowledged before (%v)", round, info.Mode(), got, len(before), err)
		}
		s := openFile(t, filepath.Join(at, fmt.Sprint("restored", round)), file)
		b, err := s.Backlog(t.Context())
		if err != nil || int64(b.Inbox) != got.Messages {
			t.Errorf("backup %d holds %d messages and says %d (%v)", round, b.Inbox, got.Messages, err)
		}
		for event, chat := range before {
			a, err := acceptEvent(t.Context(), s, chat, event)
			if err != nil || a.Seen != 1 {
				t.Errorf("backup %d lacks %s, acknowledged before it (%v)", round, event, err)
			}
		}
		checkIntegrity(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	onlyWhole(t, at)
}

// onlyWhole looks for parts of backups.
func onlyWhole(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "partial") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// The life that ran when the copy was made has not died in it: no conversation
// has an owner, and opening it counts no death.
func TestWhatRanAtABackupCountsAsNoCrash(t *testing.T) {
	at := t.TempDir()
	s := openAt(t, filepath.Join(at, "data"))
	l := accepted(t, s, "a", "1")
	turn := ports.TurnID(l.In, 1)
	if err := s.Record(t.Context(), l, ports.Change{Turn: turn, Person: "p", Take: []int64{1}}); err != nil {
		t.Fatal(err)
	}
	epoch, err := s.Acquire(t.Context(), "c")
	if err != nil || epoch == 0 {
		t.Fatal(epoch, err)
	}
	if _, err := s.Put(t.Context(), ports.Record{Scope: "s", Kind: "k", Key: "x", Body: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(at, "monday.db")
	if _, err := Backup(t.Context(), Config{Dir: filepath.Join(at, "data")}, file); err != nil {
		t.Fatal(err)
	}
	if w, err := s.Load(t.Context(), l); err != nil || w.Turn == nil {
		t.Errorf("the store that was copied lost the lease: %+v %v", w, err)
	}
	for range 3 { // also after crashes before anything was claimed
		r := openFile(t, filepath.Join(at, "restored"), file)
		if err := r.crash(); err != nil {
			t.Fatal(err)
		}
	}
	r := openFile(t, filepath.Join(at, "restored"), file)
	leases, err := r.Claim(t.Context(), 10)
	if err != nil || len(leases) != 1 {
		t.Fatal(leases, err)
	}
	w, err := r.Load(t.Context(), leases[0])
	if err != nil || w.Turn == nil || w.Turn.ID != turn || w.Deaths != (ports.Deaths{}) {
		t.Errorf("restored: %+v (%v), want turn %s and no death", w, err, turn)
	}
	if _, err := r.Acquire(t.Context(), "c"); err != nil {
		t.Errorf("the channel: %v", err)
	}
	if _, err := r.Get(t.Context(), "s", "k", "x"); err != nil {
		t.Errorf("a record: %v", err)
	}
}

func accepted(t *testing.T, s *Store, chat, event string) ports.Lease {
	t.Helper()
	got, err := acceptEvent(t.Context(), s, chat, event)
	if err != nil || len(got.Leases) != 1 {
		t.Fatal(got, err)
	}
	return got.Leases[0]
}

func TestABackupIsNeverOverAFile(t *testing.T) {
	at := t.TempDir()
	cfg := Config{Dir: filepath.Join(at, "data")}
	openAt(t, cfg.Dir)
	for _, c := range []struct{ taken, name, words string }{
		{"a.db", "a.db", "a.db is there already"},
		{"b.db-wal", "b.db", "b.db-wal is there, a rest of another database"}, // SQLite would read it into the copy
		{"c.db-journal", "c.db", "c.db-journal is there, a rest of another database"},
		{"d.db/x", "d.db", "d.db is there already"},
		{"", "no/e.db", "is not there (make it first)"},
		{"", "data/" + fileName, fileName + " is there already"},
	} {
		taken, name := filepath.Join(at, c.taken), filepath.Join(at, c.name)
		if c.taken != "" {
			if err := os.MkdirAll(filepath.Dir(taken), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Backup(t.Context(), cfg, name); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", c.name, err, c.words)
		}
		if b, err := os.ReadFile(taken); c.taken != "" && (err != nil || string(b) != "mine") {
			t.Errorf("%s holds %q (%v)", c.taken, b, err)
		}
	}
	onlyWhole(t, at)

	// Somebody takes the name while the copy is made.
	partial, err := newPartial(filepath.Join(at, "f.db"))
	if err != nil {
		t.Fatal(err)
	}
	f := filepath.Join(at, "f.db")
	if err := os.WriteFile(f, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := publish(t.Context(), partial, f); !ports.IsKind(err, ports.KindConflict) {
		t.Errorf("publish over a file: %v", err)
	}
	if b, err := os.ReadFile(f); err != nil || string(b) != "mine" {
		t.Errorf("it holds %q (%v)", b, err)
	}
}

func TestABackupOfNothingMakesNothing(t *testing.T) {
	at := t.TempDir()
	_, err := Backup(t.Context(), Config{Dir: filepath.Join(at, "data")}, filepath.Join(at, "a.db"))
	if !ports.IsKind(err, ports.KindNotFound) || !strings.Contains(err.Error(), "there is nothing to back up") {
		t.Errorf("got %v (kind %s)", err, ports.KindOf(err))
	}
	if entries, err := os.ReadDir(at); err != nil || len(entries) > 0 {
		t.Errorf("it made %v (%v)", entries, err)
	}
}

// A stop, at whatever moment, leaves the whole file or none.
func TestABackupThatIsStoppedLeavesNothing(t *testing.T) {
	at := t.TempDir()
	cfg := Config{Dir: filepath.Join(at, "data")}
	s := openAt(t, cfg.Dir)
	for i := range 40 {
		m := ports.Artifact{In: ports.Conversation{Channel: "c", Chat: "a"}, ID: fmt.Sprint(i), Data: make([]byte, 256<<10)}
		if err := s.Save(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	if _, err := Backup(t.Context(), cfg, filepath.Join(at, "whole.db")); err != nil {
		t.Fatal(err)
	}
	took, stopped := time.Since(start), 0
	for i := range 12 {
		file := filepath.Join(at, fmt.Sprintf("%d.db", i))
		ctx, cancel := context.WithTimeout(t.Context(), took*time.Duration(i)/12)
		_, err := Backup(ctx, cfg, file)
		cancel()
		_, missing := os.Lstat(file)
		switch {
		case err == nil && missing != nil:
			t.Errorf("stop %d: it succeeded and %v", i, missing)
		case err != nil && missing == nil:
			t.Errorf("stop %d: it failed (%v), and the file is there", i, err)
		case err != nil:
			stopped++
			if !ports.IsKind(err, ports.KindCancelled) || !strings.Contains(err.Error(), "stopped before the copy was whole") {
				t.Errorf("stop %d: %v (kind %s)", i, err, ports.KindOf(err))
			}
		}
	}
	if stopped == 0 {
		t.Error("no backup was stopped: the test shows nothing")
	}
	onlyWhole(t, at)
}

// What a kill leaves has another name than the backup's, and the next one takes it away.
func TestWhatAKilledBackupLeftIsTakenAway(t *testing.T) {
	at := t.TempDir()
	openAt(t, filepath.Join(at, "data"))
	file := filepath.Join(at, "monday[1].db") // no pattern
	old, err := newPartial(file)
	if err != nil {
		t.Fatal(err)
	}
	young, err := newPartial(file)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * leftover)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), Config{Dir: filepath.Join(at, "data")}, file); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(old); err == nil {
		t.Error("the old rest is there still")
	}
	if _, err := os.Lstat(young); err != nil {
		t.Error("a backup that may run still lost its file")
	}
	if rest, err := filepath.Glob(filepath.Join(at, ".*partial*")); err != nil || len(rest) != 1 {
		t.Errorf("there is %v (%v)", rest, err)
	}
}
