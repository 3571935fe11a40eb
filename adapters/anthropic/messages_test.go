package anthropic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
)

// bodyOf is a request's body, decoded; the strict peer has looked at it.
func bodyOf(t *testing.T, m *Model, r ports.ModelRequest) request {
	t.Helper()
	raw, err := m.body(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkBody(raw); err != nil {
		t.Errorf("the API would refuse: %v\n%s", err, raw)
	}
	var c request
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// outline is messages as "user: text, image; assistant: text, tool_use".
func outline(all []message) string {
	var rows []string
	for _, m := range all {
		var kinds []string
		for _, b := range m.Content {
			kinds = append(kinds, b.Type)
		}
		rows = append(rows, m.Role+": "+strings.Join(kinds, ", "))
	}
	return strings.Join(rows, "; ")
}

func TestHistoriesTakeTheWiresForm(t *testing.T) {
	m := testModel(t, "http://model.test")
	one := call("c1", "a__look", `{}`)
	for name, c := range map[string]struct {
		entries []ports.Entry
		want    string
	}{
		"nothing":                    {nil, "user: text"},
		"nothing to see":             {[]ports.Entry{user(" \n")}, "user: text"},
		"people type in bursts":      {[]ports.Entry{user("a"), user("b")}, "user: text, text"},
		"a reply came first":         {[]ports.Entry{said("a"), user("b")}, "user: text; assistant: text; user: text"},
		"a reply came last":          {[]ports.Entry{user("a"), said("b ")}, "user: text; assistant: text; user: text"},
		"two replies in a row":       {[]ports.Entry{user("a"), said("b"), said("c"), user("d")}, "user: text; assistant: text, text; user: text"},
		"an empty reply":             {[]ports.Entry{user("a"), said(""), user("b")}, "user: text, text"},
		"words between the results":  {[]ports.Entry{user("a"), said("", one, call("c2", "a__look", `{}`)), gave("c1", "x"), user("wait"), gave("c2", "y")}, "user: text; assistant: tool_use, tool_use; user: tool_result, tool_result, text"},
		"a result that never came":   {[]ports.Entry{user("a"), said("", one), user("b")}, "user: text; assistant: tool_use; user: tool_result, text"},
		"a reply before the result":  {[]ports.Entry{user("a"), said("", one), said("b"), gave("c1", "late")}, "user: text; assistant: tool_use; user: tool_result; assistant: text; user: text"},
		"a result of no call":        {[]ports.Entry{user("a"), gave("c9", "x")}, "user: text, text"},
		"a result that came twice":   {[]ports.Entry{user("a"), said("", one), gave("c1", "x"), gave("c1", "y")}, "user: text; assistant: tool_use; user: tool_result, text"},
		"a history that begins late": {[]ports.Entry{said("", one), gave("c1", "x")}, "user: text; assistant: tool_use; user: tool_result"},
	} {
		t.Run(name, func(t *testing.T) {
			got := bodyOf(t, m, ports.ModelRequest{Entries: c.entries, Tools: []ports.ToolSpec{look}})
			if s := outline(got.Messages); s != c.want {
				t.Errorf("%s\nwant %s", s, c.want)
			}
		})
	}
}

// Ids that another provider made are of other forms, and the same again and again.
func TestForeignIDsAreRenamedAlike(t *testing.T) {
	r := ports.ModelRequest{Tools: []ports.ToolSpec{look}, Entries: []ports.Entry{user("a"),
		said("", call("call_0", "a__look", `{}`), call("é", "a__look", `{}`), call("functions.look:0", "a__look", `{}`)), gave("functions.look:0", "3"), gave("call_0", "1"), gave("é", "2"),
		said("", call("call_0", "a__look", `{}`)), gave("call_0", "4"),
		said("", call("call_0_2", "a__look", `{}`)), gave("call_0_2", "5")}}
	got := bodyOf(t, testModel(t, "http://model.test"), r)
	asked, answered := map[string]int{}, map[string]string{}
	n := 0
	for _, msg := range got.Messages {
		for _, b := range msg.Content {
			switch b.Type {
			case "tool_use":
				n++
				asked[b.ID] = n
			case "tool_result":
				answered[b.ToolUseID] = b.Content[0].Text
			}
		}
	}
	for id, n := range asked {
		if answered[id] != fmt.Sprint(n) {
			t.Errorf("call %d, %s, is answered with %q", n, id, answered[id])
		}
	}
	again := bodyOf(t, testModel(t, "http://model.test"), r)
	if a, b := fmt.Sprint(got), fmt.Sprint(again); len(asked) != 5 || outline(got.Messages) != outline(again.Messages) || len(a) != len(b) {
		t.Errorf("%d ids, or not the same again", len(asked))
	}
}

// Thinking goes back to its maker alone, as it came and where it stood.
func TestThinkingGoesBackToItsPlace(t *testing.T) {
	m := testModel(t, "http://model.test")
	first, second := "Hm.", ""
	state := stateOf([]piece{{Type: "thinking", Thinking: &first, Signature: "s1"}, {Type: "text", Bytes: 2}, {Type: "redacted_thinking", Data: "d"},
		{Type: "tool_use"}, {Type: "thinking", Thinking: &second, Signature: "s2"}, {Type: "text", Bytes: 3}, {Type: "tool_use"}})
	reply := said("AøBC", call("c1", "a__look", `{}`), call("c2", "a__look", `{}`))
	reply.Text = "A " + "BC."
	reply.State, reply.Model = state, "model.test/claude-test"
	for name, c := range map[string]struct {
		change func(*ports.Entry)
		want   string
	}{
		"as it was":         {func(*ports.Entry) {}, "thinking, text, redacted_thinking, tool_use, thinking, text, tool_use"},
		"of another model":  {func(e *ports.Entry) { e.Model = "model.test/other" }, "text, tool_use, tool_use"},
		"of nobody":         {func(e *ports.Entry) { e.Model = "" }, "text, tool_use, tool_use"},
		"with another text": {func(e *ports.Entry) { e.Text = "edited" }, "thinking, redacted_thinking, thinking, text, tool_use, tool_use"},
		"without a text":    {func(e *ports.Entry) { e.Text = "" }, "thinking, redacted_thinking, thinking, tool_use, tool_use"},
		"with a call less":  {func(e *ports.Entry) { e.Calls = e.Calls[:1] }, "thinking, redacted_thinking, thinking, text, tool_use"},
		"broken":            {func(e *ports.Entry) { e.State = json.RawMessage(`[{"type":`) }, "text, tool_use, tool_use"},
		"with an absurd count": {func(e *ports.Entry) {
			e.State = json.RawMessage(`[{"type":"text","bytes":-5},{"type":"text","bytes":9}]`)
		}, "text, tool_use, tool_use"},
		"with a thought at the end": {func(e *ports.Entry) {
			e.Calls, e.State = nil, stateOf([]piece{{Type: "thinking", Thinking: &first, Signature: "s1"}, {Type: "text", Bytes: 5}, {Type: "redacted_thinking", Data: "d"}})
		}, "thinking, text"},
	} {
		t.Run(name, func(t *testing.T) {
			e := reply
			e.Calls = slices.Clone(reply.Calls)
			c.change(&e)
			entries := []ports.Entry{user("a"), e}
			for _, c := range e.Calls {
				entries = append(entries, gave(c.ID, "x"))
			}
			got := bodyOf(t, m, ports.ModelRequest{Entries: entries, Tools: []ports.ToolSpec{look}})
			if s := outline(got.Messages[1:2]); s != "assistant: "+c.want {
				t.Errorf("%s\nwant %s", s, c.want)
			}
		})
	}
}

// A budget for thinking is left out where the wire would refuse it.
func TestABudgetOnlyWhereItFits(t *testing.T) {
	ours := said("", call("c1", "a__look", `{}`))
	ours.State, ours.Model = thought("", 1), "model.test/claude-test"
	theirs := said("", call("c1", "a__look", `{}`))
	for name, c := range map[string]struct {
		entries []ports.Entry
		most    int
		want    bool
	}{
		"a new question":           {[]ports.Entry{user("a")}, 0, true},
		"a bound below the budget": {[]ports.Entry{user("a")}, 2048, false},
		"a bound above it":         {[]ports.Entry{user("a")}, 2049, true},
		"a round of its own":       {[]ports.Entry{user("a"), ours, gave("c1", "x")}, 0, true},
		"a round of another":       {[]ports.Entry{user("a"), theirs, gave("c1", "x")}, 0, false},
		"a round of another, over": {[]ports.Entry{user("a"), theirs, gave("c1", "x"), said("b"), user("c")}, 0, true},
	} {
		m := testModel(t, "http://model.test", func(cfg *Config) { cfg.ThinkingTokens = 2048 })
		got := bodyOf(t, m, ports.ModelRequest{Entries: c.entries, MaxTokens: c.most, Tools: []ports.ToolSpec{look}})
		if (got.Thinking != nil) != c.want {
			t.Errorf("%s: thinking is %+v", name, got.Thinking)
		}
	}
}

// The beginning of a conversation stays what it was, byte by byte, but for the
// marks: else the provider's cache is of no use.
func TestABeginningStaysInTheCache(t *testing.T) {
	m := testModel(t, "http://model.test")
	r := fullRequest()
	plain := func(r ports.ModelRequest) string {
		raw, err := m.body(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(raw), `],"tools":`)
		return strings.ReplaceAll(text, `,"cache_control":{"type":"ephemeral"}`, "")
	}
	before := plain(r)
	r.Entries = append(r.Entries, said("So it is."), user("Thanks."))
	if after := plain(r); !strings.HasPrefix(after, before) {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

// TestAnyHistoryIsTaken makes histories of all kinds of entries in any order.
func TestAnyHistoryIsTaken(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 200
	}
	m := testModel(t, "http://model.test", func(cfg *Config) { cfg.ThinkingTokens = 1024 })
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		r := ports.ModelRequest{System: pick(rng, "", " ", "Be brief."), NoCalls: rng.IntN(4) == 0}
		if rng.IntN(3) > 0 {
			r.Tools = []ports.ToolSpec{look, find}
		}
		for range rng.IntN(12) {
			r.Entries = append(r.Entries, anyEntry(rng))
		}
		raw, err := m.body(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkBody(raw); err != nil {
			t.Fatalf("seed %d: the API would refuse: %v\n%s", seed, err, raw)
		}
	}
}

func pick[T any](rng *rand.Rand, all ...T) T { return all[rng.IntN(len(all))] }

func anyEntry(rng *rand.Rand) ports.Entry {
	e := ports.Entry{Role: pick(rng, ports.RoleUser, ports.RoleAssistant, ports.RoleAssistant, ports.RoleTool, ports.RoleTool), Text: pick(rng, "", "\n", "a", "A b. ")}
	for range rng.IntN(3) {
		e.Blocks = append(e.Blocks, pick(rng, ports.Block{Kind: ports.BlockImage, MIME: "image/png", Data: png}, ports.Block{Kind: ports.BlockText, Text: " "},
			ports.Block{Kind: ports.BlockAudio, MIME: "audio/wav", Data: png}, ports.Block{Kind: ports.BlockLink, URI: "x://y"}))
	}
	ids := []string{"c1", "c2", "call.1", "", "ü"}
	if e.Role == ports.RoleTool {
		e.CallID, e.IsError = pick(rng, ids...), rng.IntN(2) == 0
		return e
	}
	if e.Role == ports.RoleUser {
		return e
	}
	for i := range rng.IntN(3) {
		e.Calls = append(e.Calls, call(ids[(i+rng.IntN(2))%len(ids)+i], pick(rng, "a__look", "gone", "not a tool", ""), pick(rng, "", "{}", `[1]`, `{"a":1}`)))
	}
	if rng.IntN(2) == 0 {
		e.Model, e.State = pick(rng, "model.test/claude-test", "else"), thought(pick(rng, e.Text, "b"), rng.IntN(3))
	}
	return e
}
