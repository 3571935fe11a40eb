package e2e

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// point has the gateway's config name a database file.
func (g *gateway) point(t *testing.T, at string) {
	t.Helper()
	name := filepath.Join(g.Dir, "dragoman.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "{", `{"store": {"path": `+quoted(at)+`},`, 1))
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A backup is made while everything is under way, the world goes on, and a while
// later the gateway runs on the backup: it takes up what was open then, takes
// what Telegram has kept for it, and knows nothing of what was said between.
func TestAGatewayGoesOnFromABackup(t *testing.T) {
	t.Parallel()
	w := newOldWorld(t, gatewayBinary(t), `"limits": {"stale_after": "0s"},`)
	a := w.live(t)
	out, stderr, code := w.CLI("backup", "monday.db")
	if code != 0 || stderr != "" || !strings.HasPrefix(out, "monday.db is written: ") || !strings.HasSuffix(out, " bytes, 8 conversations, 9 messages.\n") {
		t.Fatalf("backup: exit %d, %q, %s", code, out, stderr)
	}

	w.tg.Mend("sendMessage")
	w.outcome(t, w.people[dan], 3, is("Fine."))
	w.say(t, ann, "said between", 5, is("Fine."))
	eventually(t, answerWithin, "Telegram need not keep it any longer", func() error { // the poll goes beside the turn
		if n := w.tg.Pending(); n > 0 {
			return fmt.Errorf("%d updates wait", n)
		}
		return nil
	})
	w.Kill()
	original := filepath.Join(w.Dir, "dragoman-data", "dragoman.db")
	kept := sum(t, original)
	w.people[ann].Say("said while it was down")

	w.point(t, "./monday.db")
	if err := os.Remove(w.wrote); err != nil {
		t.Fatal(err)
	}
	w.model.On("tell", says200("The end."))
	var users []string
	w.model.Peek(func(p prompt) {
		if p.Said == "said while it was down" {
			users = p.Users
		}
	})
	w.Start()
	w.WaitReady()
	w.outcome(t, w.people[ann], 6, is("Fine."))
	if got := fmt.Sprint(users); got != "[write apples write much said while it was down]" {
		t.Errorf("of Ann's history the model is shown %s", got)
	}
	w.outcome(t, w.people[dan], 4, is("Fine.")) // not sent yet when the backup was made: it goes out again
	last := func(who int64) telegram.Sent {
		sent := w.tg.Sent(who)
		return sent[len(sent)-1]
	}
	eventually(t, 2*time.Minute, "Cat is asked about the call that was cut off", func() error {
		return contains("I was interrupted")(last(cat).Text)
	})
	if err := w.people[cat].Press(last(cat).ID, "Skip it"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Minute, "what Cat said behind it is answered", func() error { return is("Fine.")(last(cat).Text) })
	eventually(t, 2*time.Minute, "Hal has the answer that was in the making", func() error { return is("The end.")(last(hal).Text) })
	if err := w.people[bob].Press(a.Prompt, "Yes, run it"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Minute, "the call that Bob allows runs", func() error { return contains("Got: babbled")(last(bob).Text) })
	eventually(t, 2*time.Minute, "nothing is left to do", func() error { return nothingLeft(filepath.Join(w.Dir, "monday.db")) })

	for _, l := range w.logged("turn_started") {
		if l["deaths"] != float64(0) {
			t.Errorf("what ran when the backup was made counts as a crash: %v", l)
		}
	}
	if n := len(w.logged("store_taken_over")); n > 0 {
		t.Error("the backup says that somebody owned its conversations")
	}
	w.Restart()
	w.Term()
	if b, err := os.ReadFile(w.wrote); err != nil || string(b) != "babbles\n" {
		t.Errorf("the tools that ran are %q (%v), want the one that Bob allowed, once", b, err)
	}
	if sum(t, original) != kept {
		t.Error("the database that was left changed")
	}
}

func sum(t *testing.T, name string) [sha256.Size]byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

func nothingLeft(file string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	var left int
	err = db.QueryRow(`SELECT (SELECT COUNT(*) FROM inbox WHERE turn IS NULL) + (SELECT COUNT(*) FROM turn WHERE state <> 'done')
		+ (SELECT COUNT(*) FROM outbox WHERE state = 'pending')`).Scan(&left)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d things are", left)
	}
	return err
}

const plainConfig = `{"listen": "", "models": {"main": {"type": "demo"}}, "channels": {}}`

func TestABackupSaysWhatItDidAndWhyNot(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), plainConfig)
	refused := func(want int, words string, args ...string) {
		t.Helper()
		out, stderr, code := g.CLI(append([]string{"backup"}, args...)...)
		if code != want || out != "" || !strings.Contains(stderr, words) {
			t.Errorf("backup %q: exit %d, %q, %s; want exit %d and %q", args, code, out, stderr, want, words)
		}
	}
	refused(2, "usage: dragoman backup FILE")
	refused(2, "usage: dragoman backup FILE", "a.db", "b.db")
	refused(2, "unknown flag", "--now", "a.db")
	refused(2, "empty", "")
	refused(1, "there is nothing to back up", "a.db")
	refused(1, "nowhere.json", "--config", "nowhere.json", "a.db")
	if _, err := os.Lstat(filepath.Join(g.Dir, "dragoman-data")); err == nil {
		t.Error("a backup of nothing made a data folder")
	}

	g.Start()
	g.WaitLine("channel_running", answerWithin)
	out, stderr, code := g.CLI("backup", "--json", "a.db")
	if got := keysOf(t, json.RawMessage(out)); code != 0 || stderr != "" || got != "bytes:number conversations:number file:text messages:number" {
		t.Errorf("exit %d, %s, %s", code, got, stderr)
	}
	if info, err := os.Stat(filepath.Join(g.Dir, "a.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v (%v)", info.Mode(), err)
	}
	kept := sum(t, filepath.Join(g.Dir, "a.db"))
	refused(1, "a.db is there already", "a.db")
	if sum(t, filepath.Join(g.Dir, "a.db")) != kept {
		t.Error("the file that was there changed")
	}
	refused(1, "is not there (make it first)", "none/b.db")

	// A config that was spoilt since, or wants variables that this shell lacks, is
	// no reason; one that does not say where the database is, is.
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(g.Dir, "dragoman.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"models": {"main": {"type": "openai", "api_key": "${NOT_SET_HERE}", "nonsense": 1}}}`)
	if out, stderr, code := g.CLI("backup", "c.db"); code != 0 || !strings.Contains(out, "c.db is written") {
		t.Errorf("exit %d, %s%s", code, out, stderr)
	}
	write(`{"store": {"path": "${NOT_SET_HERE}"}}`)
	refused(1, "dragoman.json:1:20: store.path", "d.db")
	write(`{"store": {"path": "gone.db"}}`)
	refused(1, "store.path: there is no file", "d.db")
	write(`{"data_dir": "a.db"}`)
	refused(1, "data_dir must be a folder", "d.db")
	write(plainConfig)
	g.Term()
	if out, stderr, code := g.CLI("backup", "e.db"); code != 0 || !strings.Contains(out, "e.db is written") { // where none runs
		t.Errorf("exit %d, %s%s", code, out, stderr)
	}
}

// Two folders that name one database file would each believe to be alone.
func TestOneDatabaseFileServesOneGateway(t *testing.T) {
	t.Parallel()
	first := newGateway(t, gatewayBinary(t), plainConfig)
	if _, stderr, code := first.CLI("pair", "list"); code != 0 { // makes the database
		t.Fatal(stderr)
	}
	monday := filepath.Join(first.Dir, "monday.db")
	if _, stderr, code := first.CLI("backup", monday); code != 0 {
		t.Fatal(stderr)
	}
	first.point(t, "monday.db")
	first.Start()
	first.WaitLine("channel_running", answerWithin)

	second := newGateway(t, gatewayBinary(t), plainConfig)
	link := filepath.Join(second.Dir, "link.db")
	if err := os.Symlink(monday, link); err != nil {
		t.Fatal(err)
	}
	second.point(t, "./link.db")
	_, stderr, code := second.CLI("run")
	if code != 1 || !strings.Contains(stderr, "another dragoman (pid ") || !strings.Contains(stderr, "is using the database "+monday) || !strings.Contains(stderr, "another store.path") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if out, stderr, code := second.CLI("check"); code != 0 {
		t.Errorf("check: exit %d, %s%s", code, out, stderr)
	}
	// What connects to servers by itself uses no database of anybody.
	if out, stderr, code := second.CLI("tools"); code != 0 {
		t.Errorf("tools: exit %d, %s%s", code, out, stderr)
	}
}

// stuffed is a gateway's folder whose database is so large that a backup takes a while.
func stuffed(t *testing.T) *gateway {
	t.Helper()
	g := newGateway(t, gatewayBinary(t), plainConfig)
	if _, stderr, code := g.CLI("pair", "list"); code != 0 {
		t.Fatal(stderr)
	}
	db, err := sql.Open("sqlite", filepath.Join(g.Dir, "dragoman-data", "dragoman.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
		INSERT INTO artifact (conv, id, name, mime, size, data, at) SELECT 'c', i, '', '', 1, zeroblob(1 << 20), 0 FROM n`); err != nil {
		t.Fatal(err)
	}
	return g
}

// partials are backups that are not whole.
const partials = ".dragoman-backup-*"

// cutOff sends a signal to a backup that has begun, if it has not ended by then.
func cutOff(t *testing.T, g *gateway, s syscall.Signal) (code int, said string) {
	t.Helper()
	p := start(t, g.Dir, g.env, g.bin, "backup", "monday.db")
	eventually(t, answerWithin, "the copy has begun", func() error {
		ended := p.ended()
		parts, err := filepath.Glob(filepath.Join(g.Dir, partials))
		if err == nil && len(parts) == 0 && !ended {
			err = errors.New("not yet")
		}
		return err
	})
	p.signal(s)
	code = p.wait(t, stopWithin)
	return code, strings.Join(p.Lines(), "\n")
}

func TestABackupThatIsCutOffLeavesNoHalfFile(t *testing.T) {
	t.Parallel()
	g := stuffed(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		var code int
		var said string
		for try := 1; ; try++ {
			code, said = cutOff(t, g, s)
			if _, err := os.Lstat(filepath.Join(g.Dir, "monday.db")); errors.Is(err, os.ErrNotExist) {
				break
			}
			if code == 1 || try == 10 {
				t.Fatalf("%v: the backup was written (exit %d, %s)", s, code, said)
			}
			if err := os.Remove(filepath.Join(g.Dir, "monday.db")); err != nil { // the signal came too late: once more
				t.Fatal(err)
			}
		}
		parts, err := filepath.Glob(filepath.Join(g.Dir, partials))
		if err != nil {
			t.Fatal(err)
		}
		if s != syscall.SIGKILL && (code != 1 || len(parts) > 0 || !strings.Contains(said, "stopped before the copy was whole; monday.db is not written")) {
			t.Errorf("%v: exit %d, %v is left, it says %q", s, code, parts, said)
		}
	}
	if out, stderr, code := g.CLI("backup", "monday.db"); code != 0 || !strings.Contains(out, "monday.db is written") {
		t.Errorf("after all that: exit %d, %s%s", code, out, stderr)
	}
}

func TestABackupThatHasNoRoomSaysSo(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	g := stuffed(t)
	_, stderr, code := g.CLI("backup", filepath.Join(disk, "monday.db"))
	if code != 1 || !strings.Contains(stderr, "disk is full") || !strings.Contains(stderr, disk) {
		t.Errorf("exit %d, %s", code, stderr)
	}
	left, err := filepath.Glob(filepath.Join(disk, "*monday*"))
	hidden, hiddenErr := filepath.Glob(filepath.Join(disk, ".monday*"))
	if err := errors.Join(err, hiddenErr); err != nil || len(left)+len(hidden) > 0 {
		t.Errorf("%v %v is left (%v)", left, hidden, err)
	}
	if err := nothingLeft(filepath.Join(g.Dir, "dragoman-data", "dragoman.db")); err != nil {
		t.Errorf("the database: %v", err)
	}
}
