package markdown

import (
	"fmt"
	"strings"
	"testing"
)

// sketch writes a tree in one line.
func sketch(blocks []Block) string {
	out := make([]string, len(blocks))
	for i, b := range blocks {
		switch b := b.(type) {
		case Paragraph:
			out[i] = "p(" + looks(b.Text) + ")"
		case Heading:
			out[i] = fmt.Sprintf("h%d(%s)", b.Level, looks(b.Text))
		case Code:
			out[i] = fmt.Sprintf("code(%s %q)", b.Language, b.Text)
		case Quote:
			out[i] = "quote(" + sketch(b.Blocks) + ")"
		case Rule:
			out[i] = "rule"
		case Table:
			out[i] = fmt.Sprintf("table(%v", b.Align)
			for _, row := range append([][]Cell{b.Head}, b.Rows...) {
				out[i] += " /"
				for _, c := range row {
					out[i] += " " + looks(c)
				}
			}
			out[i] += ")"
		case List:
			out[i] = map[bool]string{true: "loose", false: "list"}[b.Loose] + "("
			for _, item := range b.Items {
				mark := map[bool]string{true: fmt.Sprint(item.Number), false: "-"}[b.Ordered]
				mark += []string{"", "[ ]", "[x]"}[item.Task]
				if item.Continued {
					mark = "…"
				}
				out[i] += mark + ":" + sketch(item.Blocks) + ";"
			}
			out[i] += ")"
		}
	}
	return strings.Join(out, " ")
}

func looks(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		mark := ""
		for style, letter := range []string{"b", "i", "s", "m", "$"} {
			if s.Style&(1<<style) != 0 {
				mark += letter
			}
		}
		if s.Link != "" {
			mark += "→" + s.Link
		}
		if mark == "" {
			b.WriteString(strings.ReplaceAll(s.Text, "\n", "⏎"))
		} else {
			fmt.Fprintf(&b, "<%s %s>", mark, s.Text)
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"blank", " \n\t\n", ""},
		{"lines", "a\nb  \nc", "p(a⏎b⏎c)"},
		{"looks", "**b** *i* ~~s~~ `m` ***bi***", "p(<b b> <i i> <s s> <m m> <bi bi>)"},
		{"html is text", "a <b>c</b>\n\n<div>\nx\n</div>", "p(a <b>c</b>) p(<div>⏎x⏎</div>)"},
		{"references", `&amp; &#65; &nope; \&amp; \* &amp;lt;`, "p(& A &nope; &amp; * &lt;)"},
		{"heading", "## **a** b ##", "h2(<b a> b)"},
		{"fence", "```go x\n\ta\n\n b\n```", `code(go "\ta\n\n b")`},
		{"open fence", "~~~\na", `code( "a")`},
		{"odd language", "```\"x\na\n```", `code( "a")`},
		{"empty fence", "a\n\n```\n\n```", "p(a)"},
		{"indented code", "    a\n      b", `code( "a\n  b")`},
		{"rule", "a\n\n---", "p(a) rule"},
		{"quote", "> a\n> > b", "quote(p(a) quote(p(b)))"},
		{"list", "- a\n- b\n  - c", "list(-:p(a);-:p(b) list(-:p(c););)"},
		{"numbers", "7. a\n7. b\n9. c", "list(7:p(a);8:p(b);9:p(c);)"},
		{"loose", "- a\n\n- b", "loose(-:p(a);-:p(b);)"},
		{"tasks", "- [x] a\n- [ ] *b*\n- [y] c", "list(-[x]:p(a);-[ ]:p(<i b>);-:p([y] c);)"},
		{"table", "|a|b|c|\n|:-|-:|:-:|\n|*1*|2|\n", "table([1 3 2] / a b c / <i 1> 2 )"},
		{"links", "[a *b*](https://x.org/?q=é) <https://y.org> z@x.org", "p(<→https://x.org/?q=%C3%A9 a ><i→https://x.org/?q=%C3%A9 b> <→https://y.org https://y.org> <→mailto:z@x.org z@x.org>)"},
		{"schemes", "[a](HTTP://x.org) [b](tel:1) [c](tg://user?id=1) [d](mailto:a@b)", "p(<→HTTP://x.org a> <→tel:1 b> <→tg://user?id=1 c> <→mailto:a@b d>)"},
		{"no links", "[a](javascript:x) [b](x.md) [c](#c) [x.md](x.md) [](ftp://x) [e](https://)", "p(a (javascript:x) b (x.md) c x.md ftp://x e (https://))"},
		{"images", "![a](https://x.org/i.png) ![](https://x.org/j.png) [![b](https://x.org)](https://y.org)", "p(<→https://x.org/i.png a> <→https://x.org/j.png https://x.org/j.png> <→https://y.org b>)"},
		{"formulas", `a $x_1^2$, $n$ and \(y*z*w\), $$ p $$; **b $q$**`, "p(a <m$ x_1^2>, <m$ n> and <m$ y*z*w>, <m$ p>; <b b ><bm$ q>)"},
		{"formulas of their own", "a\n$$\nx*y*z\n$$\nb\n\n\\[ e = mc^2 \\]\n\n> $$u\n> v$$", `p(a) code(latex "x*y*z") p(b) code(latex "e = mc^2") quote(code(latex "u\nv"))`},
		{"dollars of prose", "$5 and $10, US$5 to A$9, $5-$10, $HOME/$USER, $1 = 0.9 and 5$, $$, \\$x$", "p($5 and $10, US$5 to A$9, $5-$10, $HOME/$USER, $1 = 0.9 and 5$, $$, $x$)"},
		{"formulas that are none", "\\(a note\\) \\[1\\] $ x $ $`a`$\n\n$$ is money\n\n\\[see below\\]\n\n$$ a $$ b", "p((a note) [1] $ x $ $<m a>$) p($$ is money) p([see below]) p(<m$ a> b)"},
		{"footnotes", "a[^1] b[^n]\n\n[^1]: note\n[^n]: https://x.org", "p(a[^1] b[^n]) p([^1]: note⏎[^n]: <→https://x.org https://x.org>)"},
		{"bytes that are no text", "a\xffb", "p(a\uFFFDb)"},
		{"too long to parse", strings.Repeat("*a* ", 1+maxBytes/4), "p(" + strings.TrimSpace(strings.Repeat("*a* ", 1+maxBytes/4)) + ")"},
		{"too deep to nest", strings.Repeat(">", maxDepth+2) + " - a\n", strings.Repeat("quote(", maxDepth) + "p(• a)" + strings.Repeat(")", maxDepth)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sketch(Parse(c.in)); got != c.want {
				t.Errorf("Parse(%.80q)\n got %.300s\nwant %.300s", c.in, got, c.want)
			}
		})
	}
}

func TestGrid(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
		width    int
	}{
		"left":   {"|a|bb|\n|-|-|\n|ccc|d|", "a   | bb\n----+---\nccc | d", 8},
		"right":  {"|aa|b|\n|-:|-|\n|1|2|", "aa | b\n---+--\n 1 | 2", 6},
		"center": {"|abcde|f|\n|:-:|-|\n|12|2|", "abcde | f\n------+--\n 12   | 2", 9},
		"wide":   {"|日本|b|\n|-|-|\n|a|👍🏽|\n|e\u0301|👩‍💻|", "日本 | b\n-----+---\na    | 👍🏽\ne\u0301    | 👩‍💻", 9},
		"looks":  {"|**a**|`b`|\n|-|-|", "a | b\n--+--\n", 5},
	} {
		table := Parse(c.in)[0].(Table)
		if got := table.Grid(); got != strings.TrimSuffix(c.want, "\n") || table.Width() != c.width {
			t.Errorf("%s: width %d\n%s\nwant %d\n%s", name, table.Width(), got, c.width, c.want)
		}
	}
}

func TestRecords(t *testing.T) {
	table := Parse("|a|*b*||\n|-|-|-|\n|1|[2](https://x.org)|3|\n||5||")[0].(Table)
	want := "p(<b a>: 1⏎<bi b>: <→https://x.org 2>⏎3) p(<b a>: ⏎<bi b>: 5)"
	if got := sketch(table.Records()); got != want || !table.Linked() {
		t.Errorf("got %s, linked %v, want %s", got, table.Linked(), want)
	}
	if got := sketch(Parse("|a|b|\n|-|-|")[0].(Table).Records()); got != "p(a⏎b)" {
		t.Errorf("a header alone: %s", got)
	}
}
