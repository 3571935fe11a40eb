package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/channeltest"
	fake "dragoman/tests/fake/discord"
)

// patience is how long a test waits for what must happen: the pauses that Discord
// asks for come to ten seconds.
const patience = 60 * time.Second

// rig is a channel that runs against a fake.
type rig struct {
	t       *testing.T
	server  *fake.Server
	inbox   *channeltest.Inbox
	menu    []ports.Command
	channel *Channel
	stop    func() error
}

// listed is an inbox that knows commands.
type listed struct {
	*channeltest.Inbox
	list []ports.Command
}

func (l listed) Commands() []ports.Command { return l.list }

// answerFor is how long interactions wait, for a machine that is busy: less than a
// history may hold up what comes in.
const answerFor = 8 * time.Second

func newRig(t *testing.T, o fake.Options) *rig {
	o.AnswerFor = answerFor
	r := &rig{t: t, server: fake.New(o), inbox: &channeltest.Inbox{}}
	t.Cleanup(r.server.Close)
	return r
}

// run starts the channel anew, and waits until it listens.
func (r *rig) run(change ...func(*Config)) {
	r.t.Helper()
	cfg := configOf(r.server)
	for _, c := range change {
		c(&cfg)
	}
	c, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	r.channel = c
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, listed{r.inbox, r.menu}) }()
	r.stop = func() error { cancel(); return <-done }
	stop := r.stop
	r.t.Cleanup(func() { cancel(); _ = stop })
	r.until("the channel listens", func() bool { return r.server.Gateway().Connected > 0 })
}

// halt ends the channel, as a restart does, and waits until Discord knows: the next run
// would be taken for listening before it does.
func (r *rig) halt() {
	r.t.Helper()
	if err := r.stop(); err != nil && !errors.Is(err, context.Canceled) {
		r.t.Fatal(err)
	}
	r.until("nobody listens", func() bool { return r.server.Gateway().Connected == 0 })
}

// down takes the gateway away, and waits until nobody is connected.
func (r *rig) down() {
	r.t.Helper()
	r.server.GatewayDown()
	r.until("the connection is cut", func() bool { return r.server.Gateway().Connected == 0 })
}

func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			r.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// await waits for n messages in all.
func (r *rig) await(n int) []ports.Message {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	all, err := r.inbox.Await(ctx, n)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// hears waits until the inbox has what was said in each room, each once and in order.
func (r *rig) hears(said map[string][]string) {
	r.t.Helper()
	n := 0
	for _, texts := range said {
		n += len(texts)
	}
	got := map[string][]string{}
	all := r.await(n)
	for _, m := range all {
		room, err := roomOf(m.In)
		if err != nil {
			r.t.Fatal(err)
		}
		got[room] = append(got[room], m.Text)
	}
	if len(all) != n {
		r.t.Errorf("%d messages came in, %d were said", len(all), n)
	}
	for room, texts := range said {
		if !slices.Equal(got[room], texts) {
			r.t.Errorf("room %s heard %q, want %q", room, brief(got[room]), brief(texts))
		}
	}
}

func brief(texts []string) string {
	if len(texts) <= 6 {
		return fmt.Sprint(texts)
	}
	return fmt.Sprint(texts[:3], "…", texts[len(texts)-3:], len(texts))
}

// crowd talks in private chats, in a channel and in a thread.
type crowd struct {
	*rig
	people []*fake.User
	rooms  []string
	said   map[string][]string
	count  int
}

func (r *rig) crowd() *crowd {
	c := &crowd{rig: r, said: map[string][]string{}}
	general := r.server.Guild("Team").Channel("general")
	for i := range 4 {
		u := r.server.User(fmt.Sprint("person", i))
		c.people, c.rooms = append(c.people, u), append(c.rooms, u.DM())
	}
	first := c.people[0].SayIn(general, "let us talk")
	thread := c.people[0].Thread(general, first, "talk")
	c.people, c.rooms = append(c.people, c.people[0], c.people[1]), append(c.rooms, general, thread)
	return c
}

// talk has n more messages said, in all rooms in turn.
func (c *crowd) talk(n int) {
	for range n {
		i := c.count % len(c.rooms)
		text := fmt.Sprint("message ", c.count)
		c.people[i].SayIn(c.rooms[i], text)
		c.said[c.rooms[i]] = append(c.said[c.rooms[i]], text)
		c.count++
	}
}
