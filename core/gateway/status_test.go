package gateway_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/access"
	"dragoman/core/gateway"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// admin lets eve of the chat be an admin.
func (w *world) admin() {
	w.opt.Access.People = map[string]access.Listed{"eve": {Identities: []string{"chat:eve"}, Role: ports.RoleAdmin}}
}

// absent is a server that is never reached.
type absent struct{}

func (absent) Run(ctx context.Context, reg ports.Registrar) error {
	reg.State(ports.State{Phase: ports.PhaseConnecting})
	<-ctx.Done()
	return ctx.Err()
}

func TestTheStatusTellsWhatAConversationIsAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = byTheirWord
		w.opt.Version = "1.2.3"
		w.tools.gate = make(chan struct{})
		w.start()
		status := func(from string, want ...string) {
			t.Helper()
			n := len(w.inChat("group"))
			w.chat.receive(t, inGroup(from, "/status"))
			w.within(time.Second, "group", append(slices.Repeat([]string{""}, n), strings.Join(want, "\n- "))...)
		}
		const head = "- Agent: `main`\n- Model: `m`\n- Busy mode: `queue`, as usual"
		status("ann", head, "I am at rest", "Version: 1.2.3")
		w.chat.receive(t, inGroup("ann", "srv__read_a"))
		time.Sleep(50 * time.Second)
		status("ann", head, "I have been at work for 50 s: /stop stops it", "Version")
		w.chat.receive(t, inGroup("bob", "one"))
		status("bob", head, "I have been at work for somebody else for 50 s", "1 message waits", "Version")
		w.chat.receive(t, inGroup("bob", "two"))
		w.chat.receive(t, inGroup("bob", "srv__ask_a"))
		status("bob", head, "I have been at work for somebody else for 50 s", "3 messages wait", "Version")
		close(w.tools.gate)
		time.Sleep(time.Second)
		w.comesToRest()
		status("bob", head, "I am at rest", "Version")
		w.chat.receive(t, inGroup("bob", "srv__ask_a"))
		time.Sleep(3 * time.Minute)
		status("ann", head, "A question of mine has been open for 3 min", "Version")
		w.end()
	})
}

func TestWhatConcernsTheWholeGatewayIsForAdminsInPrivate(t *testing.T) {
	w := newWorld(t)
	w.admin()
	w.opt.Sources = []gateway.Source{{Source: toolbox.Source{Name: "far", Timeout: time.Second}, Port: absent{}}}
	w.start()
	w.g.Reached(t.Context())
	has(t, w.asks("eve", "/status"), "Chat: `eve` of channel `chat`", "Server `far` is not ready: connecting")
	for _, m := range []ports.Message{said("ann", "/status"), inGroup("ann", "/status"), inGroup("eve", "/status")} {
		if answer := w.says(m); strings.Contains(answer, "far") || m.From == "ann" && strings.Contains(answer, "Chat:") {
			t.Errorf("%s is told %q", m.From, answer)
		}
	}
}

func TestAModelThatKeepsFailingIsToldOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		main, _ := twoAgents(w)
		main.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
			return ports.ModelReply{}, ports.Errorf(ports.KindUnavailable, "generate", "secret detail")
		}
		w.start()
		for range 3 {
			w.chat.say(t, "ann", "hello")
			time.Sleep(5 * time.Second)
		}
		n := len(w.inChat("bob"))
		w.chat.say(t, "bob", "/status")
		w.within(time.Second, "bob", append(slices.Repeat([]string{""}, n), "Model: `large` (it keeps failing, and is left alone for now)")...)
		w.chat.say(t, "bob", "/model")
		w.within(time.Second, "bob", "", "1. `large` (it keeps failing, and is left alone for now)\n2. `small`\n")
		w.end()
	})
}

func TestTheToolsShownAreThoseOfTheConversationsAgent(t *testing.T) {
	w := newWorld(t)
	twoAgents(w)
	w.start()
	w.g.Reached(t.Context())
	for chat, want := range map[string]string{
		"ann":  "I can use these tools:\n\n- `srv__read_a`: the tool read_a\n- `srv__read_b`: the tool read_b",
		"help": "I can use these tools:\n\n- `srv__write_a`: the tool write_a",
	} {
		if got := w.says(inChat(chat, "ann", "/tools")); got != want {
			t.Errorf("in %s: %q, want %q", chat, got, want)
		}
	}
}

// books are what was booked, and what was asked of it.
type books struct {
	mu    sync.Mutex
	all   []ports.Used // answered to every question by model
	sums  map[ports.UsageQuery]ports.Money
	asked []ports.UsageQuery
}

func (b *books) Used(_ context.Context, q ports.UsageQuery) ([]ports.Used, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, q)
	if q.By == ports.UsageByModel {
		return b.all, nil
	}
	if now := time.Now(); q.Since != time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.Local) {
		return nil, ports.Errorf(ports.KindInvalid, "used", "caps are of a day, not since %s", q.Since)
	}
	q.Since = time.Time{}
	return []ports.Used{{Requests: 1, Cost: b.sums[q]}}, nil
}

func TestUsageIsOfWhoAsksAndTellsWhatIsLeft(t *testing.T) {
	w := newWorld(t)
	w.admin()
	b := &books{
		all: []ports.Used{
			{Key: "large", Requests: 1200, Tokens: ports.Tokens{Input: 1234567, CachedInput: 1000, Output: 999}, Cost: ports.Dollars(1.5)},
			{Key: "local", Requests: 3, Unpriced: 3},
		},
		sums: map[ports.UsageQuery]ports.Money{
			{Person: "eve"}:                  ports.Dollars(0.5),
			{Channel: "chat", Chat: "eve"}:   ports.Dollars(0.25),
			{Channel: "chat", Chat: "group"}: ports.Dollars(4),
			{Agent: "main"}:                  ports.Dollars(11),
			{}:                               ports.Dollars(12),
		},
	}
	w.opt.Usage, w.opt.Caps = b, gateway.Caps{Person: ports.Dollars(2), Chat: ports.Dollars(5), Agent: ports.Dollars(10), Total: ports.Dollars(20)}
	w.start()
	const sum = "$1.50 and what `local` cost, whose price I do not know, for 1,234,567 tokens read (1,000 of them cached) and 999 written in 1,203 requests to models\n"
	const both = "- Today: " + sum + "- The last 30 days: " + sum + "\nWhat may be spent in a day:\n\n"
	for _, c := range []struct {
		m    ports.Message
		want string
	}{
		{said("eve", "/usage"), "What you used:\n\n" + both + "- by you: $2.00, of which $1.50 is left today\n- by this chat: $5.00, of which $4.75 is left today\n" +
			"- by the agent `main`: $10.00, of which $0.00 is left today\n- by all together: $20.00, of which $8.00 is left today"},
		{inGroup("eve", "/usage"), "What this chat used:\n\n" + both + "- by this chat: $5.00, of which $1.00 is left today\n- by the agent `main`: nothing more today"},
		{said("ann", "/usage"), "What you used:\n\n" + both + "- by you: $2.00, of which $2.00 is left today\n- by this chat: $5.00, of which $5.00 is left today\n- by the agent `main`: nothing more today"},
	} {
		b.asked = nil
		if got := w.says(c.m); got != c.want {
			t.Errorf("%s is told %q, want %q", c.m.From, got, c.want)
		}
		for _, q := range b.asked {
			if q.By == ports.UsageByModel && (q.Person == "") == c.m.Private || q.Chat != "" && q.Chat != cmp.Or(c.m.In.Chat, c.m.From) {
				t.Errorf("%s was answered by %+v", c.m.From, q)
			}
		}
	}
	has(t, w.asks("ann", "/help"), "/usage says")
	b.all = nil
	has(t, w.asks("ann", "/usage"), "- Today: nothing\n")
}

func TestUsageIsNoCommandWhereNothingIsBooked(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	w.last = func(o *gateway.Options) { o.Usage = nil }
	w.start()
	has(t, w.asks("ann", "/usage"), "you said: ")
	if help := w.asks("ann", "/help"); strings.Contains(help, "/usage") {
		t.Errorf("the help says %q", help)
	}
}
