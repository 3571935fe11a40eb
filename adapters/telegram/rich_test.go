package telegram

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/adapters/internal/markdown"
)

func TestRenderRichGolden(t *testing.T) {
	samples, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(samples) < 100 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, sample := range samples {
		t.Run(strings.TrimSuffix(filepath.Base(sample), ".md"), func(t *testing.T) {
			source, err := os.ReadFile(sample)
			if err != nil {
				t.Fatal(err)
			}
			if err := soundRich(string(source), maxText); err != nil {
				t.Error(err)
			}
			golden := strings.TrimSuffix(sample, ".md") + ".rich"
			got := printedRich(string(source))
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

// printedRich is the rich form of a text's pages, also of those that go out without.
func printedRich(source string) []byte {
	var b bytes.Buffer
	blocks := markdown.Parse(markdown.Clean(source))
	pages, ok := richPages(blocks, maxText)
	if !ok {
		text, fits := richly(blocks)
		fmt.Fprintf(&b, "=== goes out as text; within limits: %v\n%s\n", fits, text)
	}
	for i, p := range pages {
		fmt.Fprintf(&b, "=== %d of %d: %d characters\n%s\n", i+1, len(pages), utf8.RuneCountInString(p.Rich), p.Rich)
	}
	return b.Bytes()
}

func FuzzRich(f *testing.F) {
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
		limit = 900 + max(0, limit)%3197
		if err := soundRich(source, limit); err != nil {
			t.Errorf("%q at %d: %v", source, limit, err)
		}
	})
}

// soundRich says what is wrong with what is made of source where rich messages are
// asked for: the text that each stands in for, and the rich form of the whole, which
// shows what is meant and nothing else.
func soundRich(source string, limit int) error {
	if err := sound(source, paginate(source, limit, true), limit); err != nil {
		return err
	}
	blocks := markdown.Parse(markdown.Clean(source))
	text, _ := richly(blocks)
	view, odd := richView(text)
	if len(odd) > 0 {
		return fmt.Errorf("it has %q: %s", odd, text)
	}
	got, want := stylesOf(view), stylesOf(looksMeant(blocks))
	for s, n := range want {
		s.style &^= markdown.Math // a formula may be code
		if got[s]+got[richSeen{s.r, s.style | markdown.Math}] < n {
			return fmt.Errorf("%q does not look as %d %d times: %s", s.r, s.style, n, text)
		}
	}
	meant := looksMeant(blocks)
	for i, s := range meant {
		if i >= len(view) || view[i].r != s.r {
			return fmt.Errorf("%q, character %d, is not where it is meant to be: %s", s.r, i, text)
		}
		if s.style == 0 && view[i].style != 0 {
			return fmt.Errorf("%q, character %d, looks as %d: %s", s.r, i, view[i].style, text)
		}
	}
	if len(view) > len(meant) {
		return fmt.Errorf("%d characters too many: %s", len(view)-len(meant), text)
	}
	return nil
}
