package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// line is a chat platform that hands each message to the test, and edits nothing.
type line struct {
	*chat
	said chan string
}

// bare hides what a chat can do beside sending.
type bare struct{ l line }

var _ ports.ChannelPort = bare{}

func (p bare) Traits() ports.Traits                             { return ports.Traits{MaxText: 4096} }
func (p bare) Run(ctx context.Context, in ports.Receiver) error { return p.l.Run(ctx, in) }
func (p bare) Send(_ context.Context, m ports.Outgoing) (ports.MessageID, error) {
	p.l.said <- m.Content.Text
	return ports.MessageID(m.Nonce), nil
}

// depot is a source of tools with results as long as real ones.
type depot struct{ result int }

func (s *depot) Run(ctx context.Context, reg ports.Registrar) error {
	reg.Register(ports.Catalog{Tools: []ports.ToolPort{&depotTool{s, "look", ports.ClassRead}, &depotTool{s, "note", ports.ClassUnsafe}}})
	reg.State(ports.State{Phase: ports.PhaseReady})
	<-ctx.Done()
	return ctx.Err()
}

type depotTool struct {
	depot *depot
	name  string
	class ports.Class
}

func (t *depotTool) Spec() ports.ToolSpec {
	return ports.ToolSpec{Name: t.name, Class: t.class, Description: "Looks up an order, or notes something about it, in the shop's own records.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"order":{"type":"integer","description":"The number of the order"}},"required":["order"]}`)}
}

func (t *depotTool) Call(_ context.Context, c ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	n := numbers.FindString(string(c.Arguments))
	text := `{"order":` + n + `,"noted":true}`
	if t.name == "look" {
		var lines []string
		for i := range t.depot.result / 60 {
			lines = append(lines, fmt.Sprintf(`{"line":%d,"article":"AX-%s%02d","name":"a thing of wood","pieces":%d}`, i, n, i, i%7+1))
		}
		text = `{"order":` + n + `,"tracking":"` + trackingOf(n) + `","lines":[` + strings.Join(lines, ",") + `]}`
	}
	return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: text}}}, nil
}

func trackingOf(n string) string { return "TRK" + n + "-" + n + "Q" }

// mortal is a store whose process dies around the next memo's commit.
type mortal struct {
	*failing
	armed bool
}

func (m *mortal) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	m.mu.Lock()
	if m.armed && slices.ContainsFunc(c.Steps, func(s ports.Step) bool { return s.Kind == ports.StepMemo }) {
		m.armed, m.at = false, m.n+1
	}
	m.mu.Unlock()
	return m.failing.Record(ctx, l, c)
}

// talk is a conversation with a clerk, through the whole gateway.
type talk struct {
	*world
	clerk *clerk
	line  line
	store *mortal
	dies  int
}

func newTalk(t *testing.T, window int) *talk {
	w := newWorld(t)
	k := &talk{world: w, clerk: &clerk{window: window, longest: min(1200, window/6)}, line: line{w.chat, make(chan string, 64)}}
	w.plug = bare{k.line}
	w.agent = func(c *agent.Config) { c.Models[0].ContextTokens, c.Models[0].Facts = window, k.clerk.Facts() }
	w.opt.Agents = []gateway.Agent{{Config: agent.Config{Models: []agent.Model{{Port: k.clerk}}}}}
	w.opt.Sources = []gateway.Source{{Source: toolbox.Source{Name: "shop", Timeout: time.Second}, Port: &depot{1500}}}
	k.live()
	return k
}

func (k *talk) live() {
	k.t.Helper()
	k.store = &mortal{failing: &failing{died: make(chan struct{})}}
	k.startOn(func(s *sqlstore.Store) gateway.Store { k.store.failing.Store = s; return k.store })
	k.is("srv", ports.PhaseReady) // tools that come later change the prompt
	k.is("shop", ports.PhaseReady)
}

// killAtNextMemo has the process die around the commit of the next memo.
func (k *talk) killAtNextMemo(how fault) {
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	k.store.armed, k.store.how = true, how
}

// says has the person say something, and returns what they are told.
func (k *talk) says(text string) string {
	k.t.Helper()
	k.line.say(k.t, "ann", text)
	return k.hears()
}

func (k *talk) hears() string {
	k.t.Helper()
	deadline := time.NewTimer(roomy(20 * time.Second))
	defer deadline.Stop()
	for {
		select {
		case said := <-k.line.said:
			return said
		case <-k.store.died:
			k.dies++
			k.bury(k.store.failing)
			k.live()
		case <-deadline.C:
			k.t.Fatalf("no answer\n%s", k.rows())
		}
	}
}

// rebirth stops the gateway in order and starts it again: nothing in memory is left.
func (k *talk) rebirth() {
	k.t.Helper()
	k.end()
	k.live()
}

// sane fails the test for whatever the clerk did not like.
func (k *talk) sane() {
	k.t.Helper()
	k.clerk.mu.Lock()
	defer k.clerk.mu.Unlock()
	for _, f := range k.clerk.faults {
		k.t.Error("the model was told nonsense: ", f)
	}
	if k.clerk.refused > 0 {
		k.t.Errorf("%d prompts were beyond the window", k.clerk.refused)
	}
}

// planted is a fact that was told, and what is to be known of it.
type planted struct{ ask, answer string }

// plant tells the fact of this number.
func (k *talk) plant(n int) planted {
	k.t.Helper()
	number := fmt.Sprint(n)
	f := facts[n%len(facts)]
	p := planted{ask: strings.Replace(f.asks, "%d", number, 1)}
	told := strings.Replace(f.told, "%d", number, 1)
	switch n % len(facts) {
	case 0:
		p.answer = "LK-" + number + "-QX"
		k.says("By the way, " + told + p.answer + ". It is in the hall on the left.")
	case 1:
		p.answer = "https://wiki.example/p/" + number + "?v=2"
		k.says("For your information: " + told + p.answer + ". Others may want it too.")
	case 2:
		p.answer = "Esmeralda-" + number
		k.says("This morning " + told + p.answer + ". The others were too slow.")
	case 3:
		p.answer = fmt.Sprintf("2027-03-%02d", n%28+1)
		k.says("Promise that you water plant " + number + " on " + p.answer + ".")
	case 4:
		p.answer = trackingOf(number)
		k.says("Look up order " + number + ", please.")
	}
	return p
}

// raced reports whether this binary looks for races: everything takes ten times as long.
var raced = sync.OnceValue(func() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
})

// TestAConversationOfTwoThousandTurnsStaysWithinASmallWindow holds a conversation
// with tools that is many times as long as the window, through restarts and deaths.
func TestAConversationOfTwoThousandTurnsStaysWithinASmallWindow(t *testing.T) {
	const window = 8000
	turns := 2000
	if raced() {
		turns = 300
	}
	k := newTalk(t, window)
	var (
		known []planted
		sizes []int
	)
	for i := range turns {
		switch {
		case i%250 == 120:
			k.rebirth()
		case i%250 == 200:
			k.killAtNextMemo([]fault{killBefore, killAfter}[i/250%2])
		}
		switch {
		case i%50 == 3:
			known = append(known, k.plant(i))
		case i%10 == 9 && len(known) > 0:
			p := known[(i*7)%len(known)]
			if got := k.says(p.ask); got != "It is "+p.answer+"." {
				t.Fatalf("turn %d: asked %q it says %q, not %q", i, p.ask, got, p.answer)
			}
		case i%5 == 1:
			if got := k.says(fmt.Sprintf("Look up order %d, please.", 10000+i)); !strings.Contains(got, trackingOf(fmt.Sprint(10000+i))) {
				t.Fatalf("turn %d: the order is answered by %q", i, got)
			}
		default:
			k.says(strings.Repeat("I walked along the river and thought about nothing much. ", i%9+1))
		}
		k.clerk.mu.Lock()
		sizes = append(sizes, k.clerk.largest)
		k.clerk.largest = 0
		k.clerk.mu.Unlock()
	}
	k.settled()
	k.sane()
	k.end()
	k.sound(turns)
	memos := k.count(`SELECT COUNT(*) FROM step WHERE kind = 'memo'`)
	t.Logf("%d turns, %d memos, %d summaries asked for, %d deaths, the largest prompt %d of %d tokens", turns, memos, k.clerk.asked, k.dies, slices.Max(sizes), window)
	if memos == 0 || k.dies != turns/250 {
		t.Errorf("%d memos were made and %d processes died, want some and %d", memos, k.dies, turns/250)
	}
	if n := k.count(`SELECT COUNT(*) FROM turn WHERE outcome <> 'answered'`); n != 0 {
		t.Errorf("%d turns were not answered", n)
	}
	isFlat(t, sizes)
	draw(t, "prompt_tokens.svg", sizes, window)
}

// isFlat fails the test if prompts grow with the conversation.
func isFlat(t *testing.T, sizes []int) {
	t.Helper()
	const stretch = 100
	least, most := 0, 0
	for i := stretch; i+stretch <= len(sizes); i += stretch {
		sum := 0
		for _, n := range sizes[i : i+stretch] {
			sum += n
		}
		if least == 0 || sum/stretch < least {
			least = sum / stretch
		}
		most = max(most, sum/stretch)
	}
	t.Logf("of %d turns at a time a prompt has %d to %d tokens", stretch, least, most)
	if most > least*3/2 {
		t.Errorf("the prompts are not flat: of %d turns at a time they have %d to %d tokens", stretch, least, most)
	}
}
