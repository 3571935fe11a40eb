package markdown

import (
	"strings"
	"testing"
	"unicode"
)

func TestComplete(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"nothing but more", " …", " …"},
		{"words", "a b …", "a b …"},
		{"bold", "a **b c …", "a **b c** …"},
		{"bold that begins", "a ** …", "a …"},
		{"bold that ends", "a **b** …", "a **b** …"},
		{"bold that half ends", "a **b* …", "a **b** …"},
		{"italic in bold", "**a *b …", "**a *b*** …"},
		{"both", "***a …", "***a*** …"},
		{"underscores", "_a snake_case b …", "_a snake_case b_ …"},
		{"strike", "~~a …", "~~a~~ …"},
		{"stars that are none", "2 * 3 and 2*3 …", "2 * 3 and 2*3 …"},
		{"code", "see `a*b …", "see `a*b` …"},
		{"code that begins", "see ` …", "see …"},
		{"code with backticks", "see ``a`b …", "see ``a`b`` …"},
		{"code that keeps a line from being a fence", "a ```\n```b` …", "a ```\n```b` …"},
		{"a formula", "a\n$$\nx^2\n$$ …", "a\n$$\nx^2\n$$\n…"},
		{"a formula with a mark", "a $$x *y$$ b …", "a $$x *y$$ b …"},
		{"a formula whose lines look like a table's", "|\n-|\n$$|a\n|~$$ …", "|\n-|\n$$|a\n|~$$\n…"},
		{"a formula that is none", "$$\n\n> *b …", "$$\n\n> *b* …"},
		{"code in bold", "**see `a …", "**see `a`** …"},
		{"code is no emphasis", "`a**b` c …", "`a**b` c …"},
		{"a link's words", "see [the docs …", "see [the docs …"},
		{"a link's address", "see **[the docs](https://exam …", "see **the docs** …"},
		{"an image", "see ![a](https:// …", "see a …"},
		{"a link", "see [a](b) **c …", "see [a](b) **c** …"},
		{"the last block only", "**a\n\nb …", "**a\n\nb …"},
		{"the last item only", "- **a\n- *b …", "- **a\n- *b* …"},
		{"an item that begins", "- a\n- …", "- a\n- …"},
		{"a heading", "# *a …", "# *a* …"},
		{"a cell", "|*a|b|\n|-|-|\n|**c …", "|*a|b|\n|-|-|\n|**c** …"},
		{"a fence", "a\n```go\nx **y …", "a\n```go\nx **y\n```\n…"},
		{"a fence that begins", "a\n\n``` …", "a …"},
		{"a fence in a list", "- a\n  ```\n  x …", "- a\n  ```\n  x …"},
		{"behind a fence", "```\n**\n```\n*a …", "```\n**\n```\n*a* …"},
		{"escapes", `\*a **b\* …`, `\*a **b\*** …`},
		{"without more", "a **b", "a **b**"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Complete(c.in); got != c.want {
				t.Errorf("Complete(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

// FuzzComplete: letters that show of a text in the making show of the
// completed one too, but for those of addresses.
func FuzzComplete(f *testing.F) {
	for _, text := range []string{
		"a **b *c* `d` ~~e~~** f", "# *a\n\n- **b\n  - _c_\n\n> `d", "|a|b|\n|-|-|\n|**c", "```go\nx\n```\n*y", "~~~\nx", "[a](b) ![c](d) [**e",
		"***a** b* c", "__a _b", "a\\*b**c", "``a` b", "1. a\n2. ", "- ```\n  x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = Clean(text)
		if strings.Contains(text, "](") || strings.Contains(text, "&") || strings.Contains(text, "]:") {
			return
		}
		shown := words(Parse(Complete(text + more)))
		want := words(Parse(text))
		if !strings.HasPrefix(shown, want) && len(shown) < len(want) {
			t.Errorf("%q became %q: shows %q, want %q", text, Complete(text+more), shown, want)
		}
	})
}

func words(blocks []Block) string {
	var b strings.Builder
	for _, r := range everything(blocks) {
		if unicode.IsLetter(r) { // digits may number a list
			b.WriteRune(r)
		}
	}
	return b.String()
}

// everything is letters with tables.
func everything(blocks []Block) string {
	var b strings.Builder
	for _, block := range blocks {
		if t, ok := block.(Table); ok {
			for _, row := range append([][]Cell{t.Head}, t.Rows...) {
				for _, c := range row {
					b.WriteString(Plain(c))
				}
			}
			continue
		}
		b.WriteString(letters([]Block{block}))
	}
	return b.String()
}
