package telegram

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/html"

	"dragoman/adapters/internal/markdown"
	"dragoman/ports"
	fake "dragoman/tests/fake/telegram"
)

var rewrite = flag.Bool("update", false, "write what is rendered to the golden files")

func TestRenderGolden(t *testing.T) {
	samples, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(samples) < 60 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, sample := range samples {
		t.Run(strings.TrimSuffix(filepath.Base(sample), ".md"), func(t *testing.T) {
			source, err := os.ReadFile(sample)
			if err != nil {
				t.Fatal(err)
			}
			pages := paginate(string(source), maxText, false)
			if err := sound(string(source), pages, maxText); err != nil {
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
func printed(pages []rendered) []byte {
	var b bytes.Buffer
	for i, p := range pages {
		units := utf16.Encode([]rune(p.Text))
		fmt.Fprintf(&b, "=== %d of %d: %d units\n%s\n", i+1, len(pages), len(units), p.Text)
		for _, f := range p.Entities {
			fmt.Fprintf(&b, "--- %s %d+%d %q", f.Type, f.Offset, f.Length, brief(string(utf16.Decode(units[f.Offset:f.Offset+f.Length]))))
			if f.URL+f.Language != "" {
				fmt.Fprintf(&b, " %s%s", f.URL, f.Language)
			}
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func brief(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:30]) + " … " + string(r[len(r)-20:])
	}
	return s
}

func FuzzTelegram(f *testing.F) {
	samples, err := filepath.Glob("testdata/render/*.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, sample := range samples {
		source, err := os.ReadFile(sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source[:min(len(source), 2000)]), 0)
	}
	f.Fuzz(func(t *testing.T, source string, limit int) {
		limit = 900 + max(0, limit)%3197 // three lines of a table always fit
		if err := sound(source, paginate(source, limit, false), limit); err != nil {
			t.Errorf("%q at %d: %v", source, limit, err)
		}
	})
}

// sound says what is wrong with pages made of source.
func sound(source string, pages []rendered, limit int) error {
	if len(pages) == 0 {
		return fmt.Errorf("no page")
	}
	var all strings.Builder
	for i, p := range pages {
		if err := soundPage(p.page, limit); err != nil {
			return fmt.Errorf("page %d: %w: %+v", i+1, err, p)
		}
		all.WriteString(p.Text)
	}
	shown := tally(all.String())
	for r, n := range tally(seen(source)) {
		if shown[r] < n {
			return fmt.Errorf("%q is there %d times, %d times in the source: %+v", r, shown[r], n, pages)
		}
	}
	return joined(source, pages)
}

func soundPage(p page, limit int) error {
	units := utf16.Encode([]rune(p.Text))
	switch {
	case len(units) > limit:
		return fmt.Errorf("%d units", len(units))
	case !utf8.ValidString(p.Text):
		return fmt.Errorf("not UTF-8")
	case p.Text != strings.Trim(p.Text, " \t\r\n"):
		return fmt.Errorf("not trimmed")
	case !markdown.Visible(p.Text):
		return fmt.Errorf("nothing to see")
	case len(p.Entities) > maxFormats:
		return fmt.Errorf("%d entities", len(p.Entities))
	}
	for i, f := range p.Entities {
		end := f.Offset + f.Length
		if f.Offset < 0 || f.Length <= 0 || end > len(units) {
			return fmt.Errorf("entity %d is outside of the text", i)
		}
		if f.Offset > 0 && utf16.IsSurrogate(rune(units[f.Offset])) && units[f.Offset] >= 0xDC00 ||
			end < len(units) && units[end] >= 0xDC00 && units[end] <= 0xDFFF {
			return fmt.Errorf("entity %d halves a rune", i)
		}
		if f.Type == "text_link" && !strings.HasPrefix(strings.ToLower(f.URL), "http") && !strings.HasPrefix(strings.ToLower(f.URL), "tg:") {
			return fmt.Errorf("a link to %s", f.URL)
		}
		for _, o := range p.Entities[:i] { // in order, the outer one first
			switch {
			case f.Offset < o.Offset || f.Offset == o.Offset && f.Length > o.Length:
				return fmt.Errorf("entity %d is out of order", i)
			case f.Offset >= o.Offset+o.Length:
			case end > o.Offset+o.Length:
				return fmt.Errorf("%s and %s overlap", o.Type, f.Type)
			case o.Type == "pre" || o.Type == "code" || o.Type == f.Type:
				return fmt.Errorf("%s in %s", f.Type, o.Type)
			case f.Type == "pre", f.Type == "code" && o.Type != "blockquote":
				return fmt.Errorf("%s in %s", f.Type, o.Type)
			}
		}
	}
	return nil
}

// seen is what a browser shows of a text: the same Markdown by way of goldmark's
// own renderer.
func seen(source string) string {
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
		for _, p := range paginate(string(source), maxText, false) {
			shown.WriteString(p.Text)
		}
		rest := shown.String()
		for _, r := range seen(string(source)) {
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
	parts, err := new(Channel).Render(ports.Content{Text: strings.Repeat("**a** b\n\n", 2000), Choices: choices})
	if err != nil || len(parts) < 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	for i, part := range parts {
		var p page
		if err := json.Unmarshal(part.Body, &p); err != nil || p.Text != part.Text || len(p.Entities) == 0 {
			t.Errorf("part %d: %v, %s", i, err, part.Body)
		}
		if last := i == len(parts)-1; last != (len(part.Choices) == 1) {
			t.Errorf("part %d has %d choices", i, len(part.Choices))
		}
	}
	for _, text := range []string{"", " \n", "\u200b"} {
		parts, err := new(Channel).Render(ports.Content{Text: text, Choices: choices})
		if err != nil || len(parts) != 1 || parts[0].Text != nothing || len(parts[0].Choices) != 1 || len(parts[0].Body) == 0 {
			t.Errorf("%q: %+v, %v", text, parts, err)
		}
	}
}

func TestAPreviewClosesWhatIsOpen(t *testing.T) {
	for text, want := range map[string]string{
		"see **the docs …":          `{"text":"see the docs …","entities":[{"type":"bold","offset":4,"length":8}]}`,
		"```go\nx **y …":            `{"text":"x **y\n\n…","entities":[{"type":"pre","offset":0,"length":5,"language":"go"}]}`,
		"see [docs](https://exam …": `{"text":"see docs …"}`,
	} {
		parts, err := new(Channel).Render(ports.Content{Text: text, Partial: true})
		if err != nil || len(parts) != 1 || string(parts[0].Body) != want {
			t.Errorf("%q: %+v, %v", text, parts, err)
		}
	}
	if whole, _ := new(Channel).Render(ports.Content{Text: "see **the docs …"}); whole[0].Text != "see **the docs …" {
		t.Errorf("a whole answer shows %q", whole[0].Text)
	}
}

func TestRenderIsBoundedInTime(t *testing.T) {
	const limit = 30 * time.Second // about a second at worst when alone
	for name, text := range map[string]string{
		"too long":      strings.Repeat("a *b* ", 1<<17),
		"one word":      strings.Repeat("a", 120_000),
		"one paragraph": strings.Repeat("a\n", 60_000),
		"marks":         strings.Repeat("a\u0301\u0302", 20_000),
		"flags":         strings.Repeat("🇩🇪", 15_000),
		"stairs":        stairs(),
		"many items":    strings.Repeat("- a\n", 30_000),
		"many blocks":   strings.Repeat("a\n\n", 40_000),
		"many looks":    strings.Repeat(strings.Repeat("*a* ", 900)+"\n\n", 35),
		"quoted items":  strings.Repeat("> - > - > - a\n", 8_000),
		"wide table":    "|" + strings.Repeat("a|", 99) + "\n|" + strings.Repeat("-|", 99) + "\n" + strings.Repeat("|b|c\n", 190),
		"long rows":     "|a|b|\n|-|-|\n" + strings.Repeat("|x|y|\n", 9_000),
		"blank":         strings.Repeat(" \n", 60_000),
		"blank, longer": strings.Repeat(" \n", 600_000),
		"long fence":    "```\n" + strings.Repeat(" \n", 60_000) + "```",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			pages := paginate(text, maxText, false)
			if took := time.Since(start); took > limit {
				t.Errorf("took %v", took)
			}
			for _, p := range pages {
				if err := soundPage(p.page, maxText); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func stairs() string {
	var b strings.Builder
	for i := 0; b.Len() < 100_000; i++ {
		b.WriteString(strings.Repeat(" ", i*2) + "- a\n")
	}
	return b.String()
}

func TestFormattingArrives(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.User(7, "Ann").Say("hello")
	samples, _ := filepath.Glob("testdata/render/*.md")
	for _, sample := range samples {
		source, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.ch.Render(ports.Content{Text: string(source)})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			out := text(7, "")
			out.Content = part
			if _, err := s.ch.Send(t.Context(), out); err != nil {
				t.Fatalf("%s: %v", sample, err)
			}
			all := s.server.Sent(7)
			got := all[len(all)-1]
			var want page
			if err := json.Unmarshal(part.Body, &want); err != nil {
				t.Fatal(err)
			}
			if got.Text != part.Text || fmt.Sprint(got.Entities) != fmt.Sprint(want.Entities) {
				t.Errorf("%s: the chat shows %q with %v, want %q with %v", sample, got.Text, got.Entities, part.Text, want.Entities)
			}
		}
	}
	if strings.Contains(s.log.String(), "refused formatting") {
		t.Errorf("formatting was refused:\n%s", s.log)
	}
}

func TestRefusedFormattingIsLeftOff(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.User(7, "Ann").Say("hello")
	out := func(words string) ports.Outgoing {
		o := text(7, words)
		o.Content.Body = json.RawMessage(fmt.Sprintf(`{"text":%q,"entities":[{"type":"bold","offset":0,"length":99}]}`, words))
		return o
	}
	id, err := s.ch.Send(t.Context(), out("first"))
	if err != nil || s.server.Sent(7)[0].Text != "first" {
		t.Fatalf("the chat shows %+v, %v", s.server.Sent(7), err)
	}
	for range 2 {
		if err := s.ch.Edit(t.Context(), id, out("second")); err != nil || s.server.Sent(7)[0].Text != "second" {
			t.Errorf("the chat shows %+v, %v", s.server.Sent(7), err)
		}
	}
	s.server.Fail("sendMessage", 1, fake.ChatNotFound)
	if _, err := s.ch.Send(t.Context(), out("third")); !ports.IsKind(err, ports.KindNotFound) || s.server.Calls("sendMessage") != 3 {
		t.Errorf("another refusal: %v after %d calls", err, s.server.Calls("sendMessage"))
	}
}

func TestEditChangesFormattingAlone(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.User(7, "Ann").Say("hello")
	id, err := s.ch.Send(t.Context(), text(7, "word"))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := s.ch.Render(ports.Content{Text: "**word**"})
	if err != nil {
		t.Fatal(err)
	}
	out := text(7, "")
	out.Content = parts[0]
	for range 2 {
		if err := s.ch.Edit(t.Context(), id, out); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.server.Sent(7)[0]; got.Edits != 1 || len(got.Entities) != 1 || got.Entities[0].Type != "bold" {
		t.Errorf("the chat shows %+v", got)
	}
}
