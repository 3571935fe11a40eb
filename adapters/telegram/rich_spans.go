package telegram

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/adapters/internal/markdown"
)

// inLine writes running text, line by line: a look ends with its line and begins again
// on the next.
func inLine(spans []markdown.Span) []string { return written(spans, false) }

// inCell is the same of a table's cell, where a pipe parts.
func inCell(spans []markdown.Span) []string { return written(spans, true) }

func written(spans []markdown.Span, cell bool) []string {
	lines := []string{""}
	for i := 0; i < len(spans); {
		n := i + 1
		for spans[i].Link != "" && n < len(spans) && spans[n].Link == spans[i].Link {
			n++
		}
		for at, part := range linesOf(spans[i:n]) {
			if at > 0 {
				lines = append(lines, "")
			}
			last := &lines[len(lines)-1]
			next := byte(' ')
			if n < len(spans) && spans[n].Text != "" {
				next = spans[n].Text[0]
			}
			*last += linked(*last, part, next, cell)
		}
		i = n
	}
	return lines
}

// linesOf parts spans at their line ends.
func linesOf(spans []markdown.Span) [][]markdown.Span {
	lines := [][]markdown.Span{nil}
	for _, s := range spans {
		for i, text := range strings.Split(richClean(s.Text), "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			if text != "" {
				s.Text = text
				lines[len(lines)-1] = append(lines[len(lines)-1], s)
			}
		}
	}
	return lines
}

// boxMarks stand between the brackets of a task's box.
var boxMarks = []string{" ", "x", "X"}

// linked writes spans of one link, or without any, that stand in one line.
func linked(before string, spans []markdown.Span, next byte, cell bool) string {
	if len(spans) == 0 {
		return ""
	}
	var b strings.Builder
	target := spans[0].Link
	label := markdown.Plain(spans)
	if target == "" || label == target && literal(label) == label {
		for _, s := range spans {
			b.WriteString(looked(before+b.String(), s, next, cell))
		}
		return b.String()
	}
	if strings.HasSuffix(before, "!") || strings.TrimSpace(before) == "" && slices.Contains(boxMarks, label) { // else it were a picture, or a box
		b.WriteString(filler)
	}
	b.WriteString("[")
	for _, s := range spans {
		s.Style &^= markdown.Math
		b.WriteString(looked(b.String(), s, ' ', cell))
	}
	b.WriteString("](" + inertLink.Replace(target) + ")")
	return b.String()
}

// inertLink takes from an address what would end it, or be read as markup all the same.
var inertLink = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `\`, "%5C", `"`, "%22", "'", "%27", "`", "%60", "|", "%7C", "$", "%24",
	"*", "%2A", "~", "%7E", "[", "%5B", "]", "%5D", " ", "%20", "&", "&amp;")

// looked writes text of one look.
func looked(before string, s markdown.Span, next byte, cell bool) string {
	var text string
	switch {
	case s.Style&markdown.Math != 0 && isFormula(before, s.Text, next, cell):
		text = "$" + strings.ReplaceAll(s.Text, "<", "< ") + "$"
	case s.Style&markdown.Monospace != 0:
		text = codeSpan(s.Text, cell)
	default:
		text = literal(s.Text)
	}
	for _, l := range []struct {
		style markdown.Style
		tag   string
	}{{markdown.Strike, "s"}, {markdown.Italic, "i"}, {markdown.Bold, "b"}} {
		if s.Style&l.style != 0 {
			text = "<" + l.tag + ">" + text + "</" + l.tag + ">"
		}
	}
	if strings.HasSuffix(before, "`") && strings.HasPrefix(text, "`") { // else the two marks were one
		return filler + text
	}
	return text
}

// isFormula reports whether a formula can stand between dollars where it is.
func isFormula(before, text string, next byte, cell bool) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '$' || r == '\\' }
	return !strings.ContainsAny(text, "$`\n") && !(cell && strings.Contains(text, "|")) && !strings.HasSuffix(text, `\`) &&
		!word(last) && !word(rune(next)) && next < utf8.RuneSelf && strings.TrimSpace(text) == text
}

// codeSpan writes letters between backticks.
func codeSpan(text string, cell bool) string {
	mark := strings.Repeat("`", longestRun(text, '`')+1)
	if cell {
		text = strings.ReplaceAll(text, "|", `\|`)
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.TrimSpace(text) != text && strings.TrimSpace(text) != "" {
		text = " " + text + " "
	}
	return mark + text + mark
}

var (
	// A reference to a character stands for itself only if its ampersand is one.
	characterReference = regexp.MustCompile(`&(#?[0-9A-Za-z]+;)`)
	// Twice in a row it marks.
	equals = regexp.MustCompile(`={2,}`)
	// What begins a block at the start of a line.
	blockStart = regexp.MustCompile(`^(?:[-+#>=:]|[0-9]+[.)])`)
)

// literal takes from text what would be read as markup. A backslash does not keep a
// tag from being one: it takes a reference.
func literal(text string) string {
	text = characterReference.ReplaceAllString(text, "&amp;$1")
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '\\', '`', '*', '_', '~', '[', ']', '|', '$':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '<':
			b.WriteString("&lt;")
		default:
			b.WriteRune(r)
		}
	}
	return equals.ReplaceAllStringFunc(b.String(), func(run string) string { return strings.Repeat(`\=`, len(run)) })
}

// guarded is a line of running text that begins no block.
func guarded(line string) string {
	text := strings.TrimLeft(line, " \t")
	if mark := blockStart.FindString(text); mark != "" {
		text = mark[:len(mark)-1] + `\` + text[len(mark)-1:]
	}
	return strings.TrimRight(text, " \t")
}

// richClean is text without what Telegram drops or refuses.
func richClean(text string) string { return strings.Map(markdown.CleanRune, text) }
