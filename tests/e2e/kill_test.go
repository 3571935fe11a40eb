package e2e

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to read what the gateway left behind

	"dragoman/tests/fake/telegram"
)

// 200 people write at once, and the gateway is killed at ten random moments
// while it answers: nothing is lost, nothing mixed up, and nothing doubled but
// what was on its way to Telegram at a kill.
func TestNothingIsLostWhenTheGatewayIsKilled(t *testing.T) {
	t.Parallel()
	const people, kills, inFlight = 200, 10, 8 // inFlight: sends_in_flight's default
	// A send is open until its answer can have been committed: the fake sees only
	// its own end of that.
	const marking = 100 * time.Millisecond
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	tg.Delay("sendMessage", 20*time.Millisecond)
	var fixtures []fixture
	for i := range people {
		word, slow := fmt.Sprintf("q-%03d", i), 50+rand.IntN(400)
		if i%2 == 0 { // half of them take a tool's round
			call := wants(word, "time", map[string]any{})
			call["latency"] = slow
			fixtures = append(fixtures, call)
		}
		answer := says(word, fmt.Sprintf("a-%03d", i))
		answer["latency"] = slow
		fixtures = append(fixtures, answer)
	}
	for i, f := range fixtures { // the first that matches counts: a call only without its result
		if r, ok := f["response"].(map[string]any); ok && r["toolCalls"] != nil {
			fixtures[i]["match"].(map[string]any)["hasToolResult"] = false
		}
	}
	mock := startAimock(t, fixtures...)
	g := startGateway(t, `{"listen": "${LISTEN}", "access": {"mode": "open"},
		"models": {"main": {"type": "openai", "base_url": `+quoted(mock.URL+"/v1")+`, "model": "m"}},
		"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}}}`)

	users := make([]*telegram.User, people)
	for i := range users {
		users[i] = tg.User(int64(5000+i), fmt.Sprintf("P%03d", i))
		users[i].Say(fmt.Sprintf("q-%03d", i))
	}
	open := 0
	for range kills {
		moment := time.NewTimer(time.Duration(30+rand.IntN(400)) * time.Millisecond)
		<-moment.C
		before := time.Now()
		g.Kill()
		open += tg.During("sendMessage", before.Add(-marking), time.Now())
		g.Start()
		g.WaitReady()
	}
	eventually(t, 2*time.Minute, "everybody has an answer", func() error {
		for i, u := range users {
			if len(tg.Sent(u.ID())) == 0 {
				return fmt.Errorf("P%03d has none", i)
			}
		}
		return nil
	})
	eventually(t, 2*time.Minute, "nothing is left to do", func() error { return nothingPending(g.Dir) })
	g.Term()

	doubles := 0
	for i, u := range users {
		sent := tg.Sent(u.ID())
		for _, m := range sent {
			if answer := fmt.Sprintf("a-%03d", i); m.Text != answer && m.Text != answer+" …" { // a preview that was on its way
				t.Errorf("P%03d was told %q", i, m.Text)
			}
		}
		doubles += len(sent) - 1
	}
	t.Logf("%d people, %d kills: lost 0, doubled %d; sends open at the kills by the fake's count: %d", people, kills, doubles, open)
	if doubles > open || doubles > kills*inFlight {
		t.Errorf("%d answers were doubled, more than were on their way", doubles)
	}
	checkJournal(t, g.Dir, people)
}

func openDB(dir string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(dir, "dragoman-data", "dragoman.db")+"?mode=ro&_pragma=busy_timeout(5000)")
}

func nothingPending(dir string) error {
	db, err := openDB(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	var inbox, turns, outbox int
	err = db.QueryRow(`SELECT (SELECT COUNT(*) FROM inbox WHERE turn IS NULL), (SELECT COUNT(*) FROM turn WHERE state <> 'done'),
		(SELECT COUNT(*) FROM outbox WHERE state = 'pending')`).Scan(&inbox, &turns, &outbox)
	if err == nil && inbox+turns+outbox > 0 {
		err = fmt.Errorf("%d messages wait, %d turns run, %d deliveries are pending", inbox, turns, outbox)
	}
	return err
}

// checkJournal looks at what the store says became of the messages.
func checkJournal(t *testing.T, dir string, people int) {
	t.Helper()
	db, err := openDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range []struct {
		what, query string
		want        int
	}{
		{"messages", `SELECT COUNT(*) FROM inbox`, people},
		{"messages in a turn that is over", `SELECT COUNT(*) FROM inbox i JOIN turn t ON t.id = i.turn WHERE t.state = 'done'`, people},
		{"turns", `SELECT COUNT(*) FROM turn`, people},
		{"turns that answered", `SELECT COUNT(*) FROM turn WHERE outcome = 'answered'`, people},
		{"turns whose steps have a gap", `SELECT COUNT(*) FROM (SELECT turn FROM step GROUP BY turn HAVING MIN(idx) <> 0 OR MAX(idx) <> COUNT(*) - 1)`, 0},
		{"turns with more than one ending", `SELECT COUNT(*) FROM (SELECT turn FROM step WHERE kind = 'final' GROUP BY turn HAVING COUNT(*) <> 1)`, 0},
	} {
		var got int
		if err := db.QueryRow(c.query).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s: %d, want %d (%v)", c.what, got, c.want, err)
		}
	}
}
