package discord

import (
	"slices"
	"strconv"
	"strings"

	"dragoman/adapters/internal/markdown"
)

const (
	maxIndent = 16 // characters; lists deeper than Discord nests them stay at that depth
	apart     = "\u200B"
	quoteMark = "> "
)

// writer writes blocks in Discord's dialect. It stops soon after limit. Every
// line stands for itself: looks end with it and begin again on the next.
type writer struct {
	limit  int // UTF-16 units
	full   bool
	text   strings.Builder
	units  int
	indent string // of the lines to come, in lists
	depth  int    // of lists
	quoted int    // depth of quotes
	begun  bool   // something stands in this line
	words  bool   // something but markers of blocks does
	closed byte   // the marker of a look that ended just now, else 0
}

// blocks writes blocks below one another: apart by a blank line, which would end
// a list; what stands apart by itself needs none.
func (w *writer) blocks(bs []markdown.Block) {
	bs = withoutRules(bs)
	for i, b := range bs {
		if w.full {
			return
		}
		if i > 0 {
			w.between(bs[i-1], b)
		}
		w.block(b)
	}
}

func (w *writer) between(before, after markdown.Block) {
	list, ok := before.(markdown.List)
	another, too := after.(markdown.List)
	switch {
	case ok && too && (list.Ordered || another.Ordered): // else they are one, with the markers of the first
		w.line()
		w.raw(apart)
		w.line()
	case w.depth > 0, solid(before), solid(after):
		w.line()
	default:
		w.line()
		w.line()
	}
}

// solid blocks have room around them wherever they stand.
func solid(b markdown.Block) bool {
	switch b := b.(type) {
	case markdown.Code, markdown.Table:
		return true
	case markdown.Heading:
		return b.Level <= maxHeading
	}
	return false
}

func (w *writer) block(b markdown.Block) {
	switch b := b.(type) {
	case markdown.Paragraph:
		w.spans(b.Text)
	case markdown.Heading:
		w.heading(b)
	case markdown.List:
		w.list(b)
	case markdown.Quote:
		w.quote(b)
	case markdown.Code:
		w.fence(b.Text, b.Language)
	case markdown.Table:
		w.fence(b.Grid(), "")
	}
}

// withoutRules leaves out what Discord has nothing for: the blank lines tell.
func withoutRules(bs []markdown.Block) []markdown.Block {
	isRule := func(b markdown.Block) bool { _, ok := b.(markdown.Rule); return ok }
	if !slices.ContainsFunc(bs, isRule) {
		return bs
	}
	return slices.DeleteFunc(slices.Clone(bs), isRule)
}

// maxHeading is the deepest level that Discord knows.
const maxHeading = 3

// heading writes a heading of one line. In a list or a quote not every client
// knows it, and below level 3 none does: there it is bold.
func (w *writer) heading(h markdown.Heading) {
	text := make([]markdown.Span, len(h.Text))
	plain := w.depth > 0 || w.quoted > 0 || h.Level > maxHeading
	for i, s := range h.Text {
		s.Text = strings.ReplaceAll(s.Text, "\n", " ")
		if plain {
			s.Style |= markdown.Bold
		}
		text[i] = s
	}
	if !plain {
		w.marker(strings.Repeat("#", h.Level) + " ")
	}
	w.spans(text)
}

func (w *writer) list(l markdown.List) {
	w.depth++
	outer := w.indent
	defer func() { w.depth--; w.indent = outer }()
	for i, item := range l.Items {
		if w.full {
			return
		}
		if i > 0 {
			w.line()
		}
		w.indent = outer
		if !item.Continued {
			w.item(l, item)
		}
		w.blocks(item.Blocks)
	}
}

func (w *writer) item(l markdown.List, item markdown.Item) {
	marker := "- "
	if l.Ordered {
		marker = strconv.Itoa(item.Number) + ". "
	}
	if w.begun { // a list as the first thing in an item
		w.line()
	}
	outer := w.indent
	w.marker(marker)
	if len(outer)+len(marker) <= maxIndent {
		w.indent = outer + strings.Repeat(" ", len(marker))
	}
	switch item.Task {
	case markdown.TaskOpen:
		w.raw("☐ ")
	case markdown.TaskDone:
		w.raw("☑ ")
	}
}

// quote writes a quote. Discord's do not nest and stand in no list: an inner one
// is marked in the text.
func (w *writer) quote(q markdown.Quote) {
	outer, depth := w.indent, w.depth
	defer func() { w.indent, w.depth = outer, depth; w.quoted-- }()
	if w.begun {
		w.line()
	}
	w.quoted++
	w.indent, w.depth = "", 0
	if len(q.Blocks) == 0 {
		w.start()
	}
	w.blocks(q.Blocks)
}

// fence writes letter by letter, on lines of its own and not indented. The marks of an
// inner quote would be letters of it.
func (w *writer) fence(text, language string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if w.begun {
		w.line()
	}
	outer, quoted := w.indent, w.quoted
	w.indent, w.quoted = "", min(quoted, 1)
	w.start()
	w.raw("```" + language)
	for line := range strings.SplitSeq(text, "\n") {
		w.line()
		w.start()
		w.raw(parted(line, 3))
	}
	w.line()
	w.start()
	w.raw("```")
	w.indent, w.quoted = outer, quoted
}

// parted keeps n backticks from standing in a row.
func parted(text string, n int) string {
	if !strings.Contains(text, strings.Repeat("`", n)) {
		return text
	}
	var b strings.Builder
	run := 0
	for _, r := range text {
		if r != '`' {
			run = 0
		} else if run++; run == n {
			b.WriteString(apart)
			run = 1
		}
		b.WriteRune(r)
	}
	return b.String()
}

// line ends the line. One in a quote has its mark also if it is blank.
func (w *writer) line() {
	if !w.begun {
		w.prefix()
	}
	w.raw("\n")
	w.begun, w.words = false, false
}

// marker begins a line with the mark of a block.
func (w *writer) marker(mark string) {
	w.start()
	w.raw(mark)
}

// start begins a line unless one is.
func (w *writer) start() {
	if w.begun {
		return
	}
	w.prefix()
	w.raw(w.indent)
	w.begun = true
}

func (w *writer) prefix() {
	if w.quoted > 0 {
		w.raw(quoteMark + strings.Repeat(`\> `, w.quoted-1))
	}
}

func (w *writer) raw(text string) {
	if text == "" {
		return
	}
	text = strings.Map(markdown.CleanRune, text) // a character reference may have brought it in
	w.text.WriteString(text)
	for _, r := range text {
		w.units += units(r)
	}
	w.closed = 0
	w.full = w.full || w.units > w.limit
}
