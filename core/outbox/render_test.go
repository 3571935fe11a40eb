package outbox

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"short", "hello", 10, []string{"hello"}},
		{"exact", "0123456789", 10, []string{"0123456789"}},
		{"at a paragraph", "aaaaaa\n\nbbb ccc", 10, []string{"aaaaaa", "bbb ccc"}},
		{"at a line", "aaaaaa\nbbb ccc", 10, []string{"aaaaaa", "bbb ccc"}},
		{"at a space", "aaaaaa bbbb", 10, []string{"aaaaaa", "bbbb"}},
		{"a long word", "aaaaaaaaaaaaaaa", 10, []string{"aaaaaaaaaa", "aaaaa"}},
		{"an early space is no place to cut", "a bbbbbbbbbbbbb", 10, []string{"a bbbbbbbb", "bbbbb"}},
		{"surrogate pairs count twice", "😀😀😀", 4, []string{"😀😀", "😀"}},
		{"a limit below one rune still ends", "😀😀", 1, []string{"😀", "😀"}},
		{"no limit", strings.Repeat("x", 99), 0, []string{strings.Repeat("x", 99)}},
	} {
		if got := split(c.text, c.limit); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("some words\nand more\n\nand the end", 7)
	f.Add("😀😀 wide", 3)
	f.Add("", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if !utf8.ValidString(text) || limit < 2 || limit > 5000 {
			t.Skip()
		}
		parts := split(text, limit)
		for _, p := range parts {
			if n := len(utf16.Encode([]rune(p))); n > limit {
				t.Errorf("a part of %d units, limit %d: %q", n, limit, p)
			}
			if !utf8.ValidString(p) {
				t.Errorf("a part cuts a rune: %q", p)
			}
		}
		strip := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if strip(strings.Join(parts, "")) != strip(text) {
			t.Errorf("%q became %q", text, parts)
		}
	})
}
