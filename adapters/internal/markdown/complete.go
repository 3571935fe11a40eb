package markdown

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// more ends a text that goes on.
const more = " …"

// Complete closes what is open at the end of a text in the making, so that it
// shows as it will: code, emphasis and links in the words that are written last.
// What just begins, and an address that is not there in full, is left out. An
// ellipsis at the end stays there. A whole text is better left alone.
func Complete(text string) string {
	if len(text) > maxBytes {
		return text
	}
	body := strings.TrimRight(strings.TrimSuffix(text, more), " \t\n")
	tail := text[len(body):]
	if strings.HasSuffix(text, more) {
		tail = more
	}
	start, fence := lastBlock(body)
	switch {
	case fence == "":
		whole := body[:start] + completed(body[start:])
		if _, fence := lastBlock(whole); fence != "" { // what was left out kept it from being one
			return text
		}
		if tail == more && (strings.HasSuffix(whole, "$$") || strings.HasSuffix(whole, `\]`)) { // a formula ends its line
			tail = "\n" + strings.TrimSpace(more)
		}
		return whole + tail
	case fence == inContainer || tail != more:
		return text
	case strings.HasSuffix(body, fence): // nothing of it is there
		return strings.TrimRight(body[:len(body)-len(fence)], " \t\n") + tail
	}
	return body + "\n" + fence + "\n" + strings.TrimSpace(more)
}

// inContainer is a fence in a list or a quote: a line cannot close it alone.
const inContainer = "-"

// lastBlock is where the running text begins that text ends with, or the fence
// that is open there.
func lastBlock(text string) (start int, fence string) {
	mark, at, formula := "", 0, false
	for line := range strings.Lines(text) {
		body, nested := inside(line)
		now := fenceMark(body)
		switch {
		case mark != "":
			if closes(body, now, mark) {
				mark, start = "", at+len(line)
			}
		case now != "":
			mark, fence = now, now
			if nested > 0 || line[0] == ' ' || line[0] == '\t' {
				fence = inContainer
			}
		case body == "":
			start, formula = at+len(line), false
		case formula: // no line of it begins a block
		case nested > 0, body[0] == '#':
			start = at + len(line) - len(strings.TrimLeft(line, " \t>-+*0123456789.)#"))
			if rest := strings.TrimSpace(line); strings.HasSuffix(rest, body) { // the mark may be all there is
				start = at + strings.LastIndex(line, body)
			}
		case body[0] == '|':
			start = at + strings.LastIndexByte(line, '|') + 1
		}
		if mark == "" && strings.Count(line, "$$")%2 == 1 {
			formula = !formula
		}
		at += len(line)
	}
	if mark == "" {
		return min(start, len(text)), ""
	}
	return 0, fence
}

// delimiter is emphasis that is open.
type delimiter struct {
	char  byte
	count int
	end   int // of what opened it
}

// completed closes what is open in running text.
func completed(s string) string {
	var open []delimiter
	brackets := []int{}
	for i := 0; i < len(s); {
		n := 1
		switch s[i] {
		case '\\':
			n = min(2, len(s)-i)
		case '`':
			n = run(s, i)
			end := codeEnd(s, i+n, n)
			if end < 0 {
				return unclosedCode(s, i, n, open)
			}
			n = end - i
		case '$': // nothing in a formula is markup
			if rest, ok := strings.CutPrefix(s[i:], "$$"); ok {
				if end := strings.Index(rest, "$$"); end >= 0 {
					n = len("$$") + end + len("$$")
				}
			}
		case '[':
			brackets = append(brackets, i)
		case ']':
			if len(brackets) == 0 {
				break
			}
			from := brackets[len(brackets)-1]
			brackets = brackets[:len(brackets)-1]
			if i+1 == len(s) || s[i+1] != '(' {
				break
			}
			end := strings.IndexByte(s[i:], ')')
			if end < 0 {
				return closedBy(strings.TrimSuffix(s[:from], "!")+s[from+1:i], open)
			}
			n = end + 1
		case '*', '_', '~':
			n = run(s, i)
			if i+n == len(s) && !closesAny(s, i, open) {
				return closedBy(strings.TrimRight(s[:i], " \n"), open)
			}
			open = emphasis(s, i, n, open)
		default:
			_, n = utf8.DecodeRuneInString(s[i:])
		}
		i += n
	}
	return closedBy(s, open)
}

// run is how often the byte at i stands there in a row.
func run(s string, i int) int {
	n := 1
	for i+n < len(s) && s[i+n] == s[i] {
		n++
	}
	return n
}

// codeEnd is behind the next run of n backticks, -1 if there is none.
func codeEnd(s string, from, n int) int {
	for i := from; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		k := run(s, i)
		if k == n {
			return i + n
		}
		i += k - 1
	}
	return -1
}

func unclosedCode(s string, at, n int, open []delimiter) string {
	content := strings.TrimRight(s[at+n:], "`") // a part of what closes it, maybe
	if strings.TrimSpace(content) == "" {
		return closedBy(strings.TrimRight(s[:at], " \n"), open)
	}
	return closedBy(s[:at+n]+content+strings.Repeat("`", n), open)
}

// closedBy ends emphasis where its words end.
func closedBy(s string, open []delimiter) string {
	for _, d := range slices.Backward(open) {
		mark := strings.Repeat(string(d.char), d.count)
		if len(s) > d.end {
			s += mark
			continue
		}
		s = strings.TrimRight(s[:len(s)-len(mark)], " \n") // nothing of it is there
	}
	return s
}

// closesAny reports whether the delimiters at i end emphasis that is open.
func closesAny(s string, i int, open []delimiter) bool {
	return i > 0 && !unicode.IsSpace(before(s, i)) &&
		slices.ContainsFunc(open, func(d delimiter) bool { return d.char == s[i] })
}

// emphasis takes n delimiters at i into account.
// (https://spec.commonmark.org/0.31.2/#left-flanking-delimiter-run, roughly.)
func emphasis(s string, i, n int, open []delimiter) []delimiter {
	char := s[i]
	after := ' '
	if i+n < len(s) {
		after, _ = utf8.DecodeRuneInString(s[i+n:])
	}
	prev := before(s, i)
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	inWord := char == '_' && word(prev) && word(after)
	for n > 0 && !unicode.IsSpace(prev) && !inWord {
		k := -1
		for j, d := range open {
			if d.char == char {
				k = j
			}
		}
		if k < 0 {
			break
		}
		took := min(n, open[k].count)
		n -= took
		open = open[:k+1]
		if open[k].count -= took; open[k].count == 0 {
			open = open[:k]
		}
	}
	punctuation := unicode.IsPunct(after) || unicode.IsSymbol(after)
	opens := !unicode.IsSpace(after) && (!punctuation || unicode.IsSpace(prev) || unicode.IsPunct(prev))
	if n == 0 || n > 3 || !opens || word(prev) { // in a word it is rather a product
		return open
	}
	return append(open, delimiter{char, n, i + run(s, i)})
}

// before is the rune before i, a space at the start.
func before(s string, i int) rune {
	if i == 0 {
		return ' '
	}
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return r
}
