package crash

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // to read what the gateway left behind
)

const dbName = "dragoman.db"

// left counts what asks for anything more.
const left = `SELECT (SELECT COUNT(*) FROM turn WHERE state <> 'done') + (SELECT COUNT(*) FROM inbox WHERE turn IS NULL)
	+ (SELECT COUNT(*) FROM outbox WHERE state = 'pending') + (SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL)`

// none are queries that count what there must be none of, once all is done.
var none = map[string]string{
	"messages of no turn, or of one that is not there": `SELECT COUNT(*) FROM inbox i LEFT JOIN turn t ON t.id = i.turn WHERE t.id IS NULL`,
	"turns without an outcome":                         `SELECT COUNT(*) FROM turn WHERE outcome = '' OR state <> 'done'`,
	"turns without a message":                          `SELECT COUNT(*) FROM turn t WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE turn = t.id)`,
	"turns with a gap in their steps": `SELECT COUNT(*) FROM turn t WHERE lane = 1 AND ((SELECT COUNT(*) FROM step WHERE turn = t.id) <> t.steps
		OR (SELECT COALESCE(MAX(idx), -1) FROM step WHERE turn = t.id) <> t.steps - 1)`,
	"turns without one final step": `SELECT COUNT(*) FROM turn t WHERE lane = 1 AND (SELECT COUNT(*) FROM step WHERE turn = t.id AND kind = 'final') <> 1`,
	"turns whose end nobody was told": `SELECT COUNT(*) FROM turn t WHERE NOT EXISTS
		(SELECT 1 FROM outbox WHERE turn = t.id AND question = '' AND optional = 0 AND preview = 0 AND state = 'sent')
		AND EXISTS (SELECT 1 FROM inbox WHERE turn = t.id AND json_extract(body, '$.change') IS NULL)`, // what was deleted, and a change itself, needs no answer
	"calls of a reply without a result": `SELECT COUNT(*) FROM step s, json_each(s.body, '$.calls') c WHERE s.kind = 'reply' AND NOT EXISTS
		(SELECT 1 FROM step r WHERE r.turn = s.turn AND r.kind = 'result' AND r.call = c.key AND r.idx > s.idx AND NOT EXISTS
			(SELECT 1 FROM step p WHERE p.turn = s.turn AND p.kind = 'reply' AND p.idx > s.idx AND p.idx < r.idx))`,
	"messages that joined a turn and are of another": `SELECT COUNT(*) FROM step s, json_each(s.body, '$.seq') j WHERE s.kind = 'input'
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE seq = j.value AND turn = s.turn)`,
	"messages that joined twice": `SELECT COUNT(*) - COUNT(DISTINCT j.value) FROM step s, json_each(s.body, '$.seq') j WHERE s.kind = 'input'`,
	"results of a call that has one": `SELECT COUNT(*) FROM step r JOIN step b ON b.turn = r.turn AND b.kind = 'result' AND b.call = r.call AND b.idx < r.idx
		WHERE r.kind = 'result' AND NOT EXISTS (SELECT 1 FROM step p WHERE p.turn = r.turn AND p.kind = 'reply' AND p.idx BETWEEN b.idx AND r.idx)`,
	"results of a call that ran and has no start": `SELECT COUNT(*) FROM step r WHERE r.kind = 'result' AND json_extract(r.body, '$.outcome') = 'ok'
		AND NOT EXISTS (SELECT 1 FROM step s WHERE s.turn = r.turn AND s.kind = 'start' AND s.call = r.call AND s.idx < r.idx)`,
	"replies whose tokens are booked not once": `SELECT COUNT(*) FROM step s WHERE (kind = 'reply' OR kind = 'memo' AND json_extract(body, '$.text') <> '') AND (SELECT COUNT(*) FROM usage WHERE turn = s.turn AND step = s.idx) <> 1
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE turn = s.turn AND changed > 0 AND s.idx = 0)`, // the model may have been asked with the words before an edit
	"open questions":                    `SELECT COUNT(*) FROM question WHERE state = 'open'`,
	"conversations that are still held": `SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL`,
	"channels that are still held":      `SELECT COUNT(*) FROM lease WHERE holder IS NOT NULL`,
	"deliveries that were given up":     `SELECT COUNT(*) FROM outbox WHERE optional = 0 AND state <> 'sent'`,
}

// rows reads what a gateway left, on a connection that cannot write.
type rows struct{ db *sql.DB }

// openRows opens the database of a folder. While it is open SQLite does not
// recover the log of a dead process, so it is closed before the next life.
func openRows(dir string) (rows, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, dbName)+"?mode=ro&_pragma=busy_timeout(5000)")
	if err == nil {
		db.SetMaxOpenConns(1) // which has read the schema
	}
	return rows{db}, err
}

func (r rows) close() {
	if r.db != nil {
		_ = r.db.Close()
	}
}

// each runs f on each row.
func (r rows) each(q string, f func(scan func(...any) error) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list, err := r.db.QueryContext(ctx, q)
	if err != nil {
		return err
	}
	defer list.Close()
	for list.Next() {
		if err := f(list.Scan); err != nil {
			return err
		}
	}
	return list.Err()
}

func (r rows) count(q string) (n int, err error) {
	err = r.each(q, func(scan func(...any) error) error { return scan(&n) })
	return n, err
}

// counts runs many queries that count as one.
func (r rows) counts(queries map[string]string) (map[string]int, error) {
	var all []string
	for what, q := range queries {
		all = append(all, "SELECT '"+what+"', ("+q+")")
	}
	got := map[string]int{}
	err := r.each(strings.Join(all, " UNION ALL "), func(scan func(...any) error) error {
		var what string
		var n int
		err := scan(&what, &n)
		got[what] = n
		return err
	})
	return got, err
}

// posting is a delivery that the rows say was posted. The text of a preview is not kept.
type posting struct {
	as, text string
	preview  bool
}

// postings are those that were posted, in order.
func (r rows) postings() (list []posting, err error) {
	err = r.each(`SELECT posted, CASE WHEN json_valid(body) THEN COALESCE(json_extract(body, '$.content.body.text'), '') ELSE '' END, preview
		FROM outbox WHERE state = 'sent' ORDER BY id`,
		func(scan func(...any) error) error {
			var one posting
			err := scan(&one.as, &one.text, &one.preview)
			list = append(list, one)
			return err
		})
	return list, err
}

// result is what the rows say that a call gave.
type result struct{ tool, outcome, text string }

// results are those of a drama, in the order in which the model made the calls, but
// for turns that a redo took out of the history.
func (r rows) results() (list []result, err error) {
	err = r.each(`SELECT json_extract(p.body, '$.calls[' || s.call || '].name'), json_extract(s.body, '$.outcome'), json_extract(s.body, '$.text')
		FROM step s JOIN turn t ON t.id = s.turn JOIN step p ON p.turn = s.turn AND p.idx =
			(SELECT MAX(idx) FROM step WHERE turn = s.turn AND kind = 'reply' AND idx < s.idx)
		WHERE s.kind = 'result' AND NOT EXISTS (SELECT 1 FROM inbox r WHERE r.conv = t.conv AND r.undoes > 0 AND r.seq > t.seq AND r.undoes <= t.seq)
		ORDER BY t.seq, p.idx, s.call`,
		func(scan func(...any) error) error {
			var one result
			err := scan(&one.tool, &one.outcome, &one.text)
			one.tool = bare(one.tool)
			list = append(list, one)
			return err
		})
	return list, err
}

// tell shows the rows, for a run that failed.
func (r rows) tell() string {
	var b strings.Builder
	for _, q := range []string{
		`SELECT 'conv', id, COALESCE(owner, '-') || ' epoch ' || epoch || ' ready ' || ready FROM conv`,
		`SELECT 'inbox', seq || ' ' || event || ' ' || route, COALESCE(turn, 'waits') FROM inbox ORDER BY seq`,
		`SELECT 'turn', id, state || ' ' || outcome FROM turn`,
		`SELECT 'step', turn || '/' || idx, kind || ' ' || call || ' ' || substr(body, 1, 300) FROM step ORDER BY turn, idx`,
		`SELECT 'question', turn, state FROM question`,
		`SELECT 'outbox', delivery, state || ' as ' || posted || ' ' || failed FROM outbox ORDER BY id`,
		`SELECT 'cursor', channel, cursor FROM cursor`,
	} {
		err := r.each(q, func(scan func(...any) error) error {
			var kind, key, what string
			err := scan(&kind, &key, &what)
			fmt.Fprintf(&b, "%-9s %s: %s\n", kind, key, what)
			return err
		})
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
	}
	return b.String()
}
