package gateway_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/core/agent"
	"dragoman/core/ask"
	"dragoman/ports"
)

const summaryHead = "[A summary of this conversation"

// prompts are the requests since the last look, and whether each is for a summary.
func (k *talk) prompts() []ports.ModelRequest {
	k.clerk.mu.Lock()
	defer k.clerk.mu.Unlock()
	list := k.clerk.requests
	k.clerk.requests = nil
	return list
}

func isSummary(r ports.ModelRequest) bool {
	return strings.HasPrefix(r.Entries[len(r.Entries)-1].Text, "[The chat gateway asks this")
}

// tells reports whether a prompt has this anywhere.
func tells(r ports.ModelRequest, text string) bool {
	return slices.ContainsFunc(r.Entries, func(e ports.Entry) bool { return strings.Contains(e.Text, text) })
}

// chatter says so many things that are of no use.
func (k *talk) chatter(turns int) {
	k.t.Helper()
	for i := range turns {
		k.says(strings.Repeat("I walked along the river and thought about nothing much. ", i%5+3))
	}
}

// written are the lines of a prompt as a provider's cache sees them.
func written(t *testing.T, r ports.ModelRequest) (list [][]byte) {
	t.Helper()
	add := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	add(r.Tools)
	add(r.System)
	for _, e := range r.Entries {
		add(e)
	}
	return list
}

func begins(long, short [][]byte) bool {
	return len(long) >= len(short) && slices.EqualFunc(long[:len(short)], short, bytes.Equal)
}

func TestEachPromptBeginsAsTheOneBefore(t *testing.T) {
	k := newTalk(t, 8000)
	k.clerk.keep = true
	for i := range 40 {
		if i%15 == 9 {
			k.rebirth()
		}
		if i%2 == 0 {
			k.says(fmt.Sprintf("Look up order %d, please.", 500+i))
			continue
		}
		k.chatter(1)
	}
	k.sane()
	var before [][]byte
	grown, compacted, key := 0, 0, ""
	for i, r := range k.prompts() {
		now := written(t, r)
		if key == "" {
			key = r.CacheKey
		}
		if r.CacheKey != key || key == "" || strings.Contains(key, "ann") {
			t.Errorf("request %d has the cache key %q, the first has %q", i, r.CacheKey, key)
		}
		switch {
		case isSummary(r):
			if before != nil && !begins(before, now[:len(now)-1]) {
				t.Errorf("request %d, for a summary, does not begin as the prompt before it", i)
			}
			compacted, before = compacted+1, nil
			continue
		case before != nil && !begins(now, before):
			t.Errorf("request %d does not begin as the one before:\n%s\n%s", i, bytes.Join(now, nil), bytes.Join(before, nil))
		case before != nil:
			grown++
		}
		before = now
	}
	if grown < 40 || compacted < 2 {
		t.Errorf("%d prompts began as the one before and %d summaries were made: that shows little", grown, compacted)
	}
	other := newTalk(t, 8000)
	other.clerk.keep = true
	other.line.say(t, "bob", "hello")
	other.hears()
	if got := other.prompts()[0].CacheKey; got == key {
		t.Error("two conversations have one cache key")
	}
}

func TestNewAndCompactAreTurnsOfTheirOwnInOrder(t *testing.T) {
	k := newTalk(t, 8000)
	k.clerk.keep = true
	fact := k.plant(5)
	k.chatter(12)
	k.prompts()
	k.line.batch(t, said("ann", "first of two"), said("ann", "second of two"), said("ann", "/compact"), said("ann", fact.ask), said("ann", "/New"), said("ann", fact.ask))
	var heard []string
	for range 5 {
		heard = append(heard, k.hears())
	}
	if !strings.HasPrefix(heard[1], "Compacted: 2") || !strings.HasSuffix(heard[1], " tokens.") ||
		heard[2] != "It is "+fact.answer+"." || heard[3] != "New conversation: I no longer look at what was said before." || heard[4] != "I do not know." {
		t.Errorf("it says %q", heard)
	}
	list := k.prompts()
	if len(list) != 4 || !tells(list[0], "first of two\n\nsecond of two") || !isSummary(list[1]) || !tells(list[2], summaryHead) || len(list[3].Entries) != 1 {
		t.Errorf("the model was asked %d times: %+v", len(list), list)
	}
	for i, r := range list {
		if tells(r, "/compact") || tells(r, "/New") || tells(r, "Compacted:") || tells(r, "New conversation") {
			t.Errorf("request %d tells the model of a command", i)
		}
	}
	k.rebirth()
	if got := k.says(fact.ask); got != "I do not know." {
		t.Errorf("after a restart it remembers what was before /new: %q", got)
	}
	if got := k.says("/new and tell me a joke"); !strings.HasPrefix(got, "New conversation") || !strings.Contains(got, "send it again") {
		t.Errorf("of what stands behind a command it says %q", got)
	}
	k.settled()
	k.sane()
	k.end()
	k.sound(1 + 12 + 6 + 2)
	if n := k.count(`SELECT COUNT(*) FROM turn`); n != 1+12+5+2 {
		t.Errorf("there are %d turns", n)
	}
	if n := k.count(`SELECT COUNT(*) FROM step WHERE kind = 'memo' AND json_extract(body, '$.text') = ''`); n != 2 {
		t.Errorf("%d memos end a conversation, want 2", n)
	}
}

func TestNewWorksWhereTheHistoryBreaksTheModel(t *testing.T) {
	k := newTalk(t, 8000)
	k.clerk.hook = func(r ports.ModelRequest) error {
		if tells(r, "poison") {
			return ports.Errorf(ports.KindInvalid, "clerk", "400: something in there")
		}
		return nil
	}
	for _, said := range []string{"poison", "hello", "/compact"} {
		if got := k.says(said); !strings.Contains(got, "did not accept") || !strings.Contains(got, "Reference: ") {
			t.Errorf("to %q it says %q", said, got)
		}
	}
	if got := k.says("/new"); !strings.HasPrefix(got, "New conversation") {
		t.Errorf("to /new it says %q", got)
	}
	if got := k.says("hello"); !strings.HasPrefix(got, "I see.") {
		t.Errorf("after /new it says %q", got)
	}
}

func TestACompactionThatCannotBeIsSaidPlainly(t *testing.T) {
	k := newTalk(t, 8000)
	if got := k.says("/compact"); got != "There is nothing to compact." {
		t.Errorf("at the beginning it says %q", got)
	}
	fact := k.plant(5)
	k.chatter(5)
	k.clerk.dumb = func() (ports.ModelReply, error) {
		return ports.ModelReply{Text: strings.Repeat("And then they walked along the river. ", 90), Model: "clerk/1", Stop: ports.StopEnd}, nil
	}
	if got := k.says("/compact"); !strings.Contains(got, "would be longer") {
		t.Errorf("of a long summary it says %q", got)
	}
	k.clerk.dumb = func() (ports.ModelReply, error) {
		return ports.ModelReply{}, ports.Errorf(ports.KindUnauthorized, "clerk", "401: secret-detail")
	}
	if got := k.says("/compact"); !strings.HasPrefix(got, "I could not summarise") || !strings.Contains(got, "Reference: ") || strings.Contains(got, "secret") {
		t.Errorf("of a summary that fails it says %q", got)
	}
	if got := k.says(fact.ask); got != "It is "+fact.answer+"." {
		t.Errorf("asked for what was told it says %q", got)
	}
	if n := k.count(`SELECT COUNT(*) FROM step WHERE kind = 'memo'`); n != 0 {
		t.Errorf("%d memos were made", n)
	}
}

func TestAMemoStandsOnceWhereverItsCommitFails(t *testing.T) {
	for how, asked := range map[fault]int{killBefore: 2, killAfter: 1, refused: 1, unsure: 1} {
		t.Run(cmp.Or(faults[how], "unsure"), func(t *testing.T) {
			k := newTalk(t, 8000)
			fact := k.plant(5)
			k.chatter(6)
			k.killAtNextMemo(how)
			if got := k.says("/compact"); !strings.HasPrefix(got, "Compacted: 12 messages ") {
				t.Errorf("it says %q", got)
			}
			if got := k.says(fact.ask); got != "It is "+fact.answer+"." {
				t.Errorf("asked for what was told it says %q", got)
			}
			if n := k.count(`SELECT COUNT(*) FROM step WHERE kind = 'memo'`); n != 1 || k.clerk.asked != asked {
				t.Errorf("%d memos stand, %d were asked for; want 1 and %d", n, k.clerk.asked, asked)
			}
			k.settled()
			k.sane()
			k.end()
			k.sound(9)
		})
	}
}

func TestAMemoIsOfItsConversationAlone(t *testing.T) {
	k := newTalk(t, 8000)
	k.clerk.keep = true
	fact := k.plant(5)
	k.chatter(6)
	k.says("/compact")
	k.prompts()
	k.line.say(t, "bob", fact.ask)
	if got := k.hears(); got != "I do not know." {
		t.Errorf("another person is told %q", got)
	}
	if r := k.prompts()[0]; len(r.Entries) != 1 {
		t.Errorf("another person's prompt begins with %+v", r.Entries[0])
	}
}

func TestAJournalWithoutMemosIsReadToItsBeginning(t *testing.T) {
	k := newTalk(t, 100000)
	k.clerk.keep = true
	fact := k.plant(5)
	for range 140 { // more than a page
		k.says("hm")
	}
	k.rebirth()
	k.prompts()
	if got := k.says(fact.ask); got != "It is "+fact.answer+"." {
		t.Errorf("asked for what was told at the beginning it says %q", got)
	}
	if r := k.prompts()[0]; tells(r, "left out") || len(r.Entries) != 2*142-1 {
		t.Errorf("the prompt has %d entries", len(r.Entries))
	}
}

func TestTurnsWithMemosAreReplayed(t *testing.T) {
	k := newTalk(t, 8000)
	fact := k.plant(5)
	for range 12 {
		k.chatter(3)
		k.says("Look up order 77, please.")
	}
	k.says("/compact")
	k.says(fact.ask)
	k.says("/new")
	k.says(fact.ask)
	k.settled()
	k.end()
	memos := 0
	for _, rec := range k.recordings() {
		cfg := agent.Config{Name: "main", MaxSteps: 5, Models: []agent.Model{{ContextTokens: 8000}}}
		cfg.TurnTimeout = time.Minute
		if got := replayBy(t, cfg, agent.RulesOf(rec), ask.New(k.opt.Ask), rec); !got.Same {
			t.Errorf("turn %s: %s", rec.Turn.ID, indented(t, got))
		}
		memos += count(rec, ports.StepMemo)
	}
	if memos < 4 {
		t.Errorf("only %d memos were replayed", memos)
	}
}

func TestASummaryThatCannotBeHadIsNotTriedInEachTurn(t *testing.T) {
	k := newTalk(t, 8000)
	k.clerk.dumb = func() (ports.ModelReply, error) {
		return ports.ModelReply{}, ports.Errorf(ports.KindRefused, "clerk", "the filter does not let this through")
	}
	for range 20 {
		k.says(strings.Repeat("I walked along the river and thought about nothing much. ", 20))
	}
	if k.clerk.asked != 1 {
		t.Errorf("%d summaries were asked for", k.clerk.asked)
	}
	k.clerk.dumb = nil
	if got := k.says("/compact"); !strings.HasPrefix(got, "Compacted: ") {
		t.Errorf("when the person wants it, it says %q", got)
	}
	k.sane()
}
