package sqlstore

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"modernc.org/sqlite"
)

// released lists the migrations that databases in the world were made with, each
// with the checksum of its file.
const released = "testdata/migrations.sha256"

// A migration that ran somewhere never runs there again: to change its file is to
// have databases that differ from their schema.
func TestAReleasedMigrationIsNeverChanged(t *testing.T) {
	text, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.ReadDir(migrations, migrationsDir)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, f := range files {
		b, err := fs.ReadFile(migrations, path.Join(migrationsDir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		have[f.Name()] = hex.EncodeToString(sum[:])
	}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("%s: %q is no checksum with a name", released, line)
		}
		switch have[name] {
		case sum:
		case "":
			t.Errorf("%s is gone: databases were made with it; put it back", name)
		default:
			t.Errorf("%s was changed, and databases were made with it as it was: put it back, and make a new migration", name)
		}
		delete(have, name)
	}
	newest := files[len(files)-1].Name()
	for name, sum := range have {
		line := fmt.Sprintf("%s is new: once it is final, add this line to %s:\n%s  %s", name, released, sum, name)
		if name != newest {
			t.Error(line)
			continue
		}
		t.Log(line) // it may change until the first database is made with it
	}
}

// A process that dies in the middle of a migration leaves the database as it was
// before: the next one does the whole of it.
func TestAKillInTheMiddleOfAMigrationLeavesItUndone(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	const messages = 50
	for i := range messages {
		if err := acceptOne(t.Context(), s, "a", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir, childTask+"=migrate")
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewScanner(pipe)
		if !out.Scan() || out.Text() != "in the middle" {
			t.Errorf("the child said %q", out.Text())
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	s = openAt(t, dir)
	b, err := s.Backlog(t.Context())
	if err != nil || b.Inbox != messages {
		t.Errorf("there are %d messages, want %d (%v)", b.Inbox, messages, err)
	}
	err = s.view(t.Context(), "check", func(ctx context.Context, q *session) error {
		var half int
		_, err := q.get(ctx, `SELECT (SELECT COUNT(*) FROM sqlite_master WHERE name = 'half') + (SELECT COUNT(*) FROM goose_db_version WHERE version_id = 900)
			+ (SELECT COUNT(*) FROM inbox WHERE body = 'half')`, nil, &half)
		if half != 0 {
			t.Errorf("%d things of the migration that was cut off are there", half)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	checkIntegrity(t, s)
}

// migrateForEver begins a migration that says when it is in its middle and never
// comes to its end.
func migrateForEver(ctx context.Context, dir string) error {
	err := sqlite.RegisterScalarFunction("stay", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		fmt.Println("in the middle")
		select {}
	})
	if err != nil {
		return err
	}
	all := fstest.MapFS{}
	files, err := fs.ReadDir(migrations, migrationsDir)
	if err != nil {
		return err
	}
	for _, f := range files {
		name := path.Join(migrationsDir, f.Name())
		b, err := fs.ReadFile(migrations, name)
		if err != nil {
			return err
		}
		all[name] = &fstest.MapFile{Data: b}
	}
	all[path.Join(migrationsDir, "0900_half.sql")] = &fstest.MapFile{Data: []byte("-- +goose Up\n" +
		"CREATE TABLE half (id INTEGER);\nUPDATE inbox SET body = 'half';\nSELECT stay();\nCREATE TABLE whole (id INTEGER);\n")}
	db, err := openSQLite(filepath.Join(dir, fileName), "mode=rw", 1, "journal_mode(WAL)", "cache_size(2)") // so few pages that half of it reaches the log
	if err != nil {
		return err
	}
	return migrate(ctx, db, all)
}

// Of processes that start at once, on nothing or on an old database, one brings
// the schema up to date and the others are refused in words.
func TestOfManyThatStartAtOnceOneMigrates(t *testing.T) {
	for _, old := range []bool{false, true} {
		dir := t.TempDir()
		if old {
			put(t, filepath.Join(dir, fileName), oldest(t))
		}
		const many = 5
		said := make(chan string, many)
		var stops []func()
		for range many {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childDir+"="+dir, childTask+"=hold")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			pipe, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stops = append(stops, func() { _ = in.Close(); _ = cmd.Wait() })
			go func() {
				out := bufio.NewScanner(pipe)
				out.Scan()
				said <- out.Text()
			}()
		}
		opened := 0
		for range many {
			switch line := <-said; {
			case line == "open":
				opened++
			case !strings.HasPrefix(line, "failed open the store: another dragoman"):
				t.Errorf("old %v: one said %q", old, line)
			}
		}
		for _, stop := range stops {
			stop()
		}
		if opened != 1 {
			t.Errorf("old %v: %d of %d opened it", old, opened, many)
		}
		s := openAt(t, dir)
		if err := acceptOne(t.Context(), s, "a-new-chat", "1"); err != nil {
			t.Error(err)
		}
		checkIntegrity(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// oldest is a database with the first schema and nothing in it.
func oldest(t *testing.T) []byte {
	t.Helper()
	first := fstest.MapFS{}
	files, err := fs.ReadDir(migrations, migrationsDir)
	if err != nil {
		t.Fatal(err)
	}
	name := path.Join(migrationsDir, files[0].Name())
	b, err := fs.ReadFile(migrations, name)
	if err != nil {
		t.Fatal(err)
	}
	first[name] = &fstest.MapFile{Data: b}
	file := filepath.Join(t.TempDir(), "old.db")
	put(t, file, nil)
	db, err := openSQLite(file, "mode=rw", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), db, first); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return read(t, file)
}
