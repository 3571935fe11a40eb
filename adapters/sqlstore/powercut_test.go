package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// A crash may leave the end of the log half-written, cut at any byte: what was
// committed before is there, nothing of the commit that was cut, and the next
// writes come behind.
func TestALogThatIsTornAtAnyByteOpens(t *testing.T) {
	src := t.TempDir()
	s := openAt(t, src)
	const whole = 20
	for i := range whole {
		if i == whole-2 { // the rest is in the log alone
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, src)
		}
		if err := acceptOne(t.Context(), s, "a", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(src, fileName+"-wal")
	before := size(t, log)
	if err := s.update(t.Context(), "test", cursor("last")); err != nil {
		t.Fatal(err)
	}
	after := size(t, log)
	if after <= before {
		t.Fatalf("the log did not grow: %d to %d bytes", before, after)
	}
	database, frames := read(t, filepath.Join(src, fileName)), read(t, log)
	dir := t.TempDir()
	untorn := func() {
		put(t, filepath.Join(dir, fileName), database)
		put(t, filepath.Join(dir, fileName+"-wal"), frames)
	}
	untorn()
	for cut := after; cut >= before; cut-- {
		if err := os.Truncate(filepath.Join(dir, fileName+"-wal"), cut); err != nil {
			t.Fatal(err)
		}
		last := 0
		if cut == after {
			last = 1
		}
		if inbox, cursors := countRows(t, dir); inbox != whole || cursors != 1+last {
			t.Errorf("cut at %d of %d: %d messages and %d cursors, want %d and %d", cut, after, inbox, cursors, whole, 1+last)
		}
		if (cut-before)%509 != 0 && cut != after { // a prime: every part of a frame is met
			continue
		}
		torn := openAt(t, dir)
		if err := acceptOne(t.Context(), torn, "a", "next"); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
		checkIntegrity(t, torn)
		if err := torn.Close(); err != nil {
			t.Error(err)
		}
		if inbox, _ := countRows(t, dir); inbox != whole+1 {
			t.Errorf("cut at %d: after one more message there are %d", cut, inbox)
		}
		untorn()
	}
}

// countRows looks at what a copy holds, as the next process to open it would see it.
func countRows(t *testing.T, dir string) (inbox, cursors int) {
	t.Helper()
	db, err := openSQLite(filepath.Join(dir, fileName), "mode=ro", 1)
	if err != nil {
		t.Fatal(err)
	}
	err = db.QueryRow(`SELECT (SELECT COUNT(*) FROM inbox), (SELECT COUNT(*) FROM cursor)`).Scan(&inbox, &cursors)
	if err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	return inbox, cursors
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// disk is a file system on a file. What the file holds is what the disk would
// hold if the power failed now: nothing that was not flushed. Only as root.
type disk struct {
	image, at string
}

func mountDisk(t *testing.T) disk {
	t.Helper()
	dir := t.TempDir()
	d := disk{image: filepath.Join(dir, "image"), at: filepath.Join(dir, "disk")}
	shell(t, true, "truncate -s 32M "+d.image+" && mkfs.ext4 -q -F -m 0 "+d.image)
	// commit: the file system flushes nothing by itself while the test lasts.
	d.mount(t, "commit=300,noauto_da_alloc")
	return d
}

func (d disk) mount(t *testing.T, options string) {
	t.Helper()
	if err := os.MkdirAll(d.at, 0o700); err != nil {
		t.Fatal(err)
	}
	shell(t, true, "mount -o loop,"+options+" "+d.image+" "+d.at)
	t.Cleanup(func() { shell(t, false, "umount "+d.at) })
}

// shell runs a command that only root may; where the machine does not let it,
// needed ones leave the test out.
func shell(t *testing.T, needed bool, command string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput()
	switch {
	case err == nil:
	case needed && os.Getenv("CI") != "true":
		t.Skipf("LEFT OUT: %s: %v: %s", command, err, strings.TrimSpace(string(out)))
	default:
		t.Fatalf("%s: %v: %s", command, err, strings.TrimSpace(string(out)))
	}
}

// The power fails right after a write was acknowledged, again and again, also
// around checkpoints: with sync "full" the write is on the disk. With "normal"
// it is not, which shows that the test can tell.
func TestWhatWasAcknowledgedOutlivesAPowerCut(t *testing.T) {
	const cuts = 12
	for _, c := range []struct {
		sync  string
		loses bool
	}{{"full", false}, {"normal", true}} {
		t.Run(c.sync, func(t *testing.T) {
			d := mountDisk(t)
			s, err := Open(t.Context(), Config{Dir: filepath.Join(d.at, "data"), Sync: c.sync}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			images := make([]string, cuts)
			stored := make([]int, cuts)
			n := 0
			for i := range cuts {
				for range 1 + i*11 { // the log comes around after a thousand pages
					if err := acceptOne(t.Context(), s, fmt.Sprint(n%7), fmt.Sprint(n)); err != nil {
						t.Fatal(err)
					}
					n++
				}
				images[i], stored[i] = filepath.Join(t.TempDir(), "image"), n
				put(t, images[i], read(t, d.image)) // the power fails
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			lost := 0
			for i, image := range images {
				lost += stored[i] - survived(t, image)
			}
			if lost > 0 != c.loses {
				t.Errorf("with sync %s, %d acknowledged messages are lost in %d power cuts", c.sync, lost, cuts)
			}
		})
	}
}

// survived starts on a disk as the power cut left it, and counts the messages.
func survived(t *testing.T, image string) int {
	t.Helper()
	d := disk{image: image, at: filepath.Join(t.TempDir(), "disk")}
	d.mount(t, "noatime")
	s := openAt(t, filepath.Join(d.at, "data"))
	defer s.Close()
	b, err := s.Backlog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkIntegrity(t, s)
	return b.Inbox
}

// A disk on which nothing can be written for a while costs nobody a restart.
func TestALogThatMayNotBeWrittenForAWhileFailsPlainlyAndRecovers(t *testing.T) {
	for _, which := range []string{"", "-wal"} {
		t.Run("database"+which, func(t *testing.T) {
			dir, err := os.MkdirTemp("/var/tmp", "dragoman-test") // TMPDIR may be memory, where an open file stays writable
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			s := openAt(t, dir)
			if err := acceptOne(t.Context(), s, "a", "0"); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, fileName+which)
			shell(t, true, "chattr +i "+name)
			t.Cleanup(func() { shell(t, false, "chattr -i "+name) })
			stored, failed := 1, 0
			for i := range 600 { // without a checkpoint the database itself is not written to
				err := acceptOne(t.Context(), s, "a", fmt.Sprint(i+1))
				switch {
				case err == nil:
					stored++
				case !ports.IsKind(err, ports.KindUnavailable):
					t.Fatalf("write %d says %v", i, err)
				default:
					failed++
					if err := s.Writable(t.Context()); !ports.IsKind(err, ports.KindUnavailable) {
						t.Fatalf("the store says of itself: %v", err)
					}
				}
			}
			if which == "-wal" && failed != 600 {
				t.Errorf("%d of 600 writes failed: the test shows nothing", failed)
			}
			if b, err := s.Backlog(t.Context()); err != nil || b.Inbox != stored {
				t.Errorf("a read meanwhile: %d messages, want %d (%v)", b.Inbox, stored, err)
			}
			shell(t, false, "chattr -i "+name)
			if err := s.Writable(t.Context()); err != nil {
				t.Errorf("it can write again, and says %v", err)
			}
			if err := acceptOne(t.Context(), s, "a", "last"); err != nil {
				t.Error(err)
			}
			if b, err := s.Backlog(t.Context()); err != nil || b.Inbox != stored+1 {
				t.Errorf("at last there are %d messages, want %d (%v)", b.Inbox, stored+1, err)
			}
			checkIntegrity(t, s)
		})
	}
}
