package telegram

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"dragoman/adapters/internal/markdown"
)

// Limits of rich messages (https://core.telegram.org/bots/api#inputrichmessage). What is
// written is counted, and not what is shown, which is never more.
const (
	maxRich        = 32768 // characters
	maxRichBlocks  = 500   // nested ones, items and rows included
	maxRichLevels  = 16
	inlineLevels   = 5 // of a link in bold, italic, struck text
	maxRichColumns = 20
)

// richer writes blocks as rich messages' own Markdown
// (https://core.telegram.org/bots/api#rich-markdown-style), which takes HTML: looks are
// tags, so that nothing that stands beside them counts, and whatever else a text has
// that could be read as markup is escaped. A picture is never written: Telegram would
// fetch it.
type richer struct {
	blocks, level, columns int
}

// richly is blocks as the text of a rich message, and whether that is within its limits.
func richly(bs []markdown.Block) (string, bool) {
	var r richer
	text := strings.Join(r.lines(bs, 1, false), "\n")
	ok := r.blocks <= maxRichBlocks && r.level+inlineLevels <= maxRichLevels && r.columns <= maxRichColumns && utf8.RuneCountInString(text) <= maxRich
	return text, ok
}

// asksForRich reports whether a rich message shows more of blocks than entities do:
// older clients show it as nothing but a notice.
func asksForRich(bs []markdown.Block, inList bool) bool {
	for _, b := range bs {
		switch b := b.(type) {
		case markdown.Heading, markdown.Table, markdown.Rule:
			return true
		case markdown.Code:
			if b.Math {
				return true
			}
		case markdown.Paragraph:
			for _, s := range b.Text {
				if s.Style&markdown.Math != 0 {
					return true
				}
			}
		case markdown.Quote:
			if asksForRich(b.Blocks, inList) {
				return true
			}
		case markdown.List:
			if inList {
				return true
			}
			for _, item := range b.Items {
				if item.Task != markdown.NoTask || asksForRich(item.Blocks, true) {
					return true
				}
			}
		}
	}
	return false
}

// lines are those of blocks; tight is how they stand in an item.
func (r *richer) lines(bs []markdown.Block, level int, tight bool) []string {
	r.level = max(r.level, level)
	var out []string
	var marks marks
	for i, b := range bs {
		r.blocks++
		list, isList := b.(markdown.List)
		if i > 0 && !(tight && interrupts(b)) {
			out = append(out, "")
		}
		if isList {
			out = append(out, r.list(list, level, marks.of(list, i > 0 && sameList(bs[i-1], list)))...)
			continue
		}
		out = append(out, r.block(b, level)...)
	}
	return out
}

// interrupts reports whether a block may stand right below a paragraph.
func interrupts(b markdown.Block) bool {
	switch b := b.(type) {
	case markdown.Code:
		return true
	case markdown.List:
		return len(b.Items[0].Blocks) > 0 && !b.Items[0].Continued && (!b.Ordered || b.Items[0].Number == 1)
	}
	return false
}

// marks are the markers of lists. Two lists below one another would be one, were they alike.
type marks struct{ other bool }

func sameList(before markdown.Block, l markdown.List) bool {
	b, ok := before.(markdown.List)
	return ok && b.Ordered == l.Ordered
}

func (m *marks) of(l markdown.List, follows bool) string {
	m.other = follows && !m.other
	switch {
	case l.Ordered && m.other:
		return ")"
	case l.Ordered:
		return "."
	case m.other:
		return "*"
	}
	return "-"
}

func (r *richer) block(b markdown.Block, level int) []string {
	switch b := b.(type) {
	case markdown.Paragraph:
		return r.paragraph(b.Text)
	case markdown.Heading:
		line := strings.TrimRight(strings.Join(inLine(b.Text), " "), " \t")
		if words, ok := strings.CutSuffix(line, "#"); ok { // else it were a part of the mark
			line = words + `\#`
		}
		return []string{strings.Repeat("#", b.Level) + " " + line}
	case markdown.Quote:
		return prefixed(r.lines(b.Blocks, level+1, false), "> ", "> ")
	case markdown.Code:
		language := b.Language
		if b.Math {
			language = "math"
		}
		fence := strings.Repeat("`", max(3, longestRun(b.Text, '`')+1))
		return append(append([]string{fence + language}, strings.Split(richClean(b.Text), "\n")...), fence)
	case markdown.Table:
		return r.table(b)
	case markdown.Rule:
		return []string{"___"}
	}
	return nil
}

// paragraph ends each of its lines as one that is meant. A blank line in it parts it.
func (r *richer) paragraph(spans []markdown.Span) []string {
	lines := inLine(spans)
	for i, line := range lines {
		lines[i] = guarded(line)
		if i+1 < len(lines) && line != "" && strings.TrimSpace(lines[i+1]) != "" {
			lines[i] += "  "
		}
	}
	return lines
}

func (r *richer) list(l markdown.List, level int, mark string) []string {
	var out []string
	for i, item := range l.Items {
		r.blocks++
		if i > 0 && l.Loose {
			out = append(out, "")
		}
		inner := r.lines(boxed(item), level+2, !l.Loose)
		if item.Continued {
			out = append(append(out, inner...), "")
			continue
		}
		marker := mark + " "
		if l.Ordered {
			marker = strconv.Itoa(item.Number) + mark + " "
		}
		box := map[markdown.Task]string{markdown.TaskOpen: "[ ] ", markdown.TaskDone: "[x] "}[item.Task]
		if len(inner) == 0 {
			inner = []string{filler} // where nothing is, some parsers end all lists at the next blank line
		}
		inner[0] = box + inner[0]
		out = append(out, prefixed(inner, marker, strings.Repeat(" ", len(marker)))...)
	}
	return out
}

// filler is what stands where nothing is to be seen, and something has to be.
const filler = "\u200B"

// boxed are the blocks of an item: behind a box Markdown has nothing but a paragraph.
func boxed(item markdown.Item) []markdown.Block {
	if item.Task == markdown.NoTask || len(item.Blocks) == 0 {
		return item.Blocks
	}
	switch b := item.Blocks[0].(type) {
	case markdown.Paragraph:
		return item.Blocks
	case markdown.Heading:
		return append([]markdown.Block{markdown.Paragraph{Text: b.Text}}, item.Blocks[1:]...)
	}
	return append([]markdown.Block{markdown.Paragraph{Text: []markdown.Span{{Text: filler}}}}, item.Blocks...)
}

// prefixed puts first before the first line and rest before the others.
func prefixed(lines []string, first, rest string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		with := rest
		if i == 0 {
			with = first
		}
		if line == "" {
			with = strings.TrimRight(with, " ")
		}
		out[i] = with + line
	}
	return out
}

func (r *richer) table(t markdown.Table) []string {
	r.columns = max(r.columns, len(t.Head))
	row := func(cells []markdown.Cell) string {
		r.blocks++
		line := "|"
		for i := range t.Head {
			text := ""
			if i < len(cells) {
				text = strings.Join(inCell(cells[i]), " ")
			}
			line += " " + text + " |"
		}
		return line
	}
	rule := "|"
	for i := range t.Head {
		align := markdown.AlignNone
		if i < len(t.Align) {
			align = t.Align[i]
		}
		rule += map[markdown.Align]string{markdown.AlignNone: "---|", markdown.AlignLeft: ":--|", markdown.AlignCenter: ":-:|", markdown.AlignRight: "--:|"}[align]
	}
	out := []string{row(t.Head), rule}
	for _, cells := range t.Rows {
		out = append(out, row(cells))
	}
	return out
}

func longestRun(text string, of byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
