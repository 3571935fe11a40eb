package markdown

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func TestHTML(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"paragraph", "Hello", "<p>Hello</p>\n"},
		{"a line end breaks", "a\nb", "<p>a<br>\nb</p>\n"},
		{"emphasis", "**b** *i* ~~d~~", "<p><strong>b</strong> <em>i</em> <del>d</del></p>\n"},
		{"html is text", "a <b onclick=x>b</b> <!-- c -->", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt; &lt;!-- c --&gt;</p>\n"},
		{"an html block is text, its markdown lives", "<div>\n**b**\n</div>", "<p>&lt;div&gt;<br>\n<strong>b</strong><br>\n&lt;/div&gt;</p>\n"},
		{"script is text", "<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"},
		{"code with language", "```go\nx < y\n```", "<pre><code class=\"language-go\">x &lt; y\n</code></pre>\n"},
		{"an open fence is closed", "```\nx", "<pre><code>x\n</code></pre>\n"},
		{"a strange language is dropped", "```\"><b>\nx\n```", "<pre><code>x\n</code></pre>\n"},
		{"link", "[a](https://x.org/?a=1&b=2)", `<p><a href="https://x.org/?a=1&amp;b=2" rel="nofollow noopener" target="_blank">a</a></p>` + "\n"},
		{"bare link", "see www.x.org.", `<p>see <a href="http://www.x.org" rel="nofollow noopener" target="_blank">www.x.org</a>.</p>` + "\n"},
		{"mail", "a@x.org", `<p><a href="mailto:a@x.org" rel="nofollow">a@x.org</a></p>` + "\n"},
		{"phone", "[call](tel:+123)", `<p><a href="tel:+123" rel="nofollow">call</a></p>` + "\n"},
		{"javascript is no link", "[a](javascript:alert(1))", "<p>a</p>\n"},
		{"data is no link", "[a](data:text/html,x)", "<p>a</p>\n"},
		{"a relative link is none", "[a](/login?code=1)", "<p>a</p>\n"},
		{"an image is a link", "![alt](https://x.org/i.png)", `<p><a href="https://x.org/i.png" rel="nofollow noopener" target="_blank">alt</a></p>` + "\n"},
		{"an image without words", "![](https://x.org/i.png)", `<p><a href="https://x.org/i.png" rel="nofollow noopener" target="_blank">https://x.org/i.png</a></p>` + "\n"},
		{"an image without words, escaped", `![](https://x.org/a\_b&amp;c)`, `<p><a href="https://x.org/a_b&amp;c" rel="nofollow noopener" target="_blank">https://x.org/a_b&amp;c</a></p>` + "\n"},
		{"an image in a link", "[![alt](https://x.org/i.png)](https://y.org)", `<p><a href="https://y.org" rel="nofollow noopener" target="_blank">alt</a></p>` + "\n"},
		{"tasks", "- [x] a\n- [ ] b", "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> a</li>\n<li><input disabled=\"\" type=\"checkbox\"> b</li>\n</ul>\n"},
		{"a link that looks like a task", "- [X](https://x.com/a)", "<ul>\n<li><a href=\"https://x.com/a\" rel=\"nofollow noopener\" target=\"_blank\">X</a></li>\n</ul>\n"},
		{"table", "|a|b|\n|:-:|--|\n|1|<i>|", "<table>\n<thead>\n<tr>\n<th align=\"center\">a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"center\">1</td>\n<td>&lt;i&gt;</td>\n</tr>\n</tbody>\n</table>\n"},
		{"a list goes on at its number", "3. a", "<ol start=\"3\">\n<li>a</li>\n</ol>\n"},
		{"bytes that are no text", "a\xffb", "<p>a\uFFFDb</p>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := HTML(c.in); got != c.want {
				t.Errorf("HTML(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

// hostile inputs take quadratic time or more where nothing bounds it.
var hostile = map[string]string{
	"quotes":          strings.Repeat(">", 1<<20),
	"list markers":    strings.Repeat("- ", 1<<19),
	"numbers":         strings.Repeat("1. ", 1<<18),
	"quotes of lists": strings.Repeat("> - ", 1<<15),
	"brackets":        strings.Repeat("[a](", 1<<15),
	"images":          strings.Repeat("![", 1<<15),
	"stars":           strings.Repeat("*a_ ", 1<<15),
	"wide table":      "|" + strings.Repeat("a|", 1<<13) + "\n|" + strings.Repeat("-|", 1<<13) + "\n" + strings.Repeat("|a\n", 1<<14),
	"long table":      "|a|b|\n|-|-|\n" + strings.Repeat("|\n", 1<<15),
	"long":            strings.Repeat("a *b* ", 1<<18),
	"just tame":       strings.Repeat(strings.Repeat("*a_ ", maxMarks/2-1)+"\n\n", maxBytes/(2*maxMarks)),
	"tame brackets":   strings.Repeat(strings.Repeat("[a](", maxMarks/2-1)+"\n\n", maxBytes/(2*maxMarks)),
	"tame quotes":     strings.Repeat(strings.Repeat(">", maxNested)+"a\n", maxBytes/(maxNested+2)),
	"tame tables":     strings.Repeat("|"+strings.Repeat("a|", 99)+"\n|"+strings.Repeat("-|", 99)+"\n"+strings.Repeat("a\n", 95)+"\n", maxBytes/600),
	"stairs": func() string {
		var b strings.Builder
		for i := 0; b.Len() < maxBytes-1000; i++ {
			b.WriteString(strings.Repeat(" ", i*2) + "- a\n")
		}
		return b.String()
	}(),
}

func TestHTMLIsBoundedInTime(t *testing.T) {
	const limit = time.Minute // a second at worst when alone; unbounded they take many minutes
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			out := HTML(text)
			if took := time.Since(start); took > limit {
				t.Errorf("took %v", took)
			}
			if len(out) > 64*len(text) {
				t.Errorf("%d bytes became %d", len(text), len(out))
			}
		})
	}
}

func TestHTMLShowsTooMuchAsItIs(t *testing.T) {
	text := strings.Repeat("a & b\n", maxBytes/6+1)
	got := HTML(text)
	if !strings.HasPrefix(got, "<p>a &amp; b<br>\na &amp; b<br>") || strings.Count(got, "a &amp; b") != maxBytes/6+1 {
		t.Errorf("starts with %.60q", got)
	}
}

func TestLongAnswersAreStillFormatted(t *testing.T) {
	for name, text := range map[string]string{
		"many paragraphs": strings.Repeat("Some **bold** words, `code` and [a link](https://x.org).\n\n", 1500),
		"a long table":    "|a|b|c|\n|-|-|-|\n" + strings.Repeat("|**x**|`y`|z|\n", 400),
		"a long fence":    "**b**\n\n```c\n" + strings.Repeat("a[i] = *p++ * b[j];\n", 3000) + "```\n",
		"a deep list":     "**b**\n- a\n  - b\n    - c\n      - d\n        1. e\n           > f",
	} {
		if !tame(text) || !strings.Contains(HTML(text), "<strong>") {
			t.Errorf("%s is not formatted", name)
		}
	}
}

func FuzzHTML(f *testing.F) {
	for _, text := range hostile {
		f.Add(text[:min(len(text), 200)])
	}
	for _, text := range []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "[a](JaVaScRiPt&colon;alert(1))",
		"![a](javascript:x)", "<javascript:alert(1)>", "[a]: javascript:x\n[a]", "```\"onload=x\n```", "<svg/onload=x>",
		"[a](https://x\" onclick=\"x)", "|a|\n|-|\n|<style>|", "[a](\tjava\nscript:x)", "<a href=data:x>", "![a\"onerror=\"x](http://b)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := unsafe(HTML(text)); err != "" {
			t.Errorf("%q: %s: %q", text, err, HTML(text))
		}
	})
}

// unsafe says what in a fragment could harm, as a browser parses it.
func unsafe(fragment string) string {
	allowed := map[string]string{
		"p": "", "br": "", "hr": "", "h1": "", "h2": "", "h3": "", "h4": "", "h5": "", "h6": "", "blockquote": "", "ul": "", "ol": "start", "li": "",
		"pre": "", "code": "class", "em": "", "strong": "", "del": "", "table": "", "thead": "", "tbody": "", "tr": "",
		"th": "align", "td": "align", "input": "type checked disabled", "a": "href rel target",
	}
	nodes, err := html.ParseFragment(strings.NewReader(fragment), &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body})
	if err != nil {
		return err.Error()
	}
	for _, root := range nodes {
		for n := range all(root) {
			switch n.Type {
			case html.TextNode:
				continue
			case html.ElementNode:
			default:
				return "a node that is no element"
			}
			attrs, ok := allowed[n.Data]
			if !ok {
				return "element " + n.Data
			}
			for _, a := range n.Attr {
				if !strings.Contains(" "+attrs+" ", " "+a.Key+" ") {
					return "attribute " + a.Key
				}
				if a.Key == "href" && !harmless(a.Val) {
					return "link to " + a.Val
				}
			}
		}
	}
	return ""
}

func all(root *html.Node) func(func(*html.Node) bool) {
	return func(yield func(*html.Node) bool) {
		if !yield(root) {
			return
		}
		for n := range root.Descendants() {
			if !yield(n) {
				return
			}
		}
	}
}

func harmless(link string) bool {
	link = strings.ToLower(link)
	for _, scheme := range []string{"http:", "https:", "mailto:", "tel:"} {
		if strings.HasPrefix(link, scheme) {
			return true
		}
	}
	return false
}
