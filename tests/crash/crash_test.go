// Package crash kills the gateway at every point where it can die.
//
// A point is the moment before or after a call of a port: of the store, of a
// channel and of what it calls back, of a model, of a source of tools, of a tool.
// Recorders around the ports find them, nobody lists them. A drama is played once
// without a death, in a process of its own, which notes the points that it
// reaches; then it is played once for each of them, and the process kills itself
// there with SIGKILL. The next process goes on with the rows that are left. What
// it does to recover has points of its own, and it is killed at those too.
//
// When a drama is over the rows, the platform's messages, the tools' effects and
// what the model remembers are held against each other, and against the run
// without a death. A point that was ever reached, and at which nobody died, fails.
package crash

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/sqlstore"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		if err := liveOut(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childBinary lives the lives: this test itself, or, since a thousand processes
// with the race detector take too long, a copy without it.
var childBinary = os.Args[0]

// template is a database whose schema is up to date.
var template []byte

func prepare(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		childBinary = filepath.Join(dir, "child")
		c := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", childBinary, ".")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go test -c: %v\n%s", err, out)
		}
	}
	db, err := sqlstore.Open(t.Context(), sqlstore.Config{Dir: dir, Sync: "normal"}, slog.New(slog.DiscardHandler))
	if err == nil {
		err = db.Close()
	}
	if err == nil {
		template, err = os.ReadFile(filepath.Join(dir, dbName))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsLostOrDoneTwiceWhereverTheProcessIsKilled is the whole of it. With
// CRASH_DRAMA in the environment it plays those dramas alone (names with | between
// them), which may not reach what the clock drives; with CRASH_CALM nobody dies, to see how dramas go.
// All points of lives without a death are played, and of those in recoveries a quarter,
// another one each day: CRASH_SHARE is which (0 to 3), or "all".
func TestNothingIsLostOrDoneTwiceWhereverTheProcessIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills a thousand processes")
	}
	prepare(t)
	began := time.Now()
	pl := &plan{calm: map[string]*play{}, ways: map[string][]way{}, tried: map[string]int{}, hit: map[string]bool{}, alone: os.Getenv("CRASH_DRAMA") != "", share: shareOf(t, os.Getenv("CRASH_SHARE")), fail: t.Errorf}
	t.Logf("share %d of the points in recoveries", pl.share)
	var calm []task
	only := os.Getenv("CRASH_DRAMA")
	for _, d := range dramas() {
		if only == "" || slices.Contains(strings.Split(only, "|"), d.name) {
			calm = append(calm, task{way: way{d: d}})
		}
	}
	pl.perform(calm)
	first := len(pl.ways)
	pl.eachCommitOnce()
	if t.Failed() {
		t.Fatal("it does not go well even without a death")
	}
	if os.Getenv("CRASH_CALM") != "" {
		return
	}
	for round := 1; !t.Failed(); round++ {
		list := pl.due()
		if len(list) == 0 {
			break
		}
		pl.perform(list)
		t.Logf("round %d: %d runs, %s", round, len(list), time.Since(began).Round(time.Second))
	}
	if missed, chance := pl.missed(); !t.Failed() {
		if len(missed) > 0 {
			t.Errorf("nobody died at %d points:\n%s", len(missed), strings.Join(missed, "\n"))
		}
		if len(chance) > 0 {
			t.Logf("nobody died at %d reads that came by chance:\n%s", len(chance), strings.Join(chance, "\n"))
		}
	}
	t.Logf("%d crash points in %d scenarios (%d of them in recoveries): %d killed at, each restarted and checked, in %d runs and %s",
		len(pl.ways), len(calm), len(pl.ways)-first, len(pl.hit), pl.runs, time.Since(began).Round(time.Second))
}

// shareOf reads a share; that of the day if nothing is said.
func shareOf(t *testing.T, said string) int {
	t.Helper()
	switch n, err := strconv.Atoi(said); {
	case said == "":
		return time.Now().UTC().YearDay() % shares
	case said == "all":
		return -1
	case err != nil || n < 0 || n >= shares:
		t.Fatalf("CRASH_SHARE is %q, want 0 to %d or all", said, shares-1)
		return 0
	default:
		return n
	}
}
