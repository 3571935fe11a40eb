package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/access"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// handed counts the conversations that a store hands to a gateway.
type handed struct {
	gateway.Store
	mu sync.Mutex
	n  int
}

func (h *handed) count(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n += n
}

func (h *handed) total() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n
}

func (h *handed) Claim(ctx context.Context, limit int) ([]ports.Lease, error) {
	l, err := h.Store.Claim(ctx, limit)
	h.count(len(l))
	return l, err
}

func (h *handed) Expire(ctx context.Context, limit int) (ports.Accepted, error) {
	a, err := h.Store.Expire(ctx, limit)
	h.count(len(a.Leases))
	return a, err
}

// stale is what every life of these tests has: what was written long ago is asked
// about, and a turn that waits for an answer is no such thing.
func stale(o *gateway.Options) { o.Agents[0].StaleAfter = time.Hour }

func TestAThousandParkedTurnsHoldNothingAndLiveForDays(t *testing.T) {
	const people = 1000
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opt.Turns = 1
		w.opt.Ask.Expires = 7 * 24 * time.Hour
		parks := calls("srv__ask_a")
		w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
			if r.Entries[0].Text == "no tool" {
				return says("At once.")
			}
			return parks(ctx, r)
		}
		l := w.live(stale)
		synctest.Wait()
		before := runtime.NumGoroutine()
		for i := range people {
			w.chat.say(t, fmt.Sprint("p", i), "go")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > before+people/100 { // some are the runtime's own
			t.Errorf("there are %d goroutines, %d before %d turns were parked", n, before, people)
		}
		holdsNothing(t, w, people)
		w.chat.say(t, "bob", "no tool")
		time.Sleep(time.Second)
		if texts := w.chat.texts(); len(texts) != people+1 || texts[people] != "At once." {
			t.Fatalf("there are %d messages, and no answer beside the parked turns", len(texts))
		}

		for day := range 3 {
			l.end(0)
			time.Sleep(23 * time.Hour)
			h := &handed{}
			f := &failing{how: refused, died: make(chan struct{})}
			l = w.live(func(o *gateway.Options) { stale(o); f.Store = o.Store; h.Store = f; o.Store = h })
			time.Sleep(time.Minute)
			if n := h.total(); n > 0 {
				t.Errorf("%d conversations were taken up with nothing to do", n)
			}
			holdsNothing(t, w, people)
			if day == 1 {
				f.die()
				w.bury(f)
				l = w.live(stale)
			}
		}
		for i := range people {
			w.chat.press(t, fmt.Sprint("p", i), promptOf(w, fmt.Sprint("p", i)), ports.AnswerYes)
		}
		time.Sleep(time.Minute)
		if n := w.tools.ran("ask_a"); n != people {
			t.Errorf("the tool ran %d times for %d people", n, people)
		}
		if n := len(slices.DeleteFunc(w.chat.texts(), func(s string) bool { return s != "result of ask_a" })); n != people {
			t.Errorf("%d of %d people have their answer", n, people)
		}
		if !w.over() {
			t.Error("there is something left to do")
		}
		l.end(0)
	})
}

// promptOf is the place of a person's first message in the chat.
func promptOf(w *world, who string) int {
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	return slices.IndexFunc(w.chat.posts, func(p post) bool { return p.out.In.Chat == who })
}

// holdsNothing checks what a parked turn may not hold.
func holdsNothing(t *testing.T, w *world, parked int) {
	t.Helper()
	if n := w.count(`SELECT COUNT(*) FROM turn WHERE state = 'wait'`); n != parked {
		t.Errorf("%d turns are parked, want %d", n, parked)
	}
	if n := w.count(`SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL OR ready <> 0`); n != 0 {
		t.Errorf("%d conversations have an owner, or wait for one", n)
	}
	if n := w.g.Busy(); n != 0 {
		t.Errorf("%d conversations have a lane", n)
	}
}

// parked runs a gateway until ann's turn is parked, and ends it.
func parked(t *testing.T, w *world) {
	t.Helper()
	l := w.live(stale)
	w.chat.say(t, "ann", "go")
	time.Sleep(time.Second)
	synctest.Wait()
	if n := len(w.chat.texts()); n != 1 || len(w.chat.post(0).out.Content.Choices) == 0 {
		t.Fatalf("the chat shows %q", w.chat.texts())
	}
	l.end(0)
}

// last is the newest message of the chat, of so many.
func last(t *testing.T, w *world, of int) string {
	t.Helper()
	texts := w.chat.texts()
	if len(texts) != of {
		t.Fatalf("the chat shows %d messages, want %d: %q", len(texts), of, texts)
	}
	return texts[of-1]
}

func TestAnAnswerThatComesTooLateIsDropped(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*gateway.Options){"running meanwhile": nil, "away meanwhile": func(*gateway.Options) {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.opt.Ask.Expires = 10 * time.Minute
				w.model.reply = calls("srv__ask_a")
				parked(t, w)
				prompt := w.chat.post(0)
				if change != nil {
					time.Sleep(time.Hour)
				}
				l := w.live(stale)
				if change == nil {
					time.Sleep(10 * time.Minute)
				}
				time.Sleep(2 * time.Second)
				choice := prompt.out.Content.Choices[0]
				w.chat.receive(t, ports.Message{From: "ann", Private: true, Choice: &choice})
				time.Sleep(minute)
				if got := last(t, w, 2); got != "Not run: the person did not answer the question whether it may run." {
					t.Errorf("the answer is %q", got)
				}
				if got := w.chat.post(0).out.Content; len(got.Choices) > 0 || !strings.Contains(got.Text, "Not answered in time.") {
					t.Errorf("the question still shows %+v", got)
				}
				if n := w.tools.ran("ask_a"); n != 0 {
					t.Errorf("the tool ran %d times", n)
				}
				if n := w.count(`SELECT COUNT(*) FROM inbox`); n != 1 {
					t.Errorf("%d messages are stored: a late press is none", n)
				}
				l.end(0)
			})
		})
	}
}

// Answers arrive at the very moment at which the questions expire.
func TestOfAnAnswerAndAnExpiryOneWins(t *testing.T) {
	t.Parallel()
	const people, expires = 120, 10 * time.Minute
	early, late := 0, 0
	for range 5 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.opt.Ask.Expires = expires
			w.model.reply = calls("srv__ask_a")
			l := w.live(stale)
			began := time.Now() // the sweep's seconds count from here
			time.Sleep(500 * time.Millisecond)
			for i := range people {
				w.chat.say(t, fmt.Sprint("p", i), "go")
			}
			time.Sleep(expires - time.Second)
			var presses sync.WaitGroup
			for i := range people {
				who := fmt.Sprint("p", i)
				yes := w.chat.post(promptOf(w, who)).out.Content.Choices[0]
				presses.Go(func() {
					// Before, at, and after the look that finds the question's time over.
					moment := began.Add(expires + time.Second + time.Duration(i%3-1)*time.Duration(i)*time.Microsecond)
					time.Sleep(time.Until(moment))
					w.chat.receive(t, ports.Message{From: who, Private: true, Choice: &yes})
				})
			}
			presses.Wait()
			time.Sleep(minute)
			ran := w.tools.ran("ask_a")
			answers := map[string]int{}
			for i := people; i < len(w.chat.texts()); i++ {
				answers[w.chat.post(i).out.In.Chat+": "+w.chat.post(i).out.Content.Text]++
			}
			approved := 0
			for i := range people {
				a := answers[fmt.Sprintf("p%d: result of ask_a", i)]
				n := answers[fmt.Sprintf("p%d: Not run: the person did not answer the question whether it may run.", i)]
				if a+n != 1 {
					t.Errorf("p%d was answered %d times and told %d times that they did not", i, a, n)
				}
				approved += a
			}
			if ran != approved || len(answers) != people {
				t.Errorf("the tool ran %d times for %d that approved; the answers are %v", ran, approved, answers)
			}
			if n := w.count(`SELECT COUNT(*) FROM question WHERE state = 'answered'`); n != approved {
				t.Errorf("%d questions are answered, and %d approvals were heeded", n, approved)
			}
			if n := w.count(`SELECT COUNT(*) FROM inbox WHERE route = 'answer'`); n != approved {
				t.Errorf("%d presses are stored, and %d approvals were heeded", n, approved)
			}
			early, late = early+approved, late+people-approved
			l.end(0)
		})
	}
	t.Logf("%d answers won, and %d expiries", early, late)
	if early == 0 || late == 0 {
		t.Error("there was no race")
	}
}

// A channel that is taken out of the config and put back finds its questions as
// they were, and harms nobody meanwhile.
func TestAParkedTurnOfAChannelThatIsAwayHarmsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opt.Ask.Expires = 100 * time.Hour
		w.opt.Access.Channels["other"] = access.Rules{Mode: access.Open}
		w.model.reply = calls("srv__ask_a")
		parked(t, w)
		other := newChat()
		log := &lines{}
		l := w.live(func(o *gateway.Options) {
			stale(o)
			o.Log = slog.New(slog.NewTextHandler(log, nil))
			o.Channels[0].Name, o.Channels[0].Port = "other", other
		})
		other.await(t)
		w.model.becomes(echo)
		other.say(t, "bob", "hello")
		time.Sleep(10 * time.Minute)
		if got := other.texts(); !slices.Equal(got, []string{"you said: hello"}) {
			t.Errorf("the other channel shows %q", got)
		}
		if r := w.g.Ready(t.Context()); !r.Ready {
			t.Errorf("it is not ready: %+v", r)
		}
		if s := log.String(); strings.Contains(s, "ERROR") || strings.Contains(s, "WARN") {
			t.Errorf("the log complains:\n%s", s)
		}
		l.end(0)
		w.model.becomes(calls("srv__ask_a"))
		l = w.live(stale)
		w.chat.press(t, "ann", 0, ports.AnswerYes)
		time.Sleep(minute)
		if got := last(t, w, 2); got != "result of ask_a" {
			t.Errorf("the answer is %q", got)
		}
		l.end(0)
	})
}

// lines is a log.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
