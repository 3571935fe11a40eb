package e2e

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// databases are what earlier versions left behind when they were killed in the
// middle of everything: NAME.db.gz, and NAME.json with what else the world knows.
const databases = "testdata/databases"

// aside is what of a recorded world is not in its database.
type aside struct {
	Prompt  int    // the message that asks Bob
	Yes     string // what its button sends
	Pending string // the code of the stranger who waits
}

// Those in the recorded world, by what they are in when it ends.
const (
	ann = 6001 + iota // has had two answers, with tools
	bob               // is asked whether a call may run
	cat               // waits for a call that never ends, and has said more
	dan               // has an answer that is not sent
	eve               // was told the commands
	fay               // is a stranger
	gil               // was told of a failure
	hal               // sees an answer in the making, where the version shows one
)

var callNames = []string{"Ann", "Bob", "Cat", "Dan", "Eve", "Fay", "Gil", "Hal"}

// oldWorld is a gateway with the people above, of whatever version.
type oldWorld struct {
	*hostile
	people map[int64]*telegram.User
	wrote  string // a line for each call that began
}

// newOldWorld prepares the gateway and starts nothing. The expiry is far off: a
// recording must not expire on its shelf.
func newOldWorld(t *testing.T, bin, more string) *oldWorld {
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	model := startBadModel(t)
	wrote := filepath.Join(t.TempDir(), "wrote")
	config := hostileConfig(tg, model, "", toolServer("bad", "5m", "E2E_WROTE", wrote), `"ask": {"expires": "876000h"},`+more)
	config = strings.Replace(config, `"mode": "open"`, `"mode": "pairing"`, 1)
	config = strings.Replace(config, `"default": "allow"`, `"default": "allow", "policy": {"bad__babbles": "ask"}, "result_bytes": 64`, 1)
	w := &oldWorld{hostile: &hostile{gateway: newGateway(t, bin, config), tg: tg, model: model}, people: map[int64]*telegram.User{}, wrote: wrote}
	for i, name := range callNames {
		w.people[int64(ann+i)] = tg.User(int64(ann+i), name)
	}
	model.On("write apples", callsFirst("bad__write", `{"text":"apples"}`))
	model.On("write much", callsFirst("bad__write", `{"text":"`+strings.Repeat("much ", 100)+`"}`))
	model.On("babble", callsFirst("bad__babbles", `{"text":"x"}`))
	model.On("hang", callsFirst("bad__hangs", `{"text":"x"}`))
	model.On("fail", bare(401, "$KEY"))
	return w
}

func (w *oldWorld) say(t *testing.T, who int64, text string, n int, want func(string) error) {
	t.Helper()
	w.people[who].Say(text)
	w.outcome(t, w.people[who], n, want)
}

// waiting is the code of the stranger with this identity.
func (w *oldWorld) waiting(t *testing.T, who int64) string {
	t.Helper()
	out, stderr, _ := w.CLI("pair", "list", "--json")
	var list []struct{ Code, Identity, State string }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr)
	}
	for _, p := range list {
		if p.Identity == fmt.Sprint("tg:", who) && p.Code != "" {
			return p.Code
		}
	}
	return ""
}

// live starts the gateway and brings everybody into what they are in.
func (w *oldWorld) live(t *testing.T) (a aside) {
	t.Helper()
	w.Start()
	w.WaitReady()
	for who := range w.people {
		w.say(t, who, "hello", 1, contains("")) // a refusal, with a code
		if who == fay {
			continue
		}
		if _, stderr, code := w.CLI("pair", "approve", w.waiting(t, who)); code != 0 {
			t.Fatalf("pair approve: %s", stderr)
		}
		w.outcome(t, w.people[who], 2, contains("You are in"))
	}
	a.Pending = w.waiting(t, fay)
	w.say(t, ann, "write apples", 3, is("Got: wrote apples"))
	w.say(t, ann, "write much", 4, contains("Got: "))
	w.say(t, eve, "/help", 3, contains("/stop"))
	w.say(t, gil, "fail", 3, contains("Reference: "))
	w.say(t, bob, "babble", 3, contains("May I run bad__babbles"))
	prompt := w.tg.Sent(bob)[2]
	a.Prompt, a.Yes = prompt.ID, *prompt.Rows[0][0].Data
	w.model.On("tell", stalls(chunk(map[string]any{"role": "assistant", "content": "Once upon a time there was an answer"}, ""), 0))
	w.people[hal].Say("tell")
	_ = poll(3*time.Second, func() error { // not every version shows it
		if len(w.tg.Sent(hal)) < 3 {
			return errors.New("not seen")
		}
		return nil
	})
	w.people[cat].Say("hang")
	eventually(t, answerWithin, "the call that never ends has begun", func() error {
		if b, err := os.ReadFile(w.wrote); err != nil || !strings.Contains(string(b), "hangs") {
			return fmt.Errorf("%q %w", b, err)
		}
		return nil
	})
	w.people[cat].Say("and this")
	w.tg.Hang("sendMessage", 1000)
	w.people[dan].Say("and me?")
	eventually(t, answerWithin, "all is stored, and an answer hangs", func() error {
		db, err := openDB(w.Dir)
		if err != nil {
			return err
		}
		defer db.Close()
		var inbox, outbox int
		err = db.QueryRow(`SELECT (SELECT COUNT(*) FROM inbox WHERE turn IS NULL), (SELECT COUNT(*) FROM outbox WHERE state = 'pending' AND conv LIKE ?)`,
			fmt.Sprintf("%%%d%%", dan)).Scan(&inbox, &outbox)
		if err == nil && (inbox != 2 || outbox != 1) { // Hal's has no row of its turn before its reply
			err = fmt.Errorf("%d messages wait, %d answers", inbox, outbox)
		}
		return err
	})
	return a
}

// With DRAGOMAN_OLD naming the binary of a version this records the database that
// it leaves behind, as DRAGOMAN_OLD_NAME; see the README of testdata/databases.
func TestRecordADatabase(t *testing.T) {
	bin, name := os.Getenv("DRAGOMAN_OLD"), os.Getenv("DRAGOMAN_OLD_NAME")
	if bin == "" || name == "" {
		t.Skip("DRAGOMAN_OLD and DRAGOMAN_OLD_NAME are not set: nothing is to be recorded")
	}
	w := newOldWorld(t, bin, "")
	a := w.live(t)
	w.Kill()
	file := filepath.Join(w.Dir, "dragoman-data", "dragoman.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil { // one file is all of it then
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err = z.Write(content)
	text, asideErr := json.MarshalIndent(a, "", "  ")
	to := filepath.Join(cmp.Or(os.Getenv("DRAGOMAN_OLD_DIR"), databases), name)
	err = errors.Join(err, z.Close(), asideErr, os.WriteFile(to+".db.gz", zipped.Bytes(), 0o600), os.WriteFile(to+".json", append(text, '\n'), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// A database that any earlier version left behind, killed, goes on under this
// one: nothing of it is lost, asked twice or done twice.
func TestTheDatabaseOfEveryEarlierVersionGoesOn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(cmp.Or(os.Getenv("DRAGOMAN_OLD_DIR"), databases), "*.db.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal("there is no old database", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".db.gz"), func(t *testing.T) {
			t.Parallel()
			w := newOldWorld(t, gatewayBinary(t), `"limits": {"stale_after": "0s"},`)
			w.goOn(t, unpack(t, file, filepath.Join(w.Dir, "dragoman-data")))
		})
	}
}

// unpack lays a recorded database into a data folder.
func unpack(t *testing.T, file, dir string) (a aside) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimSuffix(file, ".db.gz") + ".json")
	err = errors.Join(err, json.Unmarshal(text, &a), os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "dragoman.db"), content, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	later(t, filepath.Join(dir, "dragoman.db"))
	return a
}

// later moves the ends of what a recorded database has open to an hour from now.
func later(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	end := time.Now().Add(time.Hour)
	_, err = db.ExecContext(t.Context(), `UPDATE record SET expires = ?1 WHERE expires > 0`, end.UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `UPDATE question SET expires = ?1, body = json_set(body, '$.expires', ?2) WHERE state = 'open'`,
		end.UnixMilli(), end.Format(time.RFC3339))
	if err != nil {
		t.Fatal(err)
	}
}

// spend uses up the update ids that the recorded world has used; in their chats
// everybody has written to the bot.
func (w *oldWorld) spend(t *testing.T) {
	t.Helper()
	db, err := openDB(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var cursor string
	if err := db.QueryRow(`SELECT cursor FROM cursor WHERE channel = 'tg'`).Scan(&cursor); err != nil {
		t.Fatal(err)
	}
	next, err := strconv.ParseInt(regexp.MustCompile(`\d+`).FindString(cursor), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range w.people {
		u.Say("heard before")
	}
	for id := int64(0); id < next; {
		id = w.tg.Raw("poll", `{}`)
	}
}

// press is Bob's yes to the question of the recorded world.
func (w *oldWorld) press(a aside) {
	w.tg.Raw("callback_query", fmt.Sprintf(`{"id": "4711", "from": {"id": %d, "is_bot": false, "first_name": "Bob"}, "chat_instance": "1", "data": %q,
		"message": {"message_id": %d, "date": %d, "chat": {"id": %d, "type": "private"}, "text": "?"}}`, bob, a.Yes, a.Prompt, time.Now().Unix(), bob))
}

// goOn starts the gateway on the recorded database, and everybody comes to their end.
func (w *oldWorld) goOn(t *testing.T, a aside) {
	t.Helper()
	before := rows(t, w.Dir)
	w.model.On("tell", says200("The end."))
	w.spend(t)
	w.Start()
	w.WaitReady()

	w.outcome(t, w.people[dan], 1, is("Fine.")) // the answer that was not sent
	w.outcome(t, w.people[cat], 1, contains("I was interrupted while "))
	asked := w.tg.Sent(cat)[0]
	if got := fmt.Sprint(asked.Buttons()); got != "[Run it again Skip it Stop]" {
		t.Errorf("about the call that was cut off Cat is asked %q, with %s", asked.Text, got)
	}
	if err := w.people[cat].Press(asked.ID, "Skip it"); err != nil {
		t.Fatal(err)
	}
	w.outcome(t, w.people[cat], 2, contains("Got: "))
	w.outcome(t, w.people[cat], 3, is("Fine.")) // what waited behind it

	eventually(t, 2*time.Minute, "the answer that was in the making is made", func() error {
		sent := w.tg.Sent(hal)
		if len(sent) == 0 || sent[len(sent)-1].Text != "The end." {
			return fmt.Errorf("there is %+v", sent)
		}
		return nil
	})
	w.press(a)
	w.outcome(t, w.people[bob], 1, contains("Got: babbled"))
	w.press(a) // counts once

	var users []string
	w.model.Peek(func(p prompt) {
		if p.Said == "what did I say?" {
			users = p.Users
		}
	})
	w.say(t, ann, "what did I say?", 1, is("Fine."))
	if got := fmt.Sprint(users); got != "[write apples write much what did I say?]" {
		t.Errorf("of Ann's history the model is shown %s", got)
	}
	if code := w.waiting(t, fay); code != a.Pending {
		t.Errorf("the stranger's code is %q, and was %q", code, a.Pending)
	}
	if _, stderr, code := w.CLI("pair", "approve", a.Pending); code != 0 {
		t.Errorf("the stranger is not let in: %s", stderr)
	}
	w.outcome(t, w.people[fay], 1, contains("You are in"))
	eventually(t, 2*time.Minute, "nothing is left to do", func() error { return nothingPending(w.Dir) })
	w.Term()

	w.only(t, w.people[dan], "Fine.")
	w.only(t, w.people[hal], "The end.")
	if b, err := os.ReadFile(w.wrote); err != nil || string(b) != "babbles\n" {
		t.Errorf("the tools that ran are %q (%v), want the one that Bob allowed, once", b, err)
	}
	for _, who := range []int64{eve, gil} {
		w.only(t, w.people[who])
	}
	after := rows(t, w.Dir)
	for table, n := range before {
		if after[table] < n {
			t.Errorf("of %d rows of %s %d are left", n, table, after[table])
		}
	}
	if after["artifact"] == 0 || after["damage"] > 0 {
		t.Errorf("there are %d artifacts, and %d faults in the file", after["artifact"], after["damage"])
	}
}

// rows counts what is kept for ever.
func rows(t *testing.T, dir string) map[string]int {
	t.Helper()
	db, err := openDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	out := map[string]int{}
	for name, from := range map[string]string{
		"inbox": "inbox", "turn": "turn", "step": "step", "question": "question", "outbox": "outbox", "audit": "audit", "usage": "usage", "artifact": "artifact",
		"record": "record WHERE kind NOT LIKE '%code%'",
		"damage": "pragma_integrity_check WHERE integrity_check <> 'ok'",
	} {
		var n int
		if err := db.QueryRow(`SELECT COUNT(*) FROM ` + from).Scan(&n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = n
	}
	return out
}
