package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// noTools is a toolbox that has none.
type noTools struct{ Toolbox }

func (noTools) Specs(context.Context, ports.Conversation) []ports.ToolSpec { return nil }

// rows makes turns as a store has them.
type rows struct {
	seq int64
	now time.Time
}

// turn is a turn that wants a long result, and is over a second after it began.
func (r *rows) turn(result string) ports.Past {
	r.seq++
	id := ports.TurnID(ports.Conversation{Channel: "c", Chat: "1"}, r.seq)
	call := ports.Call{ID: fmt.Sprint("c", r.seq), Name: "look", Arguments: json.RawMessage(`{}`)}
	p := ports.Past{Turn: ports.Turn{ID: id}, Inbox: []ports.Inbox{{Seq: r.seq, Route: ports.RouteLane, Received: r.now, Message: ports.Message{Text: "look", Private: true}}}}
	for _, s := range []struct {
		kind ports.StepKind
		body any
	}{
		{ports.StepReply, replyBody{V: 1, Calls: []ports.Call{call}, At: r.now}},
		{ports.StepResult, resultBody{V: 1, CallResult: ports.CallResult{Outcome: ports.CallOK, Text: result}}},
		{ports.StepReply, replyBody{V: 1, Text: "looked", At: r.now.Add(time.Second)}},
		{ports.StepFinal, finalBody{V: 1}},
	} {
		p.Steps = append(p.Steps, ports.Step{Index: len(p.Steps), Kind: s.kind, Body: write(s.body)})
	}
	r.now = r.now.Add(time.Minute)
	return p
}

// after is a turn that begins now, behind these.
func (r *rows) after(list []ports.Past, cacheFor time.Duration) *turn {
	a := &Agent{cfg: Config{Models: []Model{{ContextTokens: 200000, Facts: ports.ModelFacts{CacheFor: cacheFor}}}}, tools: noTools{}, log: slog.New(slog.DiscardHandler)}
	t := &turn{Agent: a, log: a.log, taken: []ports.Inbox{{Seq: r.seq + 1, Route: ports.RouteLane, Received: r.now, Message: ports.Message{Text: "now", Private: true}}}}
	t.recall, _ = t.recollect(list, true)
	return t
}

// cut is in how many results something is left out.
func cut(list []ports.Entry) (n int) {
	for _, e := range list {
		if e.Role == ports.RoleTool && strings.Contains(e.Text, "are left out here") {
			n++
		}
	}
	return n
}

func TestOldResultsAreCutOnlyWhereTheCacheIsCold(t *testing.T) {
	r := rows{now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
	long := strings.Repeat("0123456789", 500) + `[9 bytes left out here. The whole is artifact "a7": read it in parts with read_artifact.]`
	var list []ports.Past
	check := func(when string, cacheFor time.Duration, want int) {
		t.Helper()
		if got := cut(r.after(list, cacheFor).view()); got != want {
			t.Errorf("%s %d results of %d are cut, want %d", when, got, len(list), want)
		}
	}
	for range 8 {
		list = append(list, r.turn(long))
		check("in a warm conversation", 0, 0)
	}
	r.now = r.now.Add(10 * time.Minute)
	check("after a pause", 0, 8-wholeTurns)
	check("after a pause that the provider's cache outlives", time.Hour, 0)
	for range 4 {
		list = append(list, r.turn(long))
		check("once it is warm again", 0, 8-wholeTurns)
	}
	r.now = r.now.Add(10 * time.Minute)
	check("after the next pause", 0, 12-wholeTurns)
	for _, e := range r.after(list, 0).view() {
		if e.Role == ports.RoleTool && cut([]ports.Entry{e}) == 1 && !strings.Contains(e.Text, `kept as artifact "a7"`) && strings.Count(e.Text, `"a7"`) == 0 {
			t.Errorf("a result that is cut does not say how to get at it: %q", e.Text)
		}
	}
}

func TestACommandThatATurnTookIsNotTold(t *testing.T) {
	in := func(seq int64, text string) ports.Inbox {
		return ports.Inbox{Seq: seq, Route: ports.RouteLane, Message: ports.Message{Text: text, Private: true}}
	}
	stopped := []ports.Step{{Kind: ports.StepFinal, Body: write(finalBody{V: 1, Text: textStopped})}}
	got := entries([]ports.Inbox{in(1, "dig a hole"), in(2, " /NEW and deep"), in(3, "/newer")}, stopped)
	if len(got) != 2 || got[0].Text != "dig a hole\n\n/newer" {
		t.Errorf("the model is told %+v", got)
	}
}

func TestEntriesAreTrimmedTheSameAndStayWhole(t *testing.T) {
	list := []ports.Entry{{Role: ports.RoleUser, Text: strings.Repeat("Ærlig talt. ", 400)}}
	for i := range 12 {
		call := ports.Call{ID: fmt.Sprint(i), Name: "look", Arguments: json.RawMessage(`{"text":"` + strings.Repeat("long ", 300) + `"}`)}
		list = append(list, ports.Entry{Role: ports.RoleAssistant, Calls: []ports.Call{call}},
			ports.Entry{Role: ports.RoleTool, CallID: call.ID, Text: strings.Repeat("ø", 1500)})
	}
	before := string(write(list))
	last := guessEntries(list) + 1
	for _, most := range []int{12000, 9000, 6000, 3000, 2000} {
		c := trimTo(list, trim{}, most)
		got := c.of(list)
		if n := guessEntries(got); n > most || n > last {
			t.Errorf("trimmed to %d they have %d tokens (%+v)", most, n, c)
		}
		if string(write(got)) != string(write(trimTo(list, trim{}, most).of(list))) {
			t.Errorf("trimmed to %d twice they differ", most)
		}
		if len(got) != len(list) {
			t.Fatalf("trimmed to %d there are %d entries of %d", most, len(got), len(list))
		}
		for i, e := range got {
			if e.CallID != list[i].CallID || len(e.Calls) != len(list[i].Calls) || strings.Contains(e.Text, "\uFFFD") || e.Text == "" && list[i].Text != "" {
				t.Errorf("trimmed to %d entry %d is %+v", most, i, e)
			}
			for _, call := range e.Calls {
				if !json.Valid(call.Arguments) {
					t.Errorf("trimmed to %d arguments are %q", most, call.Arguments)
				}
			}
		}
		last = guessEntries(got)
	}
	if string(write(list)) != before {
		t.Error("the entries themselves were changed")
	}
}

func TestPromptsAreMeasuredByWhatTheProviderCounted(t *testing.T) {
	r := rows{now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
	x := r.after(nil, 0)
	if got := x.ofTokens(1000); got != 1000 {
		t.Errorf("of a model that is not known 1000 tokens are %d of ours", got)
	}
	reply := func(input, guess int) {
		x.fit.guess = guess
		x.add(ports.StepReply, 0, x.replied(ports.ModelReply{Text: "hm", Model: "m", Usage: ports.Tokens{Input: input}}))
	}
	reply(2000, 1000)
	if got := x.ofTokens(1000); got != 500 {
		t.Errorf("of a model that counts twice as much 1000 tokens are %d of ours", got)
	}
	if got := x.ofTokens(4000); got != 2000 {
		t.Errorf("of a model that counts twice as much 4000 tokens are %d of ours", got)
	}
	reply(3000, 2000) // prose this time: the scale moves slowly, the last prompt counts
	if got := x.ofTokens(3000); got != 2000 {
		t.Errorf("what was just counted as 3000 is %d of ours, and was 2000", got)
	}
	if s := x.scales.of("m"); s < 1.85 || s > 1.95 {
		t.Errorf("the scale is %f", s)
	}
	for range 50 {
		reply(4900, 1000)
	}
	if s := x.scales.of("m"); s != mostScale {
		t.Errorf("the scale is %f, beyond its bound", s)
	}
	reply(1, 1000) // nonsense: the one before counts
	if got := x.ofTokens(4900); got != 1000 {
		t.Errorf("after nonsense 4900 tokens are %d of ours", got)
	}
}

func TestTheSmallestWindowCountsWithoutItsReply(t *testing.T) {
	r := rows{now: time.Now()}
	x := r.after(nil, 0)
	x.cfg.Models = []Model{{ContextTokens: 100000, Facts: ports.ModelFacts{MaxTokens: 8000}}, {ContextTokens: 30000}}
	if x.window() != 30000 || x.room() != 22000 || x.full() != 17600 {
		t.Errorf("the window is %d, the room %d, full %d", x.window(), x.room(), x.full())
	}
	x.cfg.Models = []Model{{ContextTokens: 6000, Facts: ports.ModelFacts{MaxTokens: 4096}}}
	if x.room() != 4000 {
		t.Errorf("of a small window %d are left for the prompt", x.room())
	}
	if got := x.base(x.cfg.Models[0]).MaxTokens; got != 2000 {
		t.Errorf("a reply may have %d tokens, beside a prompt of 4000 in 6000", got)
	}
	x.cfg.Models = nil
	if x.window() != defaultWindow {
		t.Errorf("a window that nobody knows is taken for %d", x.window())
	}
}

func TestTheLatestMemoAndWhatCameAfterItAreRemembered(t *testing.T) {
	r := rows{now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
	var list []ports.Past
	for range 10 {
		list = append(list, r.turn("ok"))
	}
	memo := func(at, upto int, text string) {
		s := ports.Step{Index: len(list[at].Steps), Kind: ports.StepMemo, Call: -1, Body: write(memoBody{V: 1, Upto: list[upto].Turn.ID, Text: text})}
		list[at].Steps = append(list[at].Steps, s)
	}
	memo(5, 2, "the first")
	memo(8, 6, "the second")
	x := r.after(nil, 0)
	for name, c := range map[string]struct {
		page []ports.Past
		all  bool
		ok   bool
		left int
		memo string
	}{
		"all":                                {list, true, true, 3, "the second"},
		"back to what it stands for":         {list[6:], false, true, 3, "the second"},
		"not back to what it stands for":     {list[7:], false, false, 3, "the second"},
		"before its turn":                    {list[9:], false, false, 1, ""},
		"none before: what was is no longer": {list[7:], true, true, 3, "the second"},
	} {
		got, ok := x.recollect(c.page, c.all)
		if ok != c.ok || len(got.past) != c.left || got.memo.Text != c.memo || got.lost {
			t.Errorf("%s: %d turns, memo %q, reaches back: %v, lost: %v", name, len(got.past), got.memo.Text, ok, got.lost)
		}
	}
}

func TestAJournalBeyondAllBoundsIsCutAndSaysSo(t *testing.T) {
	r := rows{now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
	var list []ports.Past
	for range 300 {
		list = append(list, r.turn(strings.Repeat("much ", 800)))
	}
	x := r.after(nil, 0)
	x.cfg.Models[0].ContextTokens = 4000
	got, ok := x.recollect(list, false)
	if !ok || !got.lost || len(got.past) == 0 || len(got.past) == 300 {
		t.Fatalf("%d turns of 300 are told, lost: %v, reaches back: %v", len(got.past), got.lost, ok)
	}
	x.recall = got
	if head := x.view()[0]; head.Text != textLost {
		t.Errorf("the prompt begins with %q", head.Text)
	}
}

func TestTheModelIsToldWhatAMessageRepliesTo(t *testing.T) {
	say := func(q *ports.Quote, private bool) string {
		m := ports.Inbox{Seq: 1, Route: ports.RouteLane, Message: ports.Message{Text: "and this?", Name: "Ann", Private: private, Quote: q}}
		return said([]ports.Inbox{m}, nil, func(ports.Inbox) bool { return true })[0].Text
	}
	long := strings.Repeat("é", maxQuote+1)
	for want, got := range map[string]string{
		"and this?": say(nil, true),
		"[This replies to your message: \"It is 4.\"]\nand this?":                say(&ports.Quote{Text: "It is 4.", Name: "Bot", Own: true}, true),
		"[This replies to the message of Bob: \"a b c\"]\nAnn: and this?":        say(&ports.Quote{Text: " a\nb\n\n c", Name: "Bob"}, false),
		"[This replies to a message: \"" + long[:2*maxQuote] + "…\"]\nand this?": say(&ports.Quote{Text: long}, true),
	} {
		if got != want {
			t.Errorf("the model reads %q, want %q", got, want)
		}
	}
}
