package markdown

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width is how many columns of a monospaced font Grid takes.
func (t Table) Width() int {
	sum := 0
	for _, w := range t.widths() {
		sum += w + len(gap)
	}
	return max(0, sum-len(gap))
}

const gap = " | "

// Grid draws the table for a monospaced font. Looks and links are lost in it.
func (t Table) Grid() string {
	widths := t.widths()
	var b strings.Builder
	t.line(&b, t.Head, widths)
	b.WriteByte('\n')
	for i, w := range widths {
		if i > 0 {
			b.WriteString("-+-")
		}
		b.WriteString(strings.Repeat("-", w))
	}
	for _, row := range t.Rows {
		b.WriteByte('\n')
		t.line(&b, row, widths)
	}
	return b.String()
}

// Linked reports whether a cell holds a link, which Grid would lose.
func (t Table) Linked() bool {
	for _, row := range append([][]Cell{t.Head}, t.Rows...) {
		for _, c := range row {
			for _, s := range c {
				if s.Link != "" && s.Link != s.Text {
					return true
				}
			}
		}
	}
	return false
}

// Records is the table as a paragraph per row with a line "head: cell" per
// column; without rows it is a paragraph of the header.
func (t Table) Records() []Block {
	if len(t.Rows) == 0 {
		t.Rows, t.Head = [][]Cell{t.Head}, nil
	}
	var out []Block
	for _, row := range t.Rows {
		var text []Span
		for i, c := range row {
			var head Cell
			if i < len(t.Head) {
				head = t.Head[i]
			}
			if len(head)+len(c) == 0 {
				continue
			}
			if len(text) > 0 {
				text = append(text, Span{Text: "\n"})
			}
			for _, s := range head {
				s.Style |= Bold
				text = append(text, s)
			}
			if len(head) > 0 {
				text = append(text, Span{Text: ": "})
			}
			text = append(text, c...)
		}
		if len(text) > 0 {
			out = append(out, Paragraph{text})
		}
	}
	return out
}

func (t Table) widths() []int {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]Cell{t.Head}, t.Rows...) {
		for i, c := range row {
			if i < len(widths) {
				widths[i] = max(widths[i], columns(Plain(c)))
			}
		}
	}
	return widths
}

func (t Table) line(b *strings.Builder, row []Cell, widths []int) {
	var line strings.Builder
	for i, w := range widths {
		text := ""
		if i < len(row) {
			text = Plain(row[i])
		}
		if i > 0 {
			line.WriteString(gap)
		}
		free := w - columns(text)
		left := 0
		if i < len(t.Align) {
			left = map[Align]int{AlignRight: free, AlignCenter: free / 2}[t.Align[i]]
		}
		line.WriteString(strings.Repeat(" ", left) + text + strings.Repeat(" ", free-left))
	}
	b.WriteString(strings.TrimRight(line.String(), " "))
}

// columns of a monospaced font that s takes
// (https://www.unicode.org/reports/tr11/; emoji joined into one count once).
func columns(s string) int {
	n := 0
	joined := false
	for _, r := range s {
		switch kind := width.LookupRune(r).Kind(); {
		case r == zwj:
			joined = true
			continue
		case joined, extends(r), unicode.Is(unicode.Cf, r):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
		joined = false
	}
	return n
}
