package toolbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/ports"
)

// garbage are queries that nobody writes who wants to find something.
var garbage = []string{"", " ", "\x00\xff\xfe", "'; DROP TABLE tools; --", "(.*)+$", "[[[[", "%s%d%n", strings.Repeat("a", 1<<20), strings.Repeat("create issue ", 100_000),
	"🦄🦄🦄", "日历 创建 事件", "́́́", "__--..", "find_tools", "0", "the of and", "\u202eoot lacol", "${HOME}", "<script>", "null", "NaN"}

func TestAnyQueryIsHarmless(t *testing.T) {
	_, v := searcher(t, allowAll)
	for i, query := range garbage {
		args, err := json.Marshal(map[string]any{"query": query, "limit": findMax})
		if err != nil {
			t.Fatal(err)
		}
		in := ports.Conversation{Channel: "c", Chat: fmt.Sprint(i)}
		r := run(t, v, in, findTools, string(args))
		if r.Outcome != ports.CallOK || !utf8.ValidString(r.Text) || len(r.Text) > 8<<10 {
			t.Errorf("%.20q: %s, %d bytes", query, r.Outcome, len(r.Text))
		}
		if len(query) > 6 && strings.Contains(r.Text, query) {
			t.Errorf("%.20q is repeated to the model", query)
		}
	}
}

func FuzzSearch(f *testing.F) {
	x := catalogBox(f, Config{Default: ports.PolicyAllow}).index()
	for _, query := range garbage {
		if len(query) < 1000 {
			f.Add(query, 3)
		}
	}
	f.Fuzz(func(t *testing.T, query string, limit int) {
		if limit < 0 || limit > findMax {
			limit = findMax
		}
		got := x.search(query, limit, func(string) bool { return true })
		seen := map[string]bool{}
		for _, name := range got {
			if seen[name] {
				t.Errorf("%q is listed twice", name)
			}
			seen[name] = true
		}
		if len(got) > limit {
			t.Errorf("%d tools for a limit of %d", len(got), limit)
		}
	})
}

// hostileTools have descriptions of a megabyte, names without an end and schemas
// that are none.
func hostileTools(n int) ports.Catalog {
	var prose strings.Builder
	for i := 0; prose.Len() < 1<<20; i++ {
		fmt.Fprintf(&prose, "word%d create ", i)
	}
	nested := `{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, 500) + `{}` + strings.Repeat(`}}`, 500) + `}`
	var wide strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&wide, `"parameter%d":{"description":7},`, i)
	}
	schemas := []string{`{"type":"object"}`, nested, `{"type":"object","properties":{` + wide.String() + `"last":[]}}`, `7`, `{"properties":[1,2]}`, `{"properties":{"x":true,"y":{"items":[{}],"description":{}}}}`}
	var c ports.Catalog
	for i := range n {
		c.Tools = append(c.Tools, still{Name: fmt.Sprintf("t%03d", i) + strings.Repeat("_x", i%50), Title: prose.String(), Description: prose.String(),
			InputSchema: json.RawMessage(schemas[i%len(schemas)])})
	}
	return c
}

// TestHostileDefinitionsCostLittle counts what is read of them, which the time to
// read it grows with.
func TestHostileDefinitionsCostLittle(t *testing.T) {
	b := catalogBox(t, allowAll)
	b.Add(Source{Name: "evil"}).Register(hostileTools(500))
	posts := 0
	for _, list := range b.index().posts {
		posts += len(list)
	}
	t.Logf("the index has %d words of 800 tools", posts)
	if posts > 800*250 {
		t.Errorf("the index has %d words of 800 tools", posts)
	}
	v := b.View(Filter{}, nil).Finding("main", openRecords(t))
	if got := find(t, v, here, "word7 word8"); len(got) > 0 {
		t.Errorf("found %q, with definitions of a megabyte", got)
	}
	for _, s := range v.Specs(t.Context(), here) {
		if tokens(s) > hugeTokens {
			t.Errorf("%s takes %d tokens", s.Name, tokens(s))
		}
	}
	got, right := 0, 0
	for _, q := range questions(t) {
		if q.heldOut() {
			continue
		}
		got++
		for _, name := range find(t, v, ports.Conversation{Channel: "q", Chat: fmt.Sprint(got)}, q.Text) {
			for _, want := range q.Tools {
				if name == want {
					right++
				}
			}
		}
	}
	if right*10 < got*8 {
		t.Errorf("a hostile server hides the tools of others: %d right ones for %d questions", right, got)
	}
}

func BenchmarkIndex(b *testing.B) {
	for name, c := range map[string]ports.Catalog{"recorded": {}, "hostile": hostileTools(500)} {
		box := catalogBox(b, allowAll)
		box.Add(Source{Name: "evil"}).Register(c)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				newIndex(box.tools)
			}
		})
	}
}
