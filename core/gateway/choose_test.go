package gateway_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/access"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// asks says something in a private chat and returns what is answered.
func (w *world) asks(from, text string) string {
	w.t.Helper()
	return w.says(said(from, text))
}

// says is asks for any message.
func (w *world) says(m ports.Message) string {
	w.t.Helper()
	n := len(w.chat.texts())
	w.chat.receive(w.t, m)
	return w.shown(n + 1)[n]
}

// has complains unless a text contains all of these.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("it says %q, without %q", text, p)
		}
	}
}

func TestAModelIsChosenForOneConversationAlone(t *testing.T) {
	w := newWorld(t)
	twoAgents(w)
	w.start()
	has(t, w.asks("ann", "/model"), "1. `large`\n2. `small`\n")
	has(t, w.asks("ann", "/model Small"), "ask `small` first")
	has(t, w.asks("ann", "/model"), "1. `small`, chosen for this conversation\n2. `large`\n")
	has(t, w.asks("ann", "one"), "small: one")
	has(t, w.asks("bob", "/model"), "1. `large`\n")
	has(t, w.asks("bob", "two"), "main: two")
	w.restart()
	has(t, w.asks("ann", "three"), "small: three")
	has(t, w.asks("ann", "/model default"), "Back to the usual order", "`large` first")
	has(t, w.asks("ann", "four"), "main: four")
}

func TestOnlyAModelOfItsOwnAgentCanBeChosen(t *testing.T) {
	w := newWorld(t)
	main, support := twoAgents(w)
	w.start()
	for _, name := range []string{"tiny", "huge", "small large", "`small`", "smal"} {
		has(t, w.asks("ann", "/model "+name), "no model of that name here", "`large`, `small`")
	}
	has(t, w.says(inChat("help", "ann", "/model large")), "There are: `tiny`.")
	if len(main.asked())+len(support.asked()) > 0 {
		t.Error("a model was asked about a command")
	}
	has(t, w.asks("ann", "/model small"), "`small` first")
	w.end()
	w.chats = map[string]string{"ann": "support", "help": "support"} // which has no such model
	w.start()
	has(t, w.asks("ann", "/status"), "Agent: `support`", "Model: `tiny`\n")
	has(t, w.asks("ann", "hello"), "support: ")
}

func TestInAGroupOnlyAdminsChangeHowAConversationGoes(t *testing.T) {
	w := newWorld(t)
	twoAgents(w)
	w.opt.Access.People = map[string]access.Listed{"eve": {Identities: []string{"chat:eve"}, Role: ports.RoleAdmin}}
	w.start()
	for _, command := range []string{"/model small", "/model default", "/busy collect", "/busy default"} {
		has(t, w.says(inGroup("ann", command)), "In a group only an admin can change that")
	}
	has(t, w.says(inGroup("ann", "/model")), "1. `large`\n")
	has(t, w.says(inGroup("ann", "/busy")), "The mode here is `queue`, as usual")
	has(t, w.says(inGroup("eve", "/model small")), "`small` first")
	has(t, w.says(inGroup("eve", "/busy STEER")), "is `steer` from now on")
	has(t, w.says(inGroup("ann", "hello")), "small: ")
	has(t, w.says(inGroup("ann", "/busy")), "The mode here is `steer`, chosen for this conversation")
}

// A platform that did not hear that a message was stored delivers it again.
func TestACommandThatComesAgainChangesNothingAnew(t *testing.T) {
	w := newWorld(t)
	twoAgents(w)
	w.start()
	first := said("ann", "/model small")
	first.Event = "first"
	has(t, w.says(first), "`small` first")
	has(t, w.asks("ann", "/model large"), "`large` first")
	w.restart()
	w.chat.receive(t, first)
	has(t, w.asks("ann", "/model"), "1. `large`, chosen")
}

func TestTheModeIsShownAndChosen(t *testing.T) {
	w := newWorld(t)
	twoAgents(w)
	w.agents[0].Busy = ports.BusyCollect
	w.start()
	has(t, w.asks("ann", "/busy"), "The mode here is `collect`, as usual", "- `queue`: ", "- `steer`: ", "- `interrupt`: ", "- `collect`: ")
	has(t, w.asks("ann", "/busy often"), "I know no such mode", "`queue`, `steer`, `interrupt`, `collect`")
	has(t, w.asks("ann", "/busy interrupt"), "is `interrupt` from now on: what you write while I work ends that")
	has(t, w.asks("ann", "/busy"), "The mode here is `interrupt`, chosen for this conversation")
	has(t, w.asks("bob", "/busy"), "The mode here is `collect`, as usual")
	has(t, w.asks("ann", "/busy default"), "is `collect` from now on")
	has(t, w.says(inChat("help", "ann", "/busy")), "The mode here is `queue`, as usual")
}

func TestWhatIsSaidInABurstIsOneTurnWhereItIsCollected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = echo
		w.start()
		w.chat.say(t, "ann", "/busy collect")
		w.within(time.Second, "ann", "is `collect`")
		began := time.Now()
		for _, text := range []string{"one", "two", "three"} {
			w.chat.say(t, "ann", text)
			time.Sleep(800 * time.Millisecond)
		}
		if n := len(w.model.asked()); n > 0 {
			t.Fatal("the turn did not wait for more")
		}
		w.within(2*time.Second, "ann", "is `collect`", "you said: ")
		if took := time.Since(began); took < 2600*time.Millisecond || took > 3*time.Second {
			t.Errorf("it began %s after the first message", took)
		}
		for range 15 { // who never falls silent is answered all the same
			w.chat.say(t, "ann", "more")
			time.Sleep(800 * time.Millisecond)
		}
		w.within(0, "ann", "is `collect`", "you said: ", "you said: ")
		w.within(3*time.Second, "ann", "is `collect`", "you said: ", "you said: ", "you said: ")
		w.comesToRest()
		got := w.column(`SELECT COUNT(*) FROM inbox WHERE route = 'lane' GROUP BY turn ORDER BY MIN(seq)`)
		if !slices.Equal(got, []string{"3", "13", "2"}) {
			t.Errorf("so many messages each turn has: %q", got)
		}
		w.sound(19)
		w.end()
	})
}

func TestARestartDoesNotMakeAPersonWaitAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		twoAgents(w)
		w.agents[0].Busy = ports.BusyCollect
		w.start()
		began := time.Now()
		for range 6 {
			w.chat.say(t, "ann", "more")
			time.Sleep(900 * time.Millisecond)
		}
		w.restart()
		for range 6 {
			w.chat.say(t, "ann", "more")
			time.Sleep(900 * time.Millisecond)
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Fatalf("the test took %s", took)
		}
		w.within(0, "ann", "more")
		w.end()
	})
}

// In a group another's message ends the wait: what comes behind it could not join.
func TestOthersDoNotWaitForOnesSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		twoAgents(w)
		w.agents[0].Busy = ports.BusyCollect
		w.start()
		w.chat.receive(t, inGroup("ann", "one"))
		time.Sleep(300 * time.Millisecond)
		w.chat.receive(t, inGroup("bob", "two"))
		w.within(200*time.Millisecond, "group", "one")
		w.within(time.Second, "group", "one", "two")
		w.comesToRest()
		w.sound(2)
		w.end()
	})
}

// unset is a store that cannot read or write settings while it is told so.
type unset struct {
	gateway.Store
	now *atomic.Bool
}

func (d unset) Get(ctx context.Context, scope, kind, key string) (ports.Record, error) {
	if scope == "settings" && d.now.Load() {
		return ports.Record{}, ports.Errorf(ports.KindUnavailable, "get", "secret detail")
	}
	return d.Store.Get(ctx, scope, kind, key)
}

func TestACommandThatCannotBeAnsweredFailsPlainlyAndHoldsNothingUp(t *testing.T) {
	w := newWorld(t)
	twoAgents(w)
	log := w.logged()
	var down atomic.Bool
	down.Store(true)
	w.startOn(func(s *sqlstore.Store) gateway.Store { return unset{s, &down} })
	answer := w.asks("ann", "/model small")
	has(t, answer, "I could not do that just now")
	ref := reference.FindStringSubmatch(answer)
	lines := log.find("command_failed")
	if ref == nil || len(lines) != 1 || lines[0]["ref"] != ref[1] || strings.Contains(answer, "secret") {
		t.Errorf("the chat is told %q, the log %v", answer, lines)
	}
	has(t, w.asks("ann", "hello"), "main: ")
	has(t, w.asks("ann", "/help"), "/stop stops")
	down.Store(false)
	has(t, w.asks("ann", "/model small"), "`small` first")
}
