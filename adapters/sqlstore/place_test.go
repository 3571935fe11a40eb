package sqlstore

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/ports"
)

// The lock of a folder says nothing of a database file elsewhere that two folders
// name: by whichever name, it is one process's.
func TestADatabaseFileIsOneProcesssByAnyName(t *testing.T) {
	at := t.TempDir()
	monday := filepath.Join(at, "monday.db")
	first := openAt(t, filepath.Join(at, "first"))
	if _, err := Backup(t.Context(), Config{Dir: filepath.Join(at, "first")}, monday); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	link, folder := filepath.Join(at, "link.db"), filepath.Join(at, "folder")
	for name, target := range map[string]string{link: monday, folder: at} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	// A data folder whose own database is a link to the file.
	linked := filepath.Join(at, "linked")
	if err := os.Mkdir(linked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(monday, filepath.Join(linked, fileName)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(at)
	s := openFile(t, filepath.Join(at, "holder"), monday)
	for name, cfg := range map[string]Config{
		"the same name":       {Dir: "a", Path: monday},
		"a relative name":     {Dir: "b", Path: "./monday.db"},
		"a symbolic link":     {Dir: "c", Path: link},
		"a linked folder":     {Dir: "d", Path: filepath.Join(folder, "monday.db")},
		"a folder's database": {Dir: linked},
	} {
		cfg.Sync = "full"
		got, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err == nil {
			t.Errorf("%s: a second one opened it (%v)", name, got.Close())
			continue
		}
		want := fmt.Sprintf("another dragoman (pid %d) is using the database %s; stop it first, or choose another store.path", os.Getpid(), monday)
		if !ports.IsKind(err, ports.KindConflict) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v (kind %s), want %s", name, err, ports.KindOf(err), want)
		}
	}
	if err := acceptOne(t.Context(), s, "a", "1"); err != nil {
		t.Errorf("the one that has it: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openFile(t, filepath.Join(at, "a"), link).Close(); err != nil {
		t.Error(err)
	}
}

// What is no database of ours is refused in words, and not a byte of it changes.
func TestWhatIsNoDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	at := t.TempDir()
	s := openAt(t, filepath.Join(at, "data"))
	for i := range 200 {
		if err := acceptOne(t.Context(), s, "a", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	good := filepath.Join(at, "good.db")
	if _, err := Backup(t.Context(), Config{Dir: filepath.Join(at, "data")}, good); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	otherProgram := func(mode string) []byte {
		name := filepath.Join(t.TempDir(), "other.db")
		db, err := sql.Open("sqlite", "file:"+name+"?_pragma=journal_mode("+mode+")")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(`CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES ('bread')`); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		name    string
		content []byte
		kind    ports.Kind
		words   string
	}{
		{"empty", nil, ports.KindInvalid, "is no database of dragoman: it is empty"},
		{"text", []byte(strings.Repeat("{} ", 5000)), ports.KindUnavailable, "is damaged, or no database of dragoman"},
		{"cut", whole[:len(whole)/2], ports.KindUnavailable, "is damaged, or no database of dragoman"},
		{"other", otherProgram("DELETE"), ports.KindInvalid, "is no database of dragoman: another program's tables are in it"},
		{"otherwal", otherProgram("WAL"), ports.KindInvalid, "is no database of dragoman: another program's tables are in it"},
	} {
		name := filepath.Join(at, c.name+".db")
		if err := os.WriteFile(name, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := Config{Dir: filepath.Join(at, "fresh"), Path: name, Sync: "full"}
		got, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err == nil {
			t.Errorf("%s: it opened (%v)", c.name, got.Close())
			continue
		}
		if !ports.IsKind(err, c.kind) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v (kind %s), want %q", c.name, err, ports.KindOf(err), c.words)
		}
		if _, err := Backup(t.Context(), cfg, filepath.Join(at, "never.db")); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: its backup says %v", c.name, err)
		}
		after, err := os.ReadFile(name)
		if err != nil || string(after) != string(c.content) {
			t.Errorf("%s: it was changed (%v)", c.name, err)
		}
		for _, beside := range []string{"-wal", "-shm", "-journal"} {
			if _, err := os.Lstat(name + beside); err == nil {
				t.Errorf("%s: %s was put beside it", c.name, beside)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(at, "never.db")); err == nil {
		t.Error("a refused backup left a file")
	}
}

func TestADatabaseThatIsNotThereIsNotMade(t *testing.T) {
	at := t.TempDir()
	name := filepath.Join(at, "mnoday.db")
	_, err := Open(t.Context(), Config{Dir: filepath.Join(at, "data"), Path: name, Sync: "full"}, slog.New(slog.DiscardHandler))
	if !ports.IsKind(err, ports.KindNotFound) || !strings.Contains(err.Error(), "store.path: there is no file "+name) {
		t.Errorf("got %v (kind %s)", err, ports.KindOf(err))
	}
	file := filepath.Join(at, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Dir: file, Sync: "full"}, slog.New(slog.DiscardHandler))
	if !ports.IsKind(err, ports.KindInvalid) || !strings.Contains(err.Error(), "data_dir must be a folder") || !strings.Contains(err.Error(), `"store": {"path"`) {
		t.Errorf("got %v (kind %s)", err, ports.KindOf(err))
	}
	entries, err := os.ReadDir(at)
	if err != nil || len(entries) != 1 {
		t.Errorf("refused, it left %v (%v)", entries, err)
	}
}

func openFile(t *testing.T, dir, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir, Path: path, Sync: "normal"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Two names of one file are two logs to SQLite: what is in one is lost to the other.
func TestADatabaseWithASecondNameIsRefused(t *testing.T) {
	at := t.TempDir()
	s := openAt(t, filepath.Join(at, "data"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(at, "data", fileName)
	if err := os.Link(file, filepath.Join(at, "second.db")); err != nil {
		t.Skip(err)
	}
	for _, cfg := range []Config{{Dir: filepath.Join(at, "data")}, {Dir: filepath.Join(at, "other"), Path: filepath.Join(at, "second.db")}} {
		cfg.Sync = "normal"
		if _, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler)); !ports.IsKind(err, ports.KindInvalid) || !strings.Contains(err.Error(), "hard link") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
