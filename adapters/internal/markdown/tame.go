package markdown

import "strings"

// Limits under which parsing and cleaning take well below a second. The parser
// takes quadratic time over the delimiters of one paragraph and over nested
// containers, and a table's short rows are filled up to its full width.
const (
	maxBytes  = 128 << 10
	maxMarks  = 4000   // delimiters in one paragraph
	maxNested = 24     // containers opened by one line
	maxCells  = 20_000 // of all tables
)

// tame reports whether text can be parsed in good time. It looks at paragraphs
// as runs of lines that are not blank, and takes what is in a fence as it is.
func tame(text string) bool {
	if len(text) > maxBytes {
		return false
	}
	var fence string
	var p paragraph
	cells := 0
	for line := range strings.Lines(text) {
		body, nested := inside(line)
		if nested > maxNested {
			return false
		}
		mark := fenceMark(body)
		switch {
		case fence != "":
			if closes(body, mark, fence) {
				fence = ""
			}
			continue
		case mark != "":
			fence = mark
			p = paragraph{}
			continue
		case body == "":
			p = paragraph{}
			continue
		}
		p.add(body)
		if cells += p.columns; cells > maxCells || p.marks > maxMarks {
			return false
		}
	}
	return true
}

// paragraph counts what makes a run of lines slow.
type paragraph struct {
	marks, columns int
}

func (p *paragraph) add(line string) {
	for i := range len(line) {
		switch line[i] {
		case '*', '_', '~', '[', ']', '!', '<', '`':
			p.marks++
		}
	}
	if strings.Trim(line, "|-: \t") == "" {
		p.columns = max(p.columns, strings.Count(line, "|")+1)
	}
}

// inside strips the markers of block quotes and list items off a line, and
// counts them.
func inside(line string) (body string, nested int) {
	line = strings.TrimSpace(line)
	for line != "" {
		rest, ok := afterMarker(line)
		if !ok {
			break
		}
		nested++
		line = strings.TrimLeft(rest, " \t")
	}
	return line, nested
}

func afterMarker(line string) (string, bool) {
	switch line[0] {
	case '>':
		return line[1:], true
	case '-', '*', '+':
		return line[1:], len(line) == 1 || line[1] == ' ' || line[1] == '\t'
	}
	digits := 0
	for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits == len(line) || line[digits] != '.' && line[digits] != ')' {
		return line, false
	}
	rest := line[digits+1:]
	return rest, rest == "" || rest[0] == ' ' || rest[0] == '\t'
}

// fenceMark is the run of backticks or tildes that opens or closes a fence.
func fenceMark(body string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(body) - len(strings.TrimLeft(body, c)); n >= 3 {
			if c == "`" && strings.Contains(body[n:], "`") {
				return ""
			}
			return body[:n]
		}
	}
	return ""
}

func closes(body, mark, fence string) bool {
	return mark != "" && mark == body && mark[0] == fence[0] && len(mark) >= len(fence)
}
