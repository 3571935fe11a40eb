package discord

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/html"

	"dragoman/adapters/internal/markdown"
	"dragoman/ports"
)

var rewrite = flag.Bool("update", false, "write what is rendered to the golden files")

const maxMessage = 2000

func TestRenderGolden(t *testing.T) {
	all, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(all) < 60 {
		t.Fatalf("%d samples, %v", len(all), err)
	}
	for _, sample := range all {
		t.Run(strings.TrimSuffix(filepath.Base(sample), ".md"), func(t *testing.T) {
			source, err := os.ReadFile(sample)
			if err != nil {
				t.Fatal(err)
			}
			pages := paginate(string(source), maxMessage)
			if err := sound(string(source), pages, maxMessage); err != nil {
				t.Error(err)
			}
			golden := strings.TrimSuffix(sample, ".md") + ".golden"
			got := printed(pages)
			if *rewrite {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// printed is pages for people who read the golden files.
func printed(pages []string) []byte {
	var b bytes.Buffer
	for i, p := range pages {
		fmt.Fprintf(&b, "=== %d of %d: %d units\n%s\n", i+1, len(pages), len(utf16.Encode([]rune(p))), p)
	}
	return b.Bytes()
}

func FuzzDiscord(f *testing.F) {
	all, err := filepath.Glob("testdata/render/*.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, sample := range all {
		source, err := os.ReadFile(sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source[:min(len(source), 2000)]), 0)
	}
	f.Fuzz(func(t *testing.T, source string, limit int) {
		limit = 900 + max(0, limit)%1101 // three lines of a table always fit
		if err := sound(source, paginate(source, limit), limit); err != nil {
			t.Errorf("%q at %d: %v", source, limit, err)
		}
	})
}

// sound says what is wrong with pages made of source: by what people see in
// Discord, nothing of the source is missing and nothing is out of order.
func sound(source string, pages []string, limit int) error {
	var all strings.Builder
	for i, p := range pages {
		switch {
		case len(utf16.Encode([]rune(p))) > limit:
			return fmt.Errorf("page %d has %d units", i+1, len(utf16.Encode([]rune(p))))
		case !utf8.ValidString(p), p != strings.TrimSpace(p), !markdown.Visible(p):
			return fmt.Errorf("page %d is not UTF-8, not trimmed or not visible: %q", i+1, p)
		}
		for _, s := range view(p) {
			all.WriteRune(s.r)
		}
	}
	shown := tally(all.String())
	for r, n := range tally(browsed(source)) {
		if shown[r] < n {
			return fmt.Errorf("%q is there %d times, %d times in the source: %q shows %q", r, shown[r], n, pages, all.String())
		}
	}
	if whole := markdown.Parse(markdown.Clean(source)); !tabled(whole) {
		if got, want := letters(pages), letters(paginate(source, 1<<30)); got != want {
			return fmt.Errorf("the pages joined are %q, the whole is %q", got, want)
		}
	}
	return lookedAt(source, pages)
}

// letters are all visible characters in order, but for the marks of quotes, which
// come again in each line, and the addresses behind the words of links, which come
// again with each part of them.
func letters(pages []string) string {
	var seen []seenRune
	for _, p := range pages {
		for _, s := range view(p) {
			if s.r != '>' && markdown.Visible(string(s.r)) {
				seen = append(seen, s)
			}
		}
	}
	var b strings.Builder
	for len(seen) > 0 {
		n := addressBehind(seen)
		if n == 0 {
			b.WriteRune(seen[0].r)
			n = 1
		}
		seen = seen[n:]
	}
	return b.String()
}

// addressBehind is how many characters "(<address>)" takes at the start of what is seen,
// 0 if there is none.
func addressBehind(seen []seenRune) int {
	if len(seen) < 3 || seen[0].r != '(' || !seen[1].look.angled {
		return 0
	}
	n, link := 1, seen[1].look.link
	for _, r := range link {
		if n == len(seen) || seen[n].r != r || seen[n].look.link != link {
			return 0
		}
		n++
	}
	if n == len(seen) || seen[n].r != ')' {
		return 0
	}
	return n + 1
}

// tabled: a table repeats its header on each page.
func tabled(blocks []markdown.Block) bool {
	for _, b := range blocks {
		switch b := b.(type) {
		case markdown.Table:
			return true
		case markdown.Quote:
			if tabled(b.Blocks) {
				return true
			}
		case markdown.List:
			for _, item := range b.Items {
				if tabled(item.Blocks) {
					return true
				}
			}
		}
	}
	return false
}

// lookedAt compares the looks of running text: each character that is bold in
// the source is bold in Discord, and so on, and none is that was not.
func lookedAt(source string, pages []string) error {
	type styled struct {
		r     rune
		style markdown.Style
	}
	shown := map[styled]int{}
	for _, p := range pages {
		for _, s := range view(p) {
			if markdown.Visible(string(s.r)) && s.look.style != 0 {
				shown[styled{s.r, s.look.style}]++
			}
		}
	}
	want := map[styled]int{}
	for s := range running(markdown.Unfold(markdown.Parse(markdown.Clean(source)), gridWidth)) {
		style := s.Style
		switch {
		case style&markdown.Monospace != 0:
			style = markdown.Monospace
		case s.Link != "", style == 0:
			continue
		}
		for _, r := range s.Text {
			if markdown.Visible(string(r)) {
				want[styled{r, style}]++
			}
		}
	}
	for s, n := range shown {
		if want[s] < n {
			return fmt.Errorf("%q looks as %d too often in %q", s.r, s.style, pages)
		}
	}
	return nil
}

// running is the text of blocks that is no code and no table.
func running(blocks []markdown.Block) func(func(markdown.Span) bool) {
	return func(yield func(markdown.Span) bool) {
		var walk func([]markdown.Block)
		walk = func(blocks []markdown.Block) {
			for _, b := range blocks {
				switch b := b.(type) {
				case markdown.Paragraph:
					each(b.Text, yield)
				case markdown.Heading:
					each(b.Text, yield)
					bold := make([]markdown.Span, len(b.Text)) // in places
					for i, s := range b.Text {
						s.Style |= markdown.Bold
						bold[i] = s
					}
					each(bold, yield)
				case markdown.Quote:
					walk(b.Blocks)
				case markdown.List:
					for _, item := range b.Items {
						walk(item.Blocks)
					}
				}
			}
		}
		walk(blocks)
	}
}

// each yields spans, with their link only where it is all that is shown: an address
// has no other look, unless it is too long for a link.
func each(spans []markdown.Span, yield func(markdown.Span) bool) {
	for len(spans) > 0 {
		n, link := 1, spans[0].Link
		for n < len(spans) && spans[n].Link == link {
			n++
		}
		bare := isWeb(link) && len(inert.Replace(link)) <= maxAddress && shows(markdown.Plain(spans[:n]), link)
		for _, s := range spans[:n] {
			if !bare {
				s.Link = ""
			}
			yield(s)
		}
		spans = spans[n:]
	}
}

// browsed is what a browser shows of a text: the same Markdown by way of
// goldmark's own renderer.
func browsed(source string) string {
	nodes, err := html.Parse(strings.NewReader(markdown.HTML(markdown.Clean(source))))
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	for n := range nodes.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// tally counts the characters that can be seen.
func tally(text string) map[rune]int {
	counts := map[rune]int{}
	for _, r := range text {
		if markdown.Visible(string(r)) {
			counts[r]++
		}
	}
	return counts
}

func TestRenderKeepsOrder(t *testing.T) {
	samples, _ := filepath.Glob("testdata/render/long-*.md")
	for _, sample := range samples {
		source, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		var shown strings.Builder
		for _, p := range paginate(string(source), maxMessage) {
			for _, s := range view(p) {
				shown.WriteRune(s.r)
			}
		}
		rest := shown.String()
		for _, r := range browsed(string(source)) {
			if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
				continue
			}
			_, after, ok := strings.Cut(rest, string(r))
			if !ok {
				t.Errorf("%s: %q is out of order", sample, r)
				break
			}
			rest = after
		}
	}
}

func TestRenderMakesParts(t *testing.T) {
	choices := []ports.Choice{{Question: "q", Field: "f", Value: "v"}}
	file := &ports.File{Artifact: "a"}
	parts, err := render(ports.Content{Text: strings.Repeat("**a** b\n\n", 2000), Choices: choices, File: file}, maxMessage)
	if err != nil || len(parts) < 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	for i, part := range parts {
		var body string
		if err := json.Unmarshal(part.Body, &body); err != nil || body != part.Text || written(part, maxMessage) != body {
			t.Errorf("part %d: %v, %s", i, err, part.Body)
		}
		if last := i == len(parts)-1; last != (len(part.Choices) == 1) || (i == 0) != (part.File != nil) {
			t.Errorf("part %d has %d choices, file %v", i, len(part.Choices), part.File)
		}
	}
	for _, text := range []string{"", " \n", "\u200b"} {
		parts, err := render(ports.Content{Text: text, Choices: choices}, maxMessage)
		if err != nil || len(parts) != 1 || parts[0].Text != nothing || len(parts[0].Choices) != 1 || len(parts[0].Body) == 0 {
			t.Errorf("%q: %+v, %v", text, parts, err)
		}
		parts, err = render(ports.Content{Text: text, File: file}, maxMessage)
		if err != nil || len(parts) != 1 || parts[0].Text != "" || parts[0].File != file {
			t.Errorf("%q with a file: %+v, %v", text, parts, err)
		}
	}
	if got := written(ports.Content{Text: " 𝕏𝕏 "}, 3); got != "𝕏" {
		t.Errorf("what render did not make: %q", got)
	}
}

func TestAPreviewClosesWhatIsOpen(t *testing.T) {
	for text, want := range map[string]string{
		"see **the docs …":          "see **the docs** …",
		"```go\nx **y …":            "```go\nx **y\n```\n…",
		"see [docs](https://exam …": "see docs …",
	} {
		parts, err := render(ports.Content{Text: text, Partial: true}, maxMessage)
		if err != nil || len(parts) != 1 || parts[0].Text != want {
			t.Errorf("%q: %+v, %v", text, parts, err)
		}
	}
}
