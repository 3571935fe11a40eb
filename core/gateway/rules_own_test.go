package gateway_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// misowned are the conversations that have work and no owner, or an owner and no
// work. Work is something to send, a turn that is not parked, a stop, or a message
// with no turn before it.
const misowned = `SELECT COUNT(*) FROM conv c WHERE (c.owner IS NOT NULL) <> (
	EXISTS (SELECT 1 FROM outbox o WHERE o.conv = c.id AND o.state = 'pending')
	OR EXISTS (SELECT 1 FROM turn t WHERE t.conv = c.id AND t.state = 'run')
	OR EXISTS (SELECT 1 FROM inbox i WHERE i.conv = c.id AND i.turn IS NULL
		AND (i.route = 'control' OR NOT EXISTS (SELECT 1 FROM turn t WHERE t.conv = c.id AND t.state <> 'done'))))`

// After each commit, whatever it is, the conversations that have an owner are
// those that have work: the commit that gives work claims, the one that takes the
// last of it releases, and none does so a moment later.
func TestAConversationIsOwnedExactlyWhileItHasWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opt.Ask.Expires = 10 * time.Minute
		w.model.reply = byTheirWord
		var looks atomic.Int32
		s := &script{}
		w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
		db := w.reader()
		s.after = func(verb string) {
			var n int
			if err := db.QueryRow(misowned).Scan(&n); err != nil || n > 0 {
				t.Errorf("after %q %d conversations are owned without work, or have work and no owner (%v)", verb, n, err)
			}
			looks.Add(1)
		}
		ask := func(in string, n int) post {
			t.Helper()
			m := said("ann", "srv__ask_a")
			m.In.Chat, m.Private = in, in != "group"
			w.chat.batch(t, m)
			time.Sleep(time.Second)
			if n := w.count(`SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL`) + w.g.Busy(); n > 0 {
				t.Errorf("a turn that waits for its person is held: %d", n)
			}
			list := w.chat.texts()
			if len(list) != n {
				t.Fatalf("the chat shows %q, want %d messages", list, n)
			}
			return w.chat.post(n - 1)
		}
		w.chat.batch(t, ask("ann", 1).pressed("ann", "yes"))
		time.Sleep(time.Second)
		ask("ann", 3)
		w.chat.say(t, "ann", "rather not")
		time.Sleep(time.Second)
		ask("ann", 5)
		w.chat.say(t, "ann", "/help")
		time.Sleep(time.Second)
		w.chat.say(t, "ann", "/stop")
		time.Sleep(time.Second)
		ask("ann", 8)
		time.Sleep(10*time.Minute + 2*time.Second) // it expires
		q := ask("group", 10)
		w.chat.receive(t, inGroup("bob", "hello"))
		w.chat.receive(t, inGroup("bob", "/stop"))
		time.Sleep(time.Second)
		w.chat.batch(t, q.pressed("eve", "yes"), q.pressed("ann", "no"))
		time.Sleep(time.Second)
		w.chat.mu.Lock()
		w.chat.fails = []error{ports.Errorf(ports.KindForbidden, "send", "403")} // the next prompt is seen by nobody
		w.chat.mu.Unlock()
		w.chat.say(t, "ann", "srv__ask_b")
		time.Sleep(2 * time.Second)
		w.comesToRest()
		if looks.Load() < 40 {
			t.Errorf("only %d commits were looked at", looks.Load())
		}
		w.sound(13)
		w.end()
	})
}

// What a parked turn needs of the process is nothing: another process may be the
// one that hears the answer.
func TestAParkedTurnNeedsNobody(t *testing.T) {
	w := newWorld(t)
	w.opt.Turns, w.opt.Drain = 1, time.Minute
	w.model.reply = byWord
	w.start()
	w.chat.say(t, "ann", "srv__ask_a")
	q := w.asking()
	w.settled()
	epoch := w.count(`SELECT epoch FROM conv WHERE id = 'chat:ann'`)
	w.chat.say(t, "bob", "hello") // the only slot is free
	w.shown(2)
	w.comesToRestBut("wait")
	w.restart()
	began := time.Now()
	w.end() // and nothing holds up a stop
	if took := time.Since(began); took > w.opt.Drain/2 {
		t.Errorf("a stop beside a parked turn took %s", took)
	}
	w.start()
	if n := w.count(`SELECT epoch FROM conv WHERE id = 'chat:ann'`); n != epoch {
		t.Errorf("the parked conversation was taken: epoch %d after %d", n, epoch)
	}
	w.chat.batch(t, q.pressed("ann", "yes"))
	w.comesToRest()
	if got := w.chat.texts(); len(got) != 3 || got[2] != "answer to: result of ask_a" {
		t.Errorf("the chat shows %q", got)
	}
	if n := w.count(`SELECT epoch FROM conv WHERE id = 'chat:ann'`); n != epoch+1 {
		t.Errorf("the answer made epoch %d of %d", n, epoch)
	}
	w.sound(3)
}

// comesToRestBut waits until no turn but those in this state is unfinished, and
// nothing is left to send.
func (w *world) comesToRestBut(state string) {
	w.t.Helper()
	eventually(w.t, "nothing is left to do but what waits for a person", func() bool {
		return w.g.Busy() == 0 && w.count(`SELECT (SELECT COUNT(*) FROM turn WHERE state NOT IN ('done', '`+state+`')) + (SELECT COUNT(*) FROM outbox WHERE state = 'pending')
			+ (SELECT COUNT(*) FROM inbox WHERE turn IS NULL AND conv NOT IN (SELECT conv FROM turn WHERE state = '`+state+`'))`) == 0 && w.g.Busy() == 0
	})
}

// A message that comes in while the last commit of a turn is made is somebody's
// work: it is answered whichever of the two is first.
func TestAMessageBesideTheEndOfATurnIsAnswered(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	s := &script{}
	w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
	var n atomic.Int32
	said := make(chan struct{}, 64)
	s.after = func(verb string) {
		if strings.HasPrefix(verb, "finish") || verb == "delivered" {
			if i := n.Add(1); i <= 40 {
				go func() { w.chat.say(t, "ann", "more"); said <- struct{}{} }()
			}
		}
	}
	w.chat.say(t, "ann", "hello")
	for range 40 {
		select {
		case <-said:
		case <-time.After(roomy(10 * time.Second)):
			t.Fatalf("after %d messages nothing goes on: %s", n.Load(), w.rows())
		}
	}
	w.comesToRest()
	w.sound(41)
}
