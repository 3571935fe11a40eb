package gateway_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/access"
	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// tells has the admins told, and waits until that is done; n: so many log lines there are then.
func (w *world) tells(log *logBook, n int, key, text string) map[string]any {
	w.t.Helper()
	w.g.TellAdmins(w.t.Context(), key, text)
	eventually(w.t, "the log has it", func() bool { return len(log.find("admin_told")) == n })
	return log.find("admin_told")[n-1]
}

func TestAdminsAreToldWhereTheyLastWroteInPrivate(t *testing.T) {
	w := newWorld(t)
	log := w.logged()
	w.opt.Access.People = map[string]access.Listed{
		"eve": {Identities: []string{"chat:eve"}, Role: ports.RoleAdmin},
		"sue": {Identities: []string{"chat:sue", "chat:sue2"}, Role: ports.RoleAdmin},
		"ann": {Identities: []string{"chat:ann"}, Role: ports.RoleMember},
	}
	w.model.reply = echo
	w.start()
	if line := w.tells(log, 1, "spend/1", "One."); line["topic"] != "spend" || line["admins"] != 0.0 {
		t.Errorf("with nobody known the log has %v", line)
	}
	w.says(inChat("room1", "eve", "hello"))
	w.says(inChat("room2", "eve", "hello"))
	w.says(inGroup("eve", "hello"))
	w.says(inChat("room3", "sue", "hello"))
	w.says(inChat("room4", "ann", "hello"))
	if line := w.tells(log, 2, "spend/2", "Two *things*."); line["admins"] != 2.0 {
		t.Errorf("the log has %v", line)
	}
	w.settled()
	w.restart()
	w.tells(log, 3, "spend/2", "Two, again.") // the same key
	w.tells(log, 4, "spend/3", "Three.")
	w.settled()
	got := w.toldIn()
	if want := []string{"room2 Three.", "room2 Two *things*.", "room3 Three.", "room3 Two *things*."}; !slices.Equal(got, want) {
		t.Errorf("the chats were told %q, want %q", got, want)
	}
}

// toldIn are the notices with their chats, sorted.
func (w *world) toldIn() []string {
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	var list []string
	for _, p := range w.chat.posts {
		if strings.HasPrefix(p.out.Nonce, "notice:admins/") {
			list = append(list, p.out.In.Chat+" "+p.out.Content.Text)
		}
	}
	slices.Sort(list)
	return list
}

func TestWhoIsAnAdminNoLongerIsToldNothing(t *testing.T) {
	w := newWorld(t)
	log := w.logged()
	w.model.reply = echo
	w.opt.Access = access.Config{Channels: map[string]access.Rules{"chat": {Mode: access.Pairing}}}
	w.start()
	code, err := w.g.FirstAdminCode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	has(t, w.asks("eve", "/start "+code), "You are this bot's admin") // that is where she is known from
	w.tells(log, 1, "a/1", "One.")
	w.settled()
	people, err := w.g.Pairings(t.Context())
	if err != nil || len(people) != 1 {
		t.Fatal(people, err)
	}
	if _, err := w.g.Revoke(t.Context(), people[0].ID); err != nil {
		t.Fatal(err)
	}
	if line := w.tells(log, 2, "a/2", "Two."); line["admins"] != 0.0 {
		t.Errorf("after she was revoked the log has %v", line)
	}
	w.settled()
	w.end()
	// A person of the config whose other identity was taken out of it.
	w.opt.Access = access.Config{Channels: map[string]access.Rules{"chat": {Mode: access.Open}},
		People: map[string]access.Listed{"sue": {Identities: []string{"chat:sue", "chat:old"}, Role: ports.RoleAdmin}}}
	w.start()
	w.asks("old", "hello")
	w.settled()
	w.end()
	w.opt.Access.People["sue"] = access.Listed{Identities: []string{"chat:sue"}, Role: ports.RoleAdmin}
	w.start()
	if line := w.tells(log, 3, "a/3", "Three."); line["admins"] != 0.0 {
		t.Errorf("of who was taken out of the config the log has %v", line)
	}
	w.settled()
	if got := w.toldIn(); !slices.Equal(got, []string{"eve One."}) {
		t.Errorf("the chats were told %q", got)
	}
}

// counted is a store that counts the records that are written of admins' rooms.
type counted struct {
	gateway.Store
	mu  *sync.Mutex
	put *int
}

func (c counted) Put(ctx context.Context, r ports.Record) (ports.Record, error) {
	if r.Scope == "admins" {
		c.mu.Lock()
		*c.put++
		c.mu.Unlock()
	}
	return c.Store.Put(ctx, r)
}

func TestAnAdminsRoomIsWrittenOnlyWhenItChanges(t *testing.T) {
	w := newWorld(t)
	w.admin()
	w.model.reply = echo
	var mu sync.Mutex
	n := 0
	begin := func() { w.startOn(func(s *sqlstore.Store) gateway.Store { return counted{s, &mu, &n} }) }
	begin()
	for range 3 {
		w.asks("eve", "hello")
	}
	w.settled()
	w.end()
	begin()
	w.asks("eve", "hello")
	w.says(inChat("elsewhere", "eve", "hello"))
	w.says(inChat("elsewhere", "eve", "hello"))
	w.asks("ann", "hello")
	mu.Lock()
	defer mu.Unlock()
	if n != 2 {
		t.Errorf("it was written %d times, want 2", n)
	}
}

func TestAdminsAreToldOnceADayThatACapIsNearlyReached(t *testing.T) {
	w := newWorld(t)
	w.admin()
	w.opt.Caps = gateway.Caps{Person: 5e7}
	w.agent = func(c *agent.Config) {
		c.Models[0].Facts = ports.ModelFacts{Price: &ports.Price{Input: 2, Output: 8}, MaxTokens: 100}
	}
	w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
		got, err := says("an answer")
		got.Usage = ports.Tokens{Input: 5000, Output: 100} // $0.0108
		return got, err
	}
	w.start()
	w.asks("eve", "hello")
	for range 5 {
		w.chat.say(t, "ann", "hello")
		w.settled()
	}
	eventually(t, "an admin is told", func() bool { return len(w.toldIn()) > 0 })
	w.restart()
	w.chat.say(t, "ann", "hello")
	w.settled()
	w.end() // waits for what is still being told
	if got := w.toldIn(); len(got) != 1 || !strings.Contains(got[0], "eve Of the $0.0500 that person") {
		t.Errorf("the admin was told %q", got)
	}
}

// slow is a store that takes its time to find an admin's room.
type slow struct{ gateway.Store }

func (s slow) Get(ctx context.Context, scope, kind, key string) (ports.Record, error) {
	if scope == "admins" {
		timer := time.NewTimer(300 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
	}
	return s.Store.Get(ctx, scope, kind, key)
}

// A turn tells while the gateway stops: what it began is not lost.
func TestWhatIsToldWhileTheGatewayStopsArrives(t *testing.T) {
	w := newWorld(t)
	w.admin()
	w.opt.Drain = time.Minute
	told := make(chan struct{})
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if strings.Contains(r.Entries[len(r.Entries)-1].Text, "tell") {
			<-told
			w.g.TellAdmins(ctx, "late/1", "Late.")
		}
		return echo(ctx, r)
	}
	w.startOn(func(s *sqlstore.Store) gateway.Store { return slow{s} })
	w.asks("eve", "hello")
	w.chat.say(t, "ann", "tell")
	eventually(t, "the model is asked", func() bool { return len(w.model.asked()) == 2 })
	ended := make(chan struct{})
	go func() { w.end(); close(ended) }()
	eventually(t, "the stop has begun", func() bool { return w.g.Ready(t.Context()).Channels[0].State == "stopped" })
	close(told)
	<-ended
	if got := w.toldIn(); !slices.Equal(got, []string{"eve Late."}) {
		t.Errorf("the chats were told %q", got)
	}
}
