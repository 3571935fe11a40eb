package gateway_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// bury goes on with what a dead process left on the disk: its files as they were
// at its death, owners included.
func (w *world) bury(f *failing) {
	w.t.Helper()
	f.writing.Lock()
	left := w.t.TempDir()
	for _, name := range []string{"dragoman.db", "dragoman.db-wal"} {
		if err := copyFile(filepath.Join(left, name), filepath.Join(w.dir, name)); err != nil {
			w.t.Fatal(err)
		}
	}
	f.writing.Unlock()
	w.end()
	w.dir = left
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return cmp.Or(err, out.Close())
}

// try delivers a message as a platform does that waits for the receipt.
func (c *chat) try(ctx context.Context, m ports.Message) error {
	c.mu.Lock()
	in := c.in
	c.mu.Unlock()
	m.ID, m.Addressed, m.Private, m.From, m.In.Chat = ports.MessageID("in-"+m.Event), true, true, "ann", "ann"
	return in.Receive(ctx, ports.Batch{Messages: []ports.Message{m}, Cursor: m.Event})
}

// drama is what a person says, and how they answer the questions.
type drama struct {
	name     string
	calls    []string
	approve  string // the answer to an approval: a button, or a text
	unknown  string // the answer to a question about an unknown outcome
	stopWhen string // /stop is said once this tool runs
	streamed bool   // replies take long enough to be shown in the making
}

var dramas = []drama{
	{name: "no tool"},
	{name: "readers and writers", calls: []string{"srv__read_a", "srv__write_a", "srv__read_b", "srv__write_b"}, unknown: "skip"},
	{name: "run again", calls: []string{"srv__write_a", "srv__write_b"}, unknown: "again"},
	{name: "an unknown outcome stops", calls: []string{"srv__write_a", "srv__write_b"}, unknown: "stop"},
	{name: "approvals", calls: []string{"srv__ask_a", "srv__read_a", "srv__ask_b"}, approve: "yes", unknown: "skip"},
	{name: "refusals", calls: []string{"srv__ask_a", "srv__write_a", "srv__ask_b"}, approve: "no", unknown: "skip"},
	{name: "superseded", calls: []string{"srv__ask_a", "srv__write_a"}, approve: "rather not", unknown: "never mind"},
	{name: "stopped at a question", calls: []string{"srv__ask_a"}, approve: "/stop", unknown: "skip"},
	{name: "streamed", calls: []string{"srv__ask_a"}, approve: "yes", unknown: "skip", streamed: true},
	{name: "stopped at a tool", calls: []string{"srv__read_a", "srv__slow", "srv__write_a"}, unknown: "skip", stopWhen: "slow"},
}

// TestNothingIsLostOrDoneTwiceWhereverItFails lets each write of a turn go wrong
// in each way, and looks at the rows when all is done.
func TestNothingIsLostOrDoneTwiceWhereverItFails(t *testing.T) {
	for _, d := range dramas {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			writes := play(t, d, 0, refused)
			for how, name := range faults {
				for at := 1; at <= writes; at++ {
					t.Run(fmt.Sprintf("%s %d", name, at), func(t *testing.T) {
						t.Parallel()
						play(t, d, at, how)
					})
				}
			}
		})
	}
}

// play plays a drama to its end and checks what is left. It returns how many
// writes it took.
func play(t *testing.T, d drama, at int, how fault) int {
	w := newWorld(t)
	if w.model.reply = echo; len(d.calls) > 0 {
		w.model.reply = calls(d.calls...)
	}
	if d.streamed {
		w.chat.traits.EditEvery = 10 * time.Millisecond
		w.model.dwell = w.chat.previewed
	}
	f := w.startFailing(at, how)
	todo := []ports.Message{{Event: "go", Text: "go"}}
	events, asked, first := map[string]bool{"go": true}, map[string]bool{}, f
	late := 0 // presses that a stop may have come before
	deadline := time.Now().Add(roomy(time.Minute))
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("it never comes to an end; the chat shows %q\n%s", w.chat.texts(), w.rows())
		}
		select {
		case <-f.died:
			w.bury(f)
			f = w.startFailing(0, refused)
		default:
		}
		if d.stopWhen != "" && !events["stop"] && w.tools.ran(d.stopWhen) > 0 {
			events["stop"] = true
			todo = append(todo, ports.Message{Event: "stop", Text: "/stop"})
		}
		for i := range w.chat.texts() {
			if m, ok := d.answer(w.chat.post(i).out.Content, asked); ok {
				events[m.Event] = true
				todo = append(todo, m)
				if m.Choice != nil && events["stop"] {
					late++
				}
			}
		}
		if len(todo) > 0 {
			if w.chat.try(t.Context(), todo[0]) == nil {
				todo = todo[1:]
			}
			continue
		}
		if !f.isDead() && w.over() {
			break
		}
	}
	w.end()
	w.check(t, d, len(events)-late, len(events))
	first.mu.Lock()
	defer first.mu.Unlock()
	return first.n
}

// answer is what the person does about a message that they have not answered.
func (d drama) answer(c ports.Content, asked map[string]bool) (ports.Message, bool) {
	if len(c.Choices) == 0 || c.Choices[0].Question == ports.StopQuestion || asked[c.Choices[0].Question] {
		return ports.Message{}, false
	}
	asked[c.Choices[0].Question] = true
	say := d.approve
	if c.Choices[0].Value == ports.AnswerAgain {
		say = d.unknown
	}
	m := ports.Message{Event: "answer " + c.Choices[0].Question, Text: say}
	for _, ch := range c.Choices {
		if ch.Value == say {
			m.Text, m.Choice = "", &ports.Choice{Question: ch.Question, Field: ch.Field, Value: ch.Value}
		}
	}
	return m, true
}

// query runs f on each row of a query, on a connection of its own.
func (w *world) query(q string, f func(scan func(...any) error) error) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "dragoman.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(w.t.Context(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			w.t.Fatal(err)
		}
	}
}

// exec changes rows behind the gateway's back.
func (w *world) exec(q string) {
	w.t.Helper()
	w.query(q, func(func(...any) error) error { return nil })
}

// count is the number that a query gives.
func (w *world) count(q string) (n int) {
	w.t.Helper()
	w.query(q, func(scan func(...any) error) error { return scan(&n) })
	return n
}

// over reports whether no row asks for anything more.
func (w *world) over() bool {
	if b, err := w.store.Backlog(w.t.Context()); err != nil || b != (ports.Backlog{}) || w.g.Busy() > 0 {
		return false
	}
	return w.count(`SELECT (SELECT COUNT(*) FROM turn WHERE state <> 'done') + (SELECT COUNT(*) FROM inbox WHERE turn IS NULL)
		+ (SELECT COUNT(*) FROM outbox WHERE state = 'pending')`) == 0 && w.g.Busy() == 0
}

// rows tells the state of the store, for a test that failed.
func (w *world) rows() string {
	var b strings.Builder
	for _, q := range []string{
		`SELECT 'conv', id, COALESCE(owner, '-') || ' epoch ' || epoch || ' ready ' || ready FROM conv`,
		`SELECT 'inbox', seq || ' ' || route, COALESCE(turn, 'waits') FROM inbox ORDER BY seq`,
		`SELECT 'turn', id, state || ' ' || outcome FROM turn`,
		`SELECT 'step', turn || '/' || idx, kind || ' ' || call || ' ' || body FROM step ORDER BY turn, idx`,
		`SELECT 'question', turn, state FROM question`,
		`SELECT 'outbox', delivery, state FROM outbox ORDER BY id`,
	} {
		w.query(q, func(scan func(...any) error) error {
			var kind, key, what string
			err := scan(&kind, &key, &what)
			fmt.Fprintf(&b, "%-9s %s: %s\n", kind, key, what)
			return err
		})
	}
	return b.String()
}

// check looks at all that is left when a drama is over.
func (w *world) check(t *testing.T, d drama, least, most int) {
	t.Helper()
	for what, q := range map[string]string{
		"messages of no turn, or of one that is not there": `SELECT COUNT(*) FROM inbox i LEFT JOIN turn t ON t.id = i.turn WHERE t.id IS NULL`,
		"turns without an outcome":                         `SELECT COUNT(*) FROM turn WHERE outcome = '' OR state <> 'done'`,
		"turns with a gap in their steps": `SELECT COUNT(*) FROM turn t WHERE lane = 1 AND (SELECT COUNT(*) FROM step WHERE turn = t.id) <> t.steps
			OR (SELECT COALESCE(MAX(idx), -1) FROM step WHERE turn = t.id) <> t.steps - 1`,
		"turns without one final step":      `SELECT COUNT(*) FROM turn t WHERE (SELECT COUNT(*) FROM step WHERE turn = t.id AND kind = 'final') <> 1`,
		"turns whose end nobody was told":   `SELECT COUNT(*) FROM turn t WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE turn = t.id AND question = '' AND optional = 0 AND state = 'sent')`,
		"calls of a reply without a result": `SELECT COUNT(*) FROM step s, json_each(s.body, '$.calls') c WHERE s.kind = 'reply' AND NOT EXISTS (SELECT 1 FROM step r WHERE r.turn = s.turn AND r.kind = 'result' AND r.call = c.key AND r.idx > s.idx)`,
		"results of a call that has one":    `SELECT COUNT(*) - COUNT(DISTINCT turn || '/' || call) FROM step WHERE kind = 'result'`,
		"open questions":                    `SELECT COUNT(*) FROM question WHERE state = 'open'`,
		"conversations that are still held": `SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL`,
	} {
		if n := w.count(q); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	if n := w.count(`SELECT COUNT(*) FROM inbox`); n < least || n > most {
		t.Errorf("%d messages are stored, %d to %d were to be", n, least, most)
	}
	w.tools.mu.Lock()
	byKey := map[string][]string{}
	for i, k := range w.tools.keys {
		byKey[k] = append(byKey[k], w.tools.order[i])
	}
	w.tools.mu.Unlock()
	for k, ran := range byKey {
		slices.Sort(ran)
		if len(slices.Compact(slices.Clone(ran))) != 1 {
			t.Errorf("one key for several tools: %s is of %v", k, ran)
		}
		if !strings.HasPrefix(ran[0], "read_") && len(ran) > 1 && d.unknown != ports.AnswerAgain {
			t.Errorf("%s ran %d times", ran[0], len(ran))
		}
	}
	sends, unfinished := map[string]int{}, 0
	for i, text := range w.chat.texts() {
		sends[w.chat.post(i).out.Nonce]++
		if strings.HasSuffix(text, "…") {
			unfinished++
		}
	}
	if deaths := w.lives - 1; unfinished > deaths {
		t.Errorf("%d previews never became what was said, with %d deaths", unfinished, deaths)
	}
	for nonce, n := range sends {
		if n > 2 {
			t.Errorf("%s was posted %d times", nonce, n)
		}
	}
	for _, r := range w.model.asked() {
		checkCallsAnswered(t, r)
	}
	if t.Failed() {
		t.Logf("the chat shows %q\n%s", w.chat.texts(), w.rows())
	}
}
