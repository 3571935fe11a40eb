package telegram

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"dragoman/adapters/internal/markdown"
)

const (
	maxIndent = 24 // characters
	ruler     = "———"
	tab       = "    " // Telegram makes one space of a tab
)

// writer writes blocks as text and formats. It stops soon after limit.
type writer struct {
	limit  int // UTF-16 units
	full   bool
	text   strings.Builder
	units  int
	begun  bool   // something stands in this line
	indent string // of the lines to come
	depth  int    // of lists

	marks   []format
	open    []format // not ended yet, the outermost first
	quoting bool
	quoted  int // where the quote began
}

// blocks writes blocks below one another; tight is how they stand in an item. What a
// heading heads stands right below it.
func (w *writer) blocks(bs []markdown.Block, tight bool) {
	for i, b := range bs {
		if w.full {
			return
		}
		_, list := b.(markdown.List)
		switch {
		case i == 0:
		case tight, list && w.depth > 0, isHeading(bs[i-1]):
			w.lines(1)
		default:
			w.lines(2)
		}
		w.block(b)
	}
}

func (w *writer) block(b markdown.Block) {
	switch b := b.(type) {
	case markdown.Paragraph:
		w.spans(b.Text)
	case markdown.Heading:
		w.spans(bold(b.Text))
	case markdown.List:
		w.list(b)
	case markdown.Quote:
		w.quote(b)
	case markdown.Code:
		w.pre(b.Text, b.Language)
	case markdown.Table:
		w.pre(b.Grid(), "")
	case markdown.Rule:
		w.put(ruler)
	}
}

func isHeading(b markdown.Block) bool {
	_, ok := b.(markdown.Heading)
	return ok
}

func bold(spans []markdown.Span) []markdown.Span {
	out := make([]markdown.Span, len(spans))
	for i, s := range spans {
		s.Style |= markdown.Bold
		out[i] = s
	}
	return out
}

func (w *writer) list(l markdown.List) {
	w.depth++
	defer func() { w.depth-- }()
	for i, item := range l.Items {
		if w.full {
			return
		}
		if i > 0 && l.Loose {
			w.lines(2)
		} else if i > 0 {
			w.lines(1)
		}
		marker := w.marker(l, item)
		w.put(marker)
		outer := w.indent
		if wide := utf8.RuneCountInString(marker); len(outer)+wide <= maxIndent {
			w.indent += strings.Repeat(" ", wide)
		}
		w.blocks(item.Blocks, !l.Loose)
		w.indent = outer
	}
}

func (w *writer) marker(l markdown.List, item markdown.Item) string {
	marker := "• "
	if w.depth > 1 {
		marker = "◦ "
	}
	if l.Ordered {
		marker = strconv.Itoa(item.Number) + ". "
	}
	box := map[markdown.Task]string{markdown.TaskOpen: "☐ ", markdown.TaskDone: "☑ "}[item.Task]
	switch {
	case box != "" && l.Ordered:
		marker += box
	case box != "":
		marker = box
	}
	if item.Continued {
		return strings.Repeat(" ", utf8.RuneCountInString(marker))
	}
	return marker
}

// quote writes a quote. Telegram's do not nest: an inner one is marked in the text.
func (w *writer) quote(q markdown.Quote) {
	outer := w.indent
	defer func() { w.indent = outer }()
	if w.quoting {
		w.indent += "> "
		if w.begun {
			w.put("> ")
		}
		w.blocks(q.Blocks, false)
		return
	}
	w.freshLine()
	w.indent = ""
	w.quoting, w.quoted = true, w.units
	w.blocks(q.Blocks, false)
	w.endQuote()
	w.quoting = false
}

func (w *writer) endQuote() {
	w.mark(format{Type: "blockquote", Offset: w.quoted, Length: w.units - w.quoted})
}

// pre writes letter by letter. A quote is parted: not every client shows one around it.
func (w *writer) pre(text, language string) {
	text = strings.ReplaceAll(text, "\t", tab)
	if strings.TrimSpace(text) == "" {
		return
	}
	w.freshLine()
	if w.quoting {
		w.endQuote()
	}
	start := w.units
	w.raw(text)
	w.mark(format{Type: "pre", Offset: start, Length: w.units - start, Language: language})
	w.begun, w.quoted = true, w.units
}

// freshLine begins a line unless one is.
func (w *writer) freshLine() {
	if w.begun {
		w.lines(1)
	}
}

func (w *writer) lines(n int) {
	w.raw(strings.Repeat("\n", n))
	w.begun = false
}

// put writes text, each line of it indented.
func (w *writer) put(text string) {
	first := true
	for line := range strings.SplitSeq(text, "\n") {
		if !first {
			w.lines(1)
		}
		first = false
		if w.full {
			return
		}
		if line == "" {
			continue
		}
		if !w.begun {
			w.raw(w.indent)
			w.begun = true
		}
		w.raw(line)
	}
}

func (w *writer) raw(text string) {
	text = strings.Map(arriving, text)
	w.text.WriteString(text)
	for _, r := range text {
		w.units += width(r)
	}
	w.full = w.full || w.units > w.limit
}

// arriving is what Telegram makes of a rune, so that all that it trims is a space or
// a line end. A character reference may have brought anything in.
func arriving(r rune) rune {
	if r == '\t' {
		return ' '
	}
	return markdown.CleanRune(r)
}

func (w *writer) mark(f format) {
	if f.Length > 0 {
		w.marks = append(w.marks, f)
	}
}
