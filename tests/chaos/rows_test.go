package chaos

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"

	_ "modernc.org/sqlite" // to read what the gateway left behind

	"dragoman/ports"
)

// rows are what the store says became of the messages.
type rows struct {
	turns  map[string]turnRow
	ofWord map[string][]string // the turn of each inbox row that has the word
	stops  map[string]int      // inbox rows of a /stop, by conversation
	// marked are the messages whose sends were marked, as CHAT/ID. Of a message that
	// was posted twice the first one is not.
	marked map[string]bool
	took   []int64 // ms from the receipt to the end of turns that asked their person nothing, sorted
}

// turnRow is a turn that is over.
type turnRow struct {
	conv    string
	outcome string
	lane    bool // it is no command that was answered at receipt
	idle    bool // it is of a /stop alone
}

func openDB(file string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(5000)")
}

func nothingPending(file string) error {
	db, err := openDB(file)
	if err != nil {
		return err
	}
	defer db.Close()
	var inbox, turns, outbox int
	err = db.QueryRow(`SELECT (SELECT COUNT(*) FROM inbox WHERE turn IS NULL), (SELECT COUNT(*) FROM turn WHERE state <> 'done'),
		(SELECT COUNT(*) FROM outbox WHERE state = 'pending')`).Scan(&inbox, &turns, &outbox)
	if err == nil && inbox+turns+outbox > 0 {
		err = fmt.Errorf("%d messages wait, %d turns are not over, %d deliveries are pending", inbox, turns, outbox)
	}
	return err
}

// readRows reads them, and checks that they fit together.
func readRows(t *testing.T, file string) rows {
	t.Helper()
	db, err := openDB(file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for what, query := range map[string]string{
		"messages in no turn that is over":        `SELECT COUNT(*) FROM inbox i LEFT JOIN turn t ON t.id = i.turn WHERE t.state IS NULL OR t.state <> 'done'`,
		"messages of another conversation's turn": `SELECT COUNT(*) FROM inbox i JOIN turn t ON t.id = i.turn WHERE t.conv <> i.conv`,
		"conversations whose messages have a gap": `SELECT COUNT(*) FROM (SELECT conv FROM inbox GROUP BY conv HAVING MIN(seq) <> 1 OR MAX(seq) <> COUNT(*))`,
		"turns without an outcome":                `SELECT COUNT(*) FROM turn WHERE outcome = ''`,
		"turns whose steps have a gap":            `SELECT COUNT(*) FROM (SELECT turn FROM step GROUP BY turn HAVING MIN(idx) <> 0 OR MAX(idx) <> COUNT(*) - 1)`,
		"turns of a lane without one ending":      `SELECT COUNT(*) FROM turn t WHERE lane = 1 AND (SELECT COUNT(*) FROM step s WHERE s.turn = t.id AND s.kind = 'final') <> 1`,
		"turns that said nothing":                 `SELECT COUNT(*) FROM turn WHERE id NOT IN (SELECT turn FROM outbox WHERE state = 'sent' AND optional = 0 AND preview = 0)`,
		"deliveries that are pending":             `SELECT COUNT(*) FROM outbox WHERE state = 'pending'`,
		"deliveries that were given up":           `SELECT COUNT(*) FROM outbox WHERE failed <> '' AND optional = 0`,
		"questions that are open":                 `SELECT COUNT(*) FROM question WHERE state = 'open'`,
		"conversations that have an owner":        `SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL`,
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil || n > 0 {
			t.Errorf("rows: %s: %d (%v)", what, n, err)
		}
	}
	r := rows{marked: map[string]bool{}, turns: map[string]turnRow{}, ofWord: map[string][]string{}, stops: map[string]int{}}
	for _, read := range []func(*sql.DB) error{r.readTurns, r.readInbox, r.readOutbox, r.readTook} {
		if err := read(db); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rows) readTurns(db *sql.DB) error {
	list, err := db.Query(`SELECT t.id, t.conv, t.outcome, t.lane,
		NOT EXISTS (SELECT 1 FROM inbox i WHERE i.turn = t.id AND i.route <> 'control') FROM turn t`)
	if err != nil {
		return err
	}
	defer list.Close()
	for list.Next() {
		var (
			id string
			t  turnRow
		)
		if err := list.Scan(&id, &t.conv, &t.outcome, &t.lane, &t.idle); err != nil {
			return err
		}
		r.turns[id] = t
	}
	return list.Err()
}

func (r *rows) readInbox(db *sql.DB) error {
	list, err := db.Query(`SELECT conv, COALESCE(turn, ''), body FROM inbox`)
	if err != nil {
		return err
	}
	defer list.Close()
	for list.Next() {
		var (
			conv, turn, body string
			m                ports.Message
		)
		if err := list.Scan(&conv, &turn, &body); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			return err
		}
		if said := saying.FindStringSubmatch(m.Text); said != nil {
			r.ofWord[said[2]] = append(r.ofWord[said[2]], turn)
		}
		if m.Text == "/stop" {
			r.stops[conv]++
		}
	}
	return list.Err()
}

func (r *rows) readOutbox(db *sql.DB) error {
	list, err := db.Query(`SELECT posted FROM outbox WHERE posted <> ''`)
	if err != nil {
		return err
	}
	defer list.Close()
	for list.Next() {
		var posted string
		if err := list.Scan(&posted); err != nil {
			return err
		}
		r.marked[posted] = true
	}
	return list.Err()
}

func (r *rows) readTook(db *sql.DB) error {
	list, err := db.Query(`SELECT t.finished - i.received FROM turn t JOIN inbox i ON i.turn = t.id AND i.seq = t.seq
		WHERE t.lane = 1 AND t.outcome = 'answered' AND t.question = '' ORDER BY 1`)
	if err != nil {
		return err
	}
	defer list.Close()
	for list.Next() {
		var ms int64
		if err := list.Scan(&ms); err != nil {
			return err
		}
		r.took = append(r.took, ms)
	}
	return list.Err()
}
