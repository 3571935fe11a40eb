package gateway_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// life is one run of a world's gateway, which a test ends by one signal or two.
type life struct {
	w          *world
	soft, hard context.CancelFunc
	done       chan error
}

// live opens the store and runs the gateway with what change makes of the options.
func (w *world) live(change func(*gateway.Options)) *life {
	w.t.Helper()
	file := filepath.Join(w.dir, "dragoman.db")
	if _, err := os.Stat(file); err != nil {
		if err := os.WriteFile(file, newStore(), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	log := cmp.Or(w.opt.Log, slog.New(slog.DiscardHandler))
	store, err := sqlstore.Open(w.t.Context(), sqlstore.Config{Dir: w.dir, Sync: "normal"}, log)
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = store
	w.lives++
	opt := w.opt
	opt.Store, opt.Audit, opt.Log = store, store, log
	opt.Channels = []gateway.Channel{{Name: "chat", Port: cmp.Or[ports.ChannelPort](w.plug, w.chat), Agent: "main", SendsInFlight: 8}}
	opt.Sources = []gateway.Source{{Source: toolbox.Source{Name: "srv", Timeout: time.Second}, Port: w.tools}}
	opt.Agents = []gateway.Agent{{Config: agent.Config{Name: "main", MaxSteps: 5, TurnTimeout: time.Hour,
		Models: []agent.Model{{Name: "m", Port: w.port(), ContextTokens: 32000}}}}}
	if change != nil {
		change(&opt)
	}
	w.g = gateway.New(opt)
	l := &life{w: w, done: make(chan error, 1)}
	var soft, hard context.Context
	soft, l.soft = context.WithCancel(context.WithoutCancel(w.t.Context()))
	hard, l.hard = context.WithCancel(context.WithoutCancel(w.t.Context()))
	go func() { l.done <- w.g.Run(soft, hard) }()
	w.stop = func() { l.soft(); <-l.done }
	if opt.Channels[0].Name == "chat" {
		w.chat.await(w.t)
	}
	return l
}

// end stops the gateway and says how long that took. secondAfter > 0 stops it for
// good so long after the first word.
func (l *life) end(secondAfter time.Duration) time.Duration {
	l.w.t.Helper()
	began := time.Now()
	l.soft()
	if secondAfter > 0 {
		time.AfterFunc(secondAfter, l.hard)
	}
	if err := <-l.done; err != nil {
		l.w.t.Errorf("Run: %v", err)
	}
	took := time.Since(began)
	l.w.stop = nil
	l.hard()
	if err := l.w.store.Close(); err != nil {
		l.w.t.Errorf("Close: %v", err)
	}
	return took
}

// once takes long the first time it is used, in every life together.
type once struct {
	takes time.Duration
	deaf  bool // it does not heed its context
	mu    sync.Mutex
	used  bool
}

func (o *once) wait(ctx context.Context) error {
	o.mu.Lock()
	first := !o.used
	o.used = true
	o.mu.Unlock()
	if !first || o.takes == 0 {
		return nil
	}
	over := time.NewTimer(o.takes)
	defer over.Stop()
	if o.deaf {
		<-over.C
		return nil
	}
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return &ports.Error{Kind: ports.KindCancelled, Op: "once", Err: ctx.Err()}
	}
}

// scene is what goes on when the gateway is told to stop, a second after somebody
// wrote to it.
type scene struct {
	name    string
	calls   []string // what the model calls; none: it repeats what was said
	think   once     // of the model, before it says anything
	dwell   once     // of the model, between its text and its end
	tool    once
	send    once
	edit    once
	taken   bool // of a slow send
	channel once // the end of the channel's Run
	source  once // the end of the tool source's Run
	refused *ports.Error
	edits   time.Duration // EditEvery: there are previews

	ends   time.Duration // how long the stop takes with a drain of drainFor
	abrupt time.Duration // how long it takes where nothing is waited for: a drain of 0
	hard   time.Duration // how long it takes with a second signal after secondAfter

	doubles int  // how often the answer may be there beside the first time
	cut     int  // and with a second signal
	asks    bool // it changes something: its person may be asked what to do
}

const (
	drainFor    = 5 * time.Second
	secondAfter = 100 * time.Millisecond
	minute      = time.Minute
	wrote       = time.Second // since then, when the stop comes
)

// scenes gives them anew: each is played once.
func scenes() []*scene {
	retry := func(wide bool) *ports.Error {
		return &ports.Error{Kind: ports.KindRateLimited, Op: "send", RetryAfter: minute, Wide: wide, Err: context.DeadlineExceeded}
	}
	return []*scene{
		{name: "nothing is left to do"},
		{name: "the model answers in time", think: once{takes: 3 * time.Second}, ends: 2 * time.Second},
		{name: "the model is slow", think: once{takes: minute}, ends: drainFor},
		{name: "the model is deaf", think: once{takes: minute, deaf: true}, ends: drainFor},
		{name: "an answer is in the making", edits: time.Second, dwell: once{takes: minute}, ends: drainFor},
		{name: "an answer in the making is done in time", edits: time.Second, dwell: once{takes: 3 * time.Second}, ends: 2 * time.Second},
		// A call of a preview that is under way gets as long as a send at the end.
		{name: "a preview's post is slow", edits: time.Second, dwell: once{takes: minute}, send: once{takes: minute}, ends: drainFor, abrupt: 3 * time.Second},
		{name: "a preview's post is deaf", edits: time.Second, dwell: once{takes: minute}, send: once{takes: minute, deaf: true}, ends: drainFor + 500*time.Millisecond, abrupt: 3500 * time.Millisecond, hard: 500 * time.Millisecond, doubles: 1},
		{name: "a harmless tool is slow", calls: []string{"srv__read_a"}, tool: once{takes: minute}, ends: drainFor},
		{name: "a tool is done in time", calls: []string{"srv__write_a"}, tool: once{takes: 3 * time.Second}, ends: 2 * time.Second, asks: true},
		{name: "a tool is slow", calls: []string{"srv__write_a"}, tool: once{takes: minute}, ends: drainFor, asks: true},
		{name: "a tool is deaf", calls: []string{"srv__write_a"}, tool: once{takes: minute, deaf: true}, ends: drainFor, asks: true},
		{name: "a send arrives in time", send: once{takes: 3 * time.Second}, ends: 2 * time.Second, abrupt: 2 * time.Second},
		{name: "a send arrives at the last moment", send: once{takes: 8 * time.Second}, ends: 7 * time.Second, abrupt: 3 * time.Second},
		{name: "a send that arrived is told of late", send: once{takes: 3500 * time.Millisecond}, taken: true, ends: 2500 * time.Millisecond, abrupt: 2500 * time.Millisecond, cut: 1},
		{name: "a send hangs", send: once{takes: minute}, ends: drainFor + 3*time.Second, abrupt: 3 * time.Second},
		{name: "a send that arrived gets no answer", send: once{takes: minute}, taken: true, ends: drainFor + 3*time.Second, abrupt: 3 * time.Second, doubles: 1},
		{name: "a send is deaf", send: once{takes: minute, deaf: true}, ends: drainFor + 4*time.Second, abrupt: 4 * time.Second, hard: time.Second, doubles: 1},
		{name: "a chat is held", refused: retry(false), ends: drainFor},
		{name: "the account is held", refused: retry(true), ends: drainFor},
		// What ends after ctx is waited for beside the drain of the turns, for so long.
		{name: "a channel is slow to end", channel: once{takes: 4 * time.Second}, ends: 4 * time.Second, abrupt: 4 * time.Second, hard: 4 * time.Second},
		{name: "a channel does not end", channel: once{takes: minute}, ends: 10 * time.Second, abrupt: 10 * time.Second, hard: 10 * time.Second},
		{name: "a tool source is slow to end", source: once{takes: 4 * time.Second}, ends: 4 * time.Second, abrupt: 4 * time.Second, hard: 2500 * time.Millisecond},
		{name: "a tool source does not end", source: once{takes: minute}, ends: 10 * time.Second, abrupt: 10 * time.Second, hard: 2500 * time.Millisecond},
	}
}

// TestAStopTakesNoLongerThanItMayAndLosesNothing stops the gateway in the middle of
// each scene, in each way, and looks at what the chat shows after the next start.
func TestAStopTakesNoLongerThanItMayAndLosesNothing(t *testing.T) {
	t.Parallel()
	for way, at := range map[string]struct {
		drain, second time.Duration
		most          func(*scene) time.Duration
	}{
		"drained":    {drainFor, 0, func(s *scene) time.Duration { return s.ends }},
		"no drain":   {0, 0, func(s *scene) time.Duration { return s.abrupt }},
		"told twice": {time.Hour, secondAfter, func(s *scene) time.Duration { return secondAfter + s.hard }},
	} {
		for _, s := range scenes() {
			t.Run(way+"/"+s.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := s.open(t)
					w.opt.Drain = at.drain
					l := w.live(s.change(w))
					w.chat.say(t, "ann", "hello")
					time.Sleep(wrote)
					if took, most := l.end(at.second), at.most(s); took > most {
						t.Errorf("the stop took %v, it may take %v", took, most)
					}
					if at.second > 0 {
						s.doubles = max(s.doubles, s.cut)
					}
					s.finish(t, w)
				})
			})
		}
	}
}

// open makes the scene's world.
func (s *scene) open(t *testing.T) *world {
	w := newWorld(t)
	reply := echo
	if len(s.calls) > 0 {
		reply = calls(s.calls...)
	}
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if err := s.think.wait(ctx); err != nil {
			return ports.ModelReply{}, err
		}
		return reply(ctx, r)
	}
	w.model.dwell = func(ctx context.Context) { _ = s.dwell.wait(ctx) }
	w.chat.traits.EditEvery = s.edits
	if s.refused != nil {
		w.chat.fails = []error{s.refused}
	}
	slow := &slowChat{chat: w.chat, taken: s.taken}
	slow.send.takes, slow.send.deaf = s.send.takes, s.send.deaf
	slow.edit.takes, slow.edit.deaf = s.edit.takes, s.edit.deaf
	slow.leave.takes = s.channel.takes
	w.plug = slow
	return w
}

func (s *scene) change(w *world) func(*gateway.Options) {
	slow := &slowTools{tools: w.tools}
	slow.call.takes, slow.call.deaf = s.tool.takes, s.tool.deaf
	slow.leave.takes = s.source.takes
	return func(o *gateway.Options) { o.Sources[0].Port = slow }
}

// finish starts the gateway again, and looks at what it shows in the end.
func (s *scene) finish(t *testing.T, w *world) {
	t.Helper()
	l := w.live(nil)
	time.Sleep(10 * minute)
	synctest.Wait()
	asked := 0
	for i, text := range w.chat.texts() {
		if strings.Contains(text, "I was interrupted") && s.asks {
			asked++
			w.chat.press(t, "ann", i, ports.AnswerSkip)
			time.Sleep(minute)
		}
	}
	want := "you said: hello"
	if len(s.calls) > 0 {
		want = "result of " + strings.TrimPrefix(s.calls[0], "srv__")
	}
	if asked > 0 {
		want = "It was interrupted"
	}
	answers := 0
	for _, text := range w.chat.texts() {
		switch {
		case strings.Contains(text, want), asked > 0 && !strings.Contains(text, "I was interrupted"):
			answers++
		case !strings.Contains(text, "I was interrupted") && !(s.doubles > 0 && strings.HasSuffix(text, "…")):
			t.Errorf("the chat shows %q", text)
		}
	}
	if answers < 1 || answers > 1+s.doubles {
		t.Errorf("there are %d answers: %q", answers, w.chat.texts())
	}
	for _, tool := range s.calls {
		name := strings.TrimPrefix(tool, "srv__")
		if n := w.tools.ran(name); n != 1 && (!strings.HasPrefix(name, "read_") || n != 2) {
			t.Errorf("%s ran %d times", name, n)
		}
	}
	if !w.over() {
		t.Errorf("there is something left to do\n%s", w.rows())
	}
	l.end(0)
}

// A platform that delivers while the gateway stops hears "received" only of what
// is stored, and delivers the rest again: each message is answered once.
func TestAMessageThatComesWhileTheGatewayStopsIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy %v", busy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				slow := &once{takes: 3 * time.Second}
				w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
					if busy {
						if err := slow.wait(ctx); err != nil {
							return ports.ModelReply{}, err
						}
					}
					return echo(ctx, r)
				}
				l := w.live(nil)
				if busy {
					w.chat.say(t, "bob", "hello")
				}
				time.Sleep(100 * time.Millisecond)
				var tries sync.WaitGroup
				var mu sync.Mutex
				refused := map[int]bool{}
				deliver := func(i int) error { return deliverFrom(t, w, i) }
				for i := range 60 {
					tries.Go(func() {
						time.Sleep(time.Duration(i) * 100 * time.Millisecond)
						if deliver(i) != nil {
							mu.Lock()
							refused[i] = true
							mu.Unlock()
						}
					})
				}
				time.Sleep(time.Second)
				l.end(0)
				tries.Wait()
				if len(refused) == 0 || len(refused) == 60 {
					t.Fatalf("%d of 60 messages were refused: nothing is shown", len(refused))
				}
				l = w.live(nil)
				for i := range 60 {
					if !refused[i] && i%3 > 0 {
						continue // the platform was told; of each third it has missed that
					}
					if err := deliver(i); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(minute)
				texts := w.chat.texts()
				for i := range 60 {
					want := fmt.Sprintf("you said: m%d", i)
					if n := len(slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s != want })); n != 1 {
						t.Errorf("%q is there %d times", want, n)
					}
				}
				l.end(0)
			})
		})
	}
}

// deliverFrom delivers the message i of a person of its own.
func deliverFrom(t *testing.T, w *world, i int) error {
	w.chat.mu.Lock()
	in := w.chat.in
	w.chat.mu.Unlock()
	who := fmt.Sprintf("p%d", i)
	return in.Receive(t.Context(), ports.Batch{Messages: []ports.Message{{Event: fmt.Sprintf("e%d", i), ID: ports.MessageID(who), From: who, Name: who,
		Text: fmt.Sprintf("m%d", i), Private: true, Addressed: true, In: ports.Conversation{Chat: who}}}, Cursor: fmt.Sprint(i)})
}
