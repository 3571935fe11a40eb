package promptcalls

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/adapters/internal/wire"
)

// sifted is what comes of a reply, in words that can be compared.
func sifted(drop, cut bool, pieces ...string) string {
	var shown strings.Builder
	f := newFilter(func(delta string) { shown.WriteString(delta) }, drop)
	for _, p := range pieces {
		f.write(p)
	}
	f.end(cut)
	out := shown.String()
	if out != f.said.String() {
		out = fmt.Sprintf("shown %q, said %q", out, f.said.String())
	}
	for _, c := range f.calls {
		out += fmt.Sprintf("|%s %s", c.Name, c.Arguments)
	}
	return out
}

const (
	now   = `{"type":"mcp_call","params":{"tool_name":"clock__now","arguments":{}}}`
	read1 = `{"type":"mcp_call","params":{"tool_name":"f__read","arguments":{"path":"a}\"{.txt"}}}`
)

var replies = []struct{ name, reply, want string }{
	{"nothing", "", ""},
	{"only blanks", " \n ", " \n "},
	{"words", "Hello, wörld.\n\nBye.\n", "Hello, wörld.\n\nBye.\n"},
	{"a block in a fence", "```json\n" + now + "\n```", "|clock__now {}"},
	{"a fence without a language", "```\n" + now + "\n```\n", "|clock__now {}"},
	{"a fence in one line", "```json " + now + "```", "|clock__now {}"},
	{"a fence of waves", "~~~json\n" + now + "\n~~~\n", "|clock__now {}"},
	{"a longer fence", "````mcp_call\n" + now + "\n`````\nend", "end|clock__now {}"},
	{"a fence that nobody closed", "Wait.\n```json\n" + now + "\n", "Wait.|clock__now {}"},
	{"a bare block", now, "|clock__now {}"},
	{"a bare block over lines", "{\n  \"type\" : \"mcp_call\",\n\n  \"params\": {\"tool_name\": \"a\", \"arguments\": {\"b\": [1, {\"c\": null}]}}\n}\n", "|a {\"b\": [1, {\"c\": null}]}"},
	{"params first", `{"params":{"tool_name":"a"},"type":"mcp_call"}`, "|a {}"},
	{"text before and behind", "Let me look.\n\n```json\n" + now + "\n```\n\nOne moment.\n", "Let me look.\n\nOne moment.\n|clock__now {}"},
	{"text in the same line", "I call " + now + " now", "I call\n\nnow|clock__now {}"},
	{"two blocks", "```json\n" + now + "\n```\n\n```json\n" + read1 + "\n```", `|clock__now {}|f__read {"path":"a}\"{.txt"}`},
	{"two blocks in a fence", "```json\n" + now + "\n" + read1 + "\n```", `|clock__now {}|f__read {"path":"a}\"{.txt"}`},
	{"a list in a fence", "```json\n[" + now + ",\n" + now + "]\n```", "|clock__now {}|clock__now {}"},
	{"two bare blocks", now + "\n" + now, "|clock__now {}|clock__now {}"},
	{"arguments in quotes", `{"type":"mcp_call","params":{"tool_name":"a","arguments":"{\"b\":1}"}}`, `|a {"b":1}`},
	{"arguments that are no object", `{"type":"mcp_call","params":{"tool_name":"a","arguments":[1]}}`, `|a [1]`},
	{"no tool", `{"type":"mcp_call","params":{"arguments":{"b":1}}}`, `|mcp_call {"b":1}`},
	{"no params", `{"type":"mcp_call"}`, `|mcp_call {}`},
	{"params of another form", `{"type":"mcp_call","params":"x"}`, `|mcp_call {}`},

	{"other JSON in a fence", "```json\n{\"a\": 1}\n```\n", "```json\n{\"a\": 1}\n```\n"},
	{"other JSON", `{"type":"mcp_result","params":{}}`, `{"type":"mcp_result","params":{}}`},
	{"JSON with params", `See {"params":{"x":"}"},"type":"other"} there`, `See {"params":{"x":"}"},"type":"other"} there`},
	{"JSON with params in a fence", "```\n{\"params\":{}}\n```\nx", "```\n{\"params\":{}}\n```\nx"},
	{"code", "```go\nfunc main() { fmt.Println(`{`) }\n```\n", "```go\nfunc main() { fmt.Println(`{`) }\n```\n"},
	{"braces in words", "Use {name} and {{x}} and { y }, or {", "Use {name} and {{x}} and { y }, or {"},
	{"a fence of nothing", "```\n```\n", "```\n```\n"},
	{"a fence cut short", "```js", "```js"},
	{"a beginning", `{"type":"mc`, `{"type":"mc`},
	{"marks of joy", "wow~~~\n" + now, "wow~~~|clock__now {}"},
	{"a block in a line of code", "Write `" + now + "` to call.", "Write `" + now + "` to call."},
	{"a block in two marks", "``" + now + "``", "``" + now + "``"},
	{"a block behind a line of code", "`x` " + now, "`x`|clock__now {}"},
	{"a lonely mark", "it`s\n" + now, "it`s|clock__now {}"},
	{"a block in an example", "```\nThe form is:\n" + now + "\n```\nSo.", "```\nThe form is:\n" + now + "\n```\nSo."},
	{"a fence in a fence", "````\n```json\n" + now + "\n```\n````\n", "````\n```json\n" + now + "\n```\n````\n"},
	{"an example in a list", "- so:\n  - ```py\n    x = " + now + "\n    ```\n", "- so:\n  - ```py\n    x = " + now + "\n    ```\n"},
	{"a block within JSON", `{"steps": [` + now + `]}`, `{"steps": [` + now + `]}`},
	{"a block within JSON in quotes", `{"a": "{\"type\":\"mcp_call\"}"}`, `{"a": "{\"type\":\"mcp_call\"}"}`},
	{"a block behind half a JSON", "{\"a\": 1,\n\n" + now, "{\"a\": 1,|clock__now {}"},
	{"a block behind an example", "```py\nx\n```\n" + now, "```py\nx\n```|clock__now {}"},
	{"code behind a block in its fence", "```json\n" + now + "\n# why\n```\nx", "```\n# why\n```\nx|clock__now {}"},
	{"JSON behind a block in its fence", "```json\n" + now + "\n{\"type\":\"mcp_result\"}\n```\nx", "```\n{\"type\":\"mcp_result\"}\n```\nx|clock__now {}"},

	{"a thought", "Hm. <think>Like so:\n" + now + "\n</think>\n" + read1, `Hm. <think>Like so:` + "\n\n</think>" + `|f__read {"path":"a}\"{.txt"}`},
	{"a thought behind a block", now + "\n<think>" + read1 + "</think>", "<think>\n\n</think>|clock__now {}"},
	{"a thought without an end", now + "\n<think>" + read1, "<think>|clock__now {}"},
	{"a thought without a beginning", "Like so:\n" + now + "\n</think>\n" + read1, "Like so:\n\n</think>" + `|f__read {"path":"a}\"{.txt"}`},
	{"a thought that breaks off in a block", `<think>{"type":"mcp_call"`, "<think>"},
	{"words of thoughts", now + "\nThe end is `</think>`.", "The end is `</think>`.|clock__now {}"},
	{"nearly a thought", now + "\n</thinking> <<think", "</thinking> <<think|clock__now {}"},

	{"a block that breaks off", "Wait. " + now[:len(now)-2], "Wait.|clock__now " + quote(now[:len(now)-2])},
	{"a block that breaks off in its fence", "```json\n" + now[:len(now)-2] + "\n```\nx", "x|clock__now " + quote(now[:len(now)-2]+"\n")},
	{"a block with a comma too many", `{"type":"mcp_call","params":{"tool_name":"a","arguments":{"b":1,}}}`,
		"|a " + quote(`{"type":"mcp_call","params":{"tool_name":"a","arguments":{"b":1,}}}`)},
	{"a quote that nobody closed, then another block", "```json\n{\"type\":\"mcp_call\",\"params\":{\"tool_name\":\"a\n```\n```json\n" + now + "\n```",
		"|mcp_call " + quote("{\"type\":\"mcp_call\",\"params\":{\"tool_name\":\"a\n") + "|clock__now {}"},
}

func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestABlockIsTakenOutAndNothingElse(t *testing.T) {
	for _, c := range replies {
		t.Run(c.name, func(t *testing.T) {
			if got := sifted(false, false, c.reply); got != c.want {
				t.Fatalf("%q\nbecame %q\nwant   %q", c.reply, got, c.want)
			}
			if got := sifted(false, false, strings.Split(c.reply, "")...); got != c.want {
				t.Errorf("rune by rune it became %q", got)
			}
			for i := range c.reply {
				if got := sifted(false, false, c.reply[:i], c.reply[i:]); got != c.want {
					t.Errorf("cut behind %q it became %q", c.reply[:i], got)
				}
			}
		})
	}
}

// TestNoPieceOfABlockIsEverShown looks at the page after each byte: what was shown
// stays, and is a beginning of what is shown at the end.
func TestNoPieceOfABlockIsEverShown(t *testing.T) {
	for _, c := range replies {
		end, _, _ := strings.Cut(c.want, "|")
		shown := ""
		f := newFilter(func(delta string) {
			if shown += delta; !strings.HasPrefix(end, shown) {
				t.Errorf("%s: %q was shown on the way to %q", c.name, shown, end)
			}
		}, false)
		for i := range len(c.reply) {
			f.write(c.reply[i : i+1])
		}
		f.end(false)
	}
}

func TestTheTokenLimitDropsTheBlockThatItCut(t *testing.T) {
	for i := range now {
		reply := "Wait.\n" + read1 + "\n```json\n" + now[:i]
		got := sifted(false, true, reply)
		if !strings.HasSuffix(got, `|f__read {"path":"a}\"{.txt"}`) || strings.Contains(got, "mcp_") {
			t.Errorf("%q became %q", reply, got)
		}
	}
}

func TestUnwantedBlocksAreLeftOutWithANote(t *testing.T) {
	want := "A\n\n" + textDropped + "\n\nB"
	if got := sifted(true, false, "A\n```json\n"+now+"\n```\n"+now+"\nB"); got != want {
		t.Errorf("%q", got)
	}
	if got := sifted(true, false, now); got != textDropped {
		t.Errorf("%q", got)
	}
}

func TestALongBlockTakesNoLongerThanItIs(t *testing.T) {
	long := `{"type":"mcp_call","params":{"tool_name":"a","arguments":{"b":"` + strings.Repeat("x", 1<<20) + `"}}}`
	f := newFilter(nil, false)
	for i := range len(long) { // quadratic work would not end
		f.write(long[i : i+1])
	}
	f.end(false)
	if len(f.calls) != 1 || f.said.Len() > 0 {
		t.Errorf("%d calls, %d bytes shown", len(f.calls), f.said.Len())
	}
}

// FuzzSplits: however a reply is cut, the same is shown and called; what is shown
// is never more than was said, and a call is always one that the journal takes.
func FuzzSplits(f *testing.F) {
	for _, c := range replies {
		f.Add(c.reply, uint8(3), uint8(7), false)
	}
	f.Fuzz(func(t *testing.T, reply string, a, b uint8, cut bool) {
		want := sifted(false, cut, reply)
		var pieces []string
		for rest, n := reply, uint(a); len(rest) > 0; n = n*31 + uint(b) + 1 {
			size := min(len(rest), int(n%17)+1)
			pieces, rest = append(pieces, rest[:size]), rest[size:]
		}
		if got := sifted(false, cut, pieces...); got != want {
			t.Errorf("%q in %q\nbecame %q\nwant   %q", reply, pieces, got, want)
		}
		filter := newFilter(nil, false)
		filter.write(reply)
		filter.end(cut)
		for _, c := range filter.calls {
			if c.Name == "" || !json.Valid(c.Arguments) {
				t.Errorf("%q calls %q with %q", reply, c.Name, c.Arguments)
			}
		}
		// A block of a thought is neither a call nor shown.
		thought := strings.Contains(reply, wire.ThoughtBegin) || strings.Contains(reply, wire.ThoughtEnd)
		if len(filter.calls) == 0 && !cut && !thought && filter.said.String() != reply {
			t.Errorf("%q has no call, and became %q", reply, filter.said.String())
		}
	})
}

// At the end nothing more comes that could tell what a beginning is of: it is text.
func TestTheEndOfATextFullOfBeginningsIsShown(t *testing.T) {
	for _, piece := range []string{"```\n{\"params\":\"\n", "```` {\"params\" ``` x", "~~~ {\"params\" y"} {
		for _, n := range []int{2, 3, 4, 5, 9, 60, 2000} {
			text := strings.Repeat(piece, n) + "and so on."
			f := newFilter(nil, false)
			f.write(text)
			f.end(false)
			if f.said.String() != text || len(f.calls) > 0 {
				t.Errorf("%d times %q: %d bytes of %d are shown, %d calls", n, piece, f.said.Len(), len(text), len(f.calls))
			}
		}
	}
}
