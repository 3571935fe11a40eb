package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean takes out of a text what chats take out or must not show: control
// characters become spaces, unusual line ends become \n. Direction overrides go
// for good reason: they make a text read as another.
func Clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(CleanRune, text)
}

// CleanRune is Clean of one rune, a mapping for strings.Map. What comes of a
// parsed text needs it again: a character reference may have brought anything in.
func CleanRune(r rune) rune {
	switch {
	case r == '\u2028', r == '\u2029':
		return '\n'
	case r >= '\u202A' && r <= '\u202E':
		return -1
	case r < ' ' && r != '\n' && r != '\t':
		return ' '
	}
	return r
}

// Visible reports whether there is something to see in a text, also by the
// measure of chats that refuse an empty message.
func Visible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		switch r {
		case '\u2800', '\u115F', '\u1160', '\u3164', '\uFFA0', '\u034F', '\u17B4', '\u17B5': // blanks that pass as letters or marks
			return false
		}
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Variation_Selector, r)
	})
}

// Unfold turns tables that Grid would spoil into Records: those of more columns
// than a line has, and those with links. Do it before anything is cut, so that a
// table looks the same in all its pieces.
func Unfold(blocks []Block, columns int) []Block {
	var out []Block
	for _, b := range blocks {
		switch b := b.(type) {
		case Table:
			if b.Width() > columns || b.Linked() || hasLongLine(b.Grid(), 2*columns) {
				out = append(out, b.Records()...)
				continue
			}
		case Quote:
			out = append(out, Quote{Unfold(b.Blocks, columns)})
			continue
		case List:
			items := make([]Item, len(b.Items))
			for i, item := range b.Items {
				item.Blocks = Unfold(item.Blocks, columns)
				items[i] = item
			}
			b.Items = items
			out = append(out, b)
			continue
		}
		out = append(out, b)
	}
	return out
}

// Reword is blocks with f of each running text in place of it. Cells of tables
// stay as they are.
func Reword(blocks []Block, f func([]Span) []Span) []Block {
	out := make([]Block, len(blocks))
	for i, b := range blocks {
		switch b := b.(type) {
		case Paragraph:
			out[i] = Paragraph{f(b.Text)}
		case Heading:
			out[i] = Heading{b.Level, f(b.Text)}
		case Quote:
			out[i] = Quote{Reword(b.Blocks, f)}
		case List:
			items := make([]Item, len(b.Items))
			for j, item := range b.Items {
				item.Blocks = Reword(item.Blocks, f)
				items[j] = item
			}
			b.Items = items
			out[i] = b
		default:
			out[i] = b
		}
	}
	return out
}

// hasLongLine: marks that take no room make a line too long to be cut off
// between rows.
func hasLongLine(grid string, limit int) bool {
	for line := range strings.SplitSeq(grid, "\n") {
		if utf8.RuneCountInString(line) > limit {
			return true
		}
	}
	return false
}
