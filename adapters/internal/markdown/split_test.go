package markdown

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// weight of blocks: their characters, and one for each block, item and row.
func weight(blocks []Block) int {
	n := 0
	for _, b := range blocks {
		n++
		switch b := b.(type) {
		case Paragraph:
			n += utf8.RuneCountInString(Plain(b.Text))
		case Heading:
			n += utf8.RuneCountInString(Plain(b.Text))
		case Code:
			n += utf8.RuneCountInString(b.Text)
		case Quote:
			n += weight(b.Blocks)
		case List:
			for _, item := range b.Items {
				n += 1 + weight(item.Blocks)
			}
		case Table:
			for _, row := range append([][]Cell{b.Head}, b.Rows...) {
				n++
				for _, c := range row {
					n += utf8.RuneCountInString(Plain(c))
				}
			}
		}
	}
	return n
}

func within(limit int) func([]Block) bool {
	return func(bs []Block) bool { return weight(bs) <= limit }
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"nothing", "", 5, ""},
		{"it fits", "a\n\nb", 4, "p(a) p(b)"},
		{"between blocks", "aa\n\nbb\n\ncc", 7, "p(aa) p(bb) | p(cc)"},
		{"a heading goes along", "aa\n\n# h\n\nbb", 7, "p(aa) | h1(h) p(bb)"},
		{"headings alone", "# a\n\n## b\n\n### c", 4, "h1(a) h2(b) | h3(c)"},
		{"a heading and the start of what it heads", "# a\n\nb b b b b", 8, "h1(a) p(b b b) | p(b b)"},
		{"a block is not cut to fill up", "aaaa\n\nb b b", 8, "p(aaaa) | p(b b b)"},
		{"but if it must be cut anyway", "aa\n\nb b b b b b", 8, "p(aa) p(b b) | p(b b b b)"},
		{"at a line", "aaaaa\nb b b", 10, "p(aaaaa) | p(b b b)"},
		{"at a sentence", "aaa bbb. cc dd", 11, "p(aaa bbb.) | p(cc dd)"},
		{"at a sentence that ends there", "aaa bbb. ccc", 9, "p(aaa bbb.) | p(ccc)"},
		{"not at one that ended long before", "a. bb cc dd ee", 12, "p(a. bb cc dd) | p(ee)"},
		{"not within a number", "aaaaa 1.25 b", 10, "p(aaaaa) | p(1.25 b)"},
		{"at a sentence without a space", "今日は。明日", 6, "p(今日は。) | p(明日)"},
		{"not before what closes it", "今日は。」明日", 6, "p(今日は。」) | p(明日)"},
		{"at a word", "aaa bbb ccc", 9, "p(aaa bbb) | p(ccc)"},
		{"in a word", "aaaaaaaaa", 5, "p(aaaa) | p(aaaa) | p(a)"},
		{"addresses stay", "a https://x.org/yyyy zz", 17, "p(a) | p(<→https://x.org/yyyy https://x.org/yy>) | p(<→https://x.org/yyyy yy> zz)"},
		{"looks go on", "**aaa bbb** *c*", 5, "p(<b aaa>) | p(<b bbb>) | p(<i c>)"},
		{"marks stay", "xxxe\u0301e\u0301", 6, "p(xxxe\u0301) | p(e\u0301)"},
		{"families stay", "xx👨‍👩‍👧y", 6, "p(xx) | p(👨‍👩‍👧) | p(y)"},
		{"flags stay", "x🇩🇪🇫🇷", 5, "p(x🇩🇪) | p(🇫🇷)"},
		{"code at a line, indentation stays", "```go\naa\n  bb\ncc\n```", 8, `code(go "aa\n  bb") | code(go "cc")`},
		{"code in a line", "```go\naa bb cccccccc\n```", 9, `code(go "aa bb ") | code(go "cccccccc")`},
		{"items keep numbers", "3. a\n4. b\n5. c", 7, "list(3:p(a);4:p(b);) | list(5:p(c);)"},
		{"an item goes on", "1. aa bb cc\n2. d", 8, "list(1:p(aa bb);) | list(…:p(cc);2:p(d);)"},
		{"a task goes on", "- [x] aa bb cc", 8, "list(-[x]:p(aa bb);) | list(…:p(cc);)"},
		{"items of items", "- a\n  - b\n  - c\n  - d", 9, "list(-:p(a) list(-:p(b););) | list(…:list(-:p(c);-:p(d););)"},
		{"quotes", "> aa\n>\n> bb", 5, "quote(p(aa)) | quote(p(bb))"},
		{"a table repeats its header", "|h|\n|-|\n|1|\n|2|\n|3|", 7, "table([0] / h / 1 / 2) | table([0] / h / 3)"},
		{"what cannot be cut stays whole", "a\n\n|hhh|\n|-|\n|1|", 4, "p(a) | table([0] / hhh / 1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, piece := range Split(Parse(c.in), within(c.limit)) {
				got = append(got, sketch(piece))
			}
			if s := strings.Join(got, " | "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	for _, text := range []string{
		"# a\n\nb c **d e** f\n\n- a\n  - b\n\n    c\n- d", "> a\n> > b\n>\n> ```go\n> x\n> y\n> ```", "|a|b|\n|-|-|\n|1|2|\n|3|4|",
		"👨‍👩‍👧‍👦🇩🇪e\u0301\u0302x", "1. [x](https://x.org) y\n2. ~~z~~\n\n---", "```\n    a\n\n\n b\n```",
	} {
		f.Add(text, 4)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 30 + max(0, limit)%200
		blocks := Parse(text)
		whole := letters(blocks)
		var parts strings.Builder
		for _, piece := range Split(blocks, within(limit)) {
			if _, table := piece[0].(Table); weight(piece) > limit && !(table && len(piece) == 1) && !nestedTable(piece) {
				t.Errorf("%q: a piece of %d, limit %d: %s", text, weight(piece), limit, sketch(piece))
			}
			parts.WriteString(letters(piece))
		}
		// A table's header comes again with each of its pieces.
		if got := parts.String(); !strings.Contains(sketch(blocks), "table(") && got != whole {
			t.Errorf("%q: pieces say %q, want %q", text, got, whole)
		}
	})
}

func nestedTable(blocks []Block) bool { return strings.Contains(sketch(blocks), "table(") }

// letters are the visible characters of blocks in order.
func letters(blocks []Block) string {
	var b strings.Builder
	for _, block := range blocks {
		switch block := block.(type) {
		case Paragraph:
			b.WriteString(Plain(block.Text))
		case Heading:
			b.WriteString(Plain(block.Text))
		case Code:
			b.WriteString(block.Text)
		case Quote:
			b.WriteString(letters(block.Blocks))
		case List:
			for _, item := range block.Items {
				if item.Task == TaskDone && !item.Continued {
					b.WriteByte('x') // of its box: whether it is one depends on what is behind
				}
				b.WriteString(letters(item.Blocks))
			}
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, b.String())
}

func TestACutLeavesRoomForWhatItsEndTakes(t *testing.T) {
	// An open bracket takes three more where nothing closes it.
	fits := func(bs []Block) bool {
		text := letters(bs)
		n := len(text)
		for range strings.Count(text, "(") - strings.Count(text, ")") {
			n += 3
		}
		return n <= 10
	}
	var got []string
	for _, piece := range Split(Parse("aaaaaaa ( )ddd"), fits) {
		if !fits(piece) {
			t.Errorf("%s does not fit", sketch(piece))
		}
		got = append(got, sketch(piece))
	}
	if s := strings.Join(got, " | "); s != "p(aaaaaa) | p(a ( )ddd)" {
		t.Errorf("got %s", s)
	}
}
