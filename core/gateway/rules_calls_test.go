package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// A turn's commits, up to the one that says it was sent: what is known is stored
// at once, and nothing is stored twice.
func TestATurnMakesTheseCommits(t *testing.T) {
	for name, c := range map[string]struct {
		calls []string
		press string // the answer to the first question
		want  string
	}{
		"no tool": {nil, "", "accept|finish reply final|delivered"},
		"a reader": {[]string{"srv__read_a"}, "",
			"accept|record reply start0|record result0|finish reply final|delivered"},
		"two readers": {[]string{"srv__read_a", "srv__read_b"}, "",
			"accept|record reply start0 start1|record result result|finish reply final|delivered"},
		"three that change things": {[]string{"srv__write_a", "srv__write_b", "srv__write_a"}, "",
			"accept|record reply start0|record result0 start1|record result1 start2|record result2|finish reply final|delivered"},
		"a yes": {[]string{"srv__ask_a"}, "yes",
			"accept|park reply|accept|record start0|record result0|finish reply final"},
		"a no": {[]string{"srv__ask_a"}, "no",
			"accept|park reply|accept|record result0|finish reply final"},
		"what cannot run": {[]string{"srv__never", "srv__made_up"}, "",
			"accept|record reply result0 result1|finish reply final|delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if w.model.reply = echo; len(c.calls) > 0 {
				w.model.reply = calls(c.calls...)
			}
			s := &script{}
			w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
			w.chat.say(t, "ann", "go")
			if c.press != "" {
				q := w.asking()
				w.settled()
				w.chat.batch(t, q.pressed("ann", c.press))
			}
			w.comesToRest()
			told := func() string {
				got := strings.Join(s.commits(), "|")
				if c.press != "" { // what takes the buttons off comes when it comes
					got = strings.ReplaceAll(got, "|delivered", "")
				}
				if name == "two readers" { // in the order in which they came home
					got = strings.NewReplacer("result0", "result", "result1", "result").Replace(got)
				}
				return got
			}
			for late := time.Now().Add(roomy(time.Second)); told() != c.want && time.Now().Before(late); {
				<-time.After(time.Millisecond)
			}
			if got := told(); got != c.want {
				t.Errorf("the commits are\n%s\nwant\n%s", got, c.want)
			}
			w.sound(len(w.column(`SELECT event FROM inbox`)))
		})
	}
}

// When a tool runs, the rows say so: its start stands in the store, with its
// class, beside the reply that wants it; when the model is asked again, every call
// of its last reply has its result there.
func TestTheRowsAreAheadOfWhatHappens(t *testing.T) {
	w := newWorld(t)
	names := []string{"read_a", "write_a", "read_b", "write_b"}
	round := []string{"srv__read_a", "srv__write_a", "srv__read_b", "srv__write_b"}
	script := rounds(round, []string{"srv__write_b", "srv__read_a"})
	var asked atomic.Int32
	w.tools.onCall = func(_ context.Context, name string) {
		at := slices.Index(names, name)
		if w.count(`SELECT COUNT(*) FROM step WHERE kind = 'reply'`) == 2 {
			at = slices.Index([]string{"write_b", "read_a"}, name)
		}
		class := w.column(fmt.Sprintf(`SELECT body ->> '$.class' FROM step s WHERE kind = 'start' AND call = %d
			AND idx > (SELECT MAX(idx) FROM step WHERE kind = 'reply')`, at))
		if want := string((&tool{w.tools, name}).Spec().Class); !slices.Equal(class, []string{want}) {
			t.Errorf("%s runs, and the starts of its call are %q, want one of class %s", name, class, want)
		}
	}
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		asked.Add(1)
		if n := w.count(`SELECT COUNT(*) FROM step s, json_each(s.body, '$.calls') c WHERE s.kind = 'reply' AND
			NOT EXISTS (SELECT 1 FROM step r WHERE r.kind = 'result' AND r.call = c.key AND r.idx > s.idx)`); n > 0 {
			t.Errorf("the model is asked for the %d. time, and %d calls have no result in the store", asked.Load(), n)
		}
		return script(ctx, r)
	}
	w.start()
	w.chat.say(t, "ann", "go")
	w.comesToRest()
	if asked.Load() != 3 {
		t.Errorf("the model was asked %d times", asked.Load())
	}
	w.sound(1)
}

// refusing is a store that takes nothing of a turn's journal until it may.
type refusing struct {
	gateway.Store
	may atomic.Bool
}

func (s *refusing) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	if !s.may.Load() {
		return ports.Errorf(ports.KindUnavailable, "record", "the disk is full")
	}
	return s.Store.Record(ctx, l, c)
}

// While the start of a call cannot be stored the call does not begin, be it one
// that only reads.
func TestNoCallBeginsBeforeItsStartIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = calls("srv__read_a", "srv__write_a")
		s := &refusing{}
		w.startOn(func(store *sqlstore.Store) gateway.Store { s.Store = store; return s })
		w.chat.say(t, "ann", "go")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := w.tools.ran("read_a") + w.tools.ran("write_a"); n != 0 {
			t.Errorf("%d calls began that no row knows of", n)
		}
		s.may.Store(true)
		w.within(time.Minute, "ann", "result of read_a\nresult of write_a")
		w.comesToRest()
		w.sound(1)
		w.end()
	})
}

// The result of a call that changes things is stored when it comes home, though a
// reader of its round still runs and nothing else begins.
func TestAResultOfWhatChangesThingsIsStoredAtOnce(t *testing.T) {
	w := newWorld(t)
	let := make(chan struct{})
	w.tools.onCall = func(_ context.Context, name string) {
		if name == "read_a" {
			<-let
		}
	}
	w.model.reply = calls("srv__read_a", "srv__write_a")
	w.start()
	w.chat.say(t, "ann", "go")
	eventually(t, "the result of write_a is stored", func() bool { return w.count(`SELECT COUNT(*) FROM step WHERE kind = 'result' AND call = 1`) == 1 })
	if n := w.count(`SELECT COUNT(*) FROM step WHERE kind = 'result' AND call = 0`); n != 0 {
		t.Errorf("read_a still runs and has %d results", n)
	}
	close(let)
	w.comesToRest()
	w.sound(1)
}

// Calls that change things never run side by side, in whatever mixture, also
// across questions and a kill; nor does one begin before the result of the one
// before it is stored.
func TestCallsThatChangeThingsNeverRunSideBySide(t *testing.T) {
	for at := range 12 { // the write that the process does not survive; 0 = none
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.tools.class = map[string]ports.Class{"write_b": ports.ClassIdempotent}
			w.model.reply = rounds([]string{"srv__write_a", "srv__read_a", "srv__ask_a", "srv__write_b", "srv__read_b", "srv__ask_b", "srv__write_a"})
			var active, most atomic.Int32
			w.tools.onCall = func(_ context.Context, name string) {
				if strings.HasPrefix(name, "read_") {
					return
				}
				most.Store(max(most.Load(), active.Add(1)))
				<-time.After(3 * time.Millisecond)
				active.Add(-1)
			}
			f := w.startFailing(at, killAfter)
			todo, asked := []ports.Message{{Event: "go", Text: "go"}}, map[string]bool{}
			for deadline := time.Now().Add(roomy(30 * time.Second)); len(todo) > 0 || f.isDead() || !w.over(); {
				select {
				case <-f.died:
					w.bury(f)
					eventually(t, "what the dead process called is over", func() bool { return active.Load() == 0 })
					f = w.startFailing(0, refused)
				case <-time.After(2 * time.Millisecond):
				}
				if time.Now().After(deadline) {
					t.Fatalf("it never comes to an end:\n%s", w.rows())
				}
				for i := range w.chat.texts() {
					if m, ok := (drama{approve: "yes", unknown: "skip"}).answer(w.chat.post(i).out.Content, asked); ok {
						todo = append(todo, m)
					}
				}
				if len(todo) > 0 && w.chat.try(t.Context(), todo[0]) == nil {
					todo = todo[1:]
				}
			}
			if most.Load() > 1 {
				t.Errorf("%d calls that change things ran side by side", most.Load())
			}
			if n := w.count(`SELECT COUNT(*) FROM step s WHERE kind = 'start' AND EXISTS (SELECT 1 FROM step b WHERE b.kind = 'start' AND b.call < s.call AND b.idx < s.idx
				AND (b.body ->> '$.class') <> 'read' AND (s.body ->> '$.class') <> 'read' AND NOT EXISTS (SELECT 1 FROM step r WHERE r.kind = 'result' AND r.call = b.call AND r.idx < s.idx))`); n > 0 {
				t.Errorf("%d calls that change things began before the result of an earlier one was stored:\n%s", n, w.rows())
			}
		})
	}
}

// A call that began is judged by the class that its start row has, whatever its
// server says of it after a restart, and also where the server is gone.
func TestABegunCallIsJudgedByItsRow(t *testing.T) {
	for name, c := range map[string]struct {
		tool  string
		class ports.Class // what the server says after the restart; "" = nothing: it is gone
		asks  bool
		want  string
		runs  int
	}{
		"a reader that is unsafe now":   {"read_a", ports.ClassUnsafe, false, "result of read_a", 2},
		"an unsafe one that reads now":  {"write_a", ports.ClassRead, true, "result of write_a", 2},
		"a reader that is gone":         {"read_a", "", false, "It was not run again", 1},
		"an unsafe one that is gone":    {"write_a", "", true, "It was not run again", 1},
		"an unsafe one, as it was":      {"write_a", ports.ClassUnsafe, true, "result of write_a", 2},
		"an idempotent one, unsafe now": {"write_b", ports.ClassUnsafe, false, "result of write_b", 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.tools.class = map[string]ports.Class{"write_b": ports.ClassIdempotent}
			w.model.reply = calls("srv__" + c.tool)
			f := w.startFailing(3, killBefore) // after the start row, before the result
			w.chat.say(t, "ann", "go")
			<-f.died
			w.bury(f)
			w.tools.class = map[string]ports.Class{c.tool: c.class}
			w.tools.gone = c.class == ""
			w.start()
			if c.asks {
				q := w.asking()
				if n := w.tools.ran(c.tool); n != 1 {
					t.Errorf("before its person was asked it ran %d times", n)
				}
				w.chat.batch(t, q.pressed("ann", ports.AnswerAgain))
			}
			w.comesToRest()
			texts := w.chat.texts()
			if last := texts[len(texts)-1]; !strings.Contains(last, c.want) {
				t.Errorf("the answer is %q, want %q", last, c.want)
			}
			if n := w.tools.ran(c.tool); n != c.runs {
				t.Errorf("it ran %d times, want %d", n, c.runs)
			}
			for _, k := range w.tools.keys {
				if k != w.tools.keys[0] {
					t.Errorf("it ran under the keys %q", w.tools.keys)
				}
			}
		})
	}
}

// The yes to a call is for that call in its round alone: the call of the same
// index, and of the same tool, in the next round is asked about anew; and so is
// each after a question that was not answered.
func TestAnAnswerCountsForItsOwnRoundAlone(t *testing.T) {
	for name, c := range map[string]struct {
		first  func(q post) ports.Message
		second string
		runs   int
	}{
		"yes, then no":             {func(q post) ports.Message { return q.pressed("ann", "yes") }, "no", 1},
		"no, then yes":             {func(q post) ports.Message { return q.pressed("ann", "no") }, "yes", 1},
		"superseded, then yes":     {func(post) ports.Message { return said("ann", "rather not") }, "yes", 1},
		"superseded, then no":      {func(post) ports.Message { return said("ann", "rather not") }, "no", 0},
		"a typed yes, then a no":   {func(post) ports.Message { return said("ann", "Yes.") }, "no", 1},
		"yes and yes, once a call": {func(q post) ports.Message { return q.pressed("ann", "yes") }, "yes", 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.reply = rounds([]string{"srv__ask_a"}, []string{"srv__ask_a"})
			w.start()
			w.chat.say(t, "ann", "go")
			first := w.asking()
			w.settled()
			w.chat.batch(t, c.first(first))
			eventually(t, "the second question", func() bool {
				return w.count(`SELECT COUNT(*) FROM question`) == 2 && len(w.chat.texts()) == 2
			})
			ran := w.tools.ran("ask_a")
			w.settled()
			second := w.chat.post(1)
			w.chat.batch(t, first.pressed("ann", "yes")) // the old one's button is no answer to the new one
			w.settled()
			if n := w.tools.ran("ask_a"); n != ran {
				t.Fatalf("the button of the first question ran the second call")
			}
			w.chat.batch(t, second.pressed("ann", c.second))
			w.comesToRest()
			if n := w.tools.ran("ask_a"); n != c.runs {
				t.Errorf("the tool ran %d times, want %d", n, c.runs)
			}
			w.sound(3)
		})
	}
}

// A yes that a start row has used up is no yes to running the call again; one that
// none has used up yet still counts after a kill.
func TestAYesCountsUntilAStartRowUsesIt(t *testing.T) {
	for name, c := range map[string]struct {
		at    int
		how   fault
		asked int
		runs  int
	}{
		"killed before the start":  {5, killBefore, 1, 1},
		"killed after the start":   {5, killAfter, 2, 0},
		"killed before the result": {6, killBefore, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.reply = calls("srv__ask_a")
			f := w.startFailing(c.at, c.how) // accept, park, prompt, press, start, result
			w.chat.say(t, "ann", "go")
			q := w.asking()
			eventually(t, "it is parked", func() bool { return w.count(`SELECT COUNT(*) FROM outbox WHERE state = 'sent'`) == 1 })
			// With its buttons still on, so that what takes them off is no commit of this story.
			w.exec(`UPDATE question SET body = json_set(body, '$.prompt', '')`)
			w.chat.batch(t, q.pressed("ann", "yes"))
			<-f.died
			w.bury(f)
			w.start()
			eventually(t, "the end, or another question", func() bool {
				return w.over() || w.count(`SELECT COUNT(*) FROM question WHERE state = 'open'`) == 1 && w.g.Busy() == 0
			})
			if n := w.count(`SELECT COUNT(*) FROM question`); n != c.asked {
				t.Errorf("%d questions were asked, want %d", n, c.asked)
			}
			if n := w.tools.ran("ask_a"); n != c.runs {
				t.Errorf("the tool ran %d times, want %d\n%s", n, c.runs, w.rows())
			}
		})
	}
}
