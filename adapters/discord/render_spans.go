package discord

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"dragoman/adapters/internal/markdown"
)

// spans writes running text with its looks and links.
func (w *writer) spans(spans []markdown.Span) {
	for len(spans) > 0 && !w.full {
		n := 1
		for spans[0].Link != "" && n < len(spans) && spans[n].Link == spans[0].Link {
			n++
		}
		if spans[0].Link == "" {
			w.span(spans[0], len(spans) > 1)
		} else {
			w.link(spans[:n])
		}
		spans = spans[n:]
	}
}

// span writes text of one look line by line. more: something follows the last.
func (w *writer) span(s markdown.Span, more bool) {
	text := strings.Map(markdown.CleanRune, s.Text)
	if most := 4 * (w.limit + 1); most < len(text) { // more than fits in any case
		text = strings.ToValidUTF8(text[:most], "")
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if w.full {
			return
		}
		if i > 0 {
			w.line()
		}
		if line == "" {
			continue
		}
		w.start()
		switch {
		case s.Style&markdown.Monospace != 0:
			w.code(line)
		default:
			w.looks(line, s.Style, more && i == len(lines)-1)
		}
	}
}

// looks writes a part of a line between the marks of its style. Blanks at its
// ends go outside: next to them a mark is none. more: the line goes on.
func (w *writer) looks(line string, style markdown.Style, more bool) {
	inner := strings.TrimFunc(line, blank)
	lead := line[:strings.Index(line, inner)]
	trail := line[len(lead)+len(inner):]
	w.raw(lead)
	if inner != "" {
		mark := markOf(style)
		w.mark(mark)
		w.raw(escape(inner, !w.words && mark == "", more && trail == "" && mark == ""))
		w.words = true
		if mark == "~~" && strings.HasSuffix(inner, "~") {
			w.raw(apart) // Discord ends it at two of them in a row, whatever is before
		}
		w.raw(reversed(mark))
		if mark != "" {
			w.closed = mark[0]
		}
	}
	if trail != "" {
		w.raw(trail)
	}
}

// blank is what Discord's clients take for white space.
func blank(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }

// mark opens a look. Next to the same mark of one that ended it would be read as
// one with it.
func (w *writer) mark(mark string) {
	if mark != "" && w.closed == mark[0] {
		w.raw(apart)
	}
	w.raw(mark)
}

func markOf(style markdown.Style) string {
	mark := ""
	if style&markdown.Strike != 0 {
		mark = "~~"
	}
	if style&markdown.Bold != 0 {
		mark += "**"
	}
	if style&markdown.Italic != 0 {
		mark += "*"
	}
	return mark
}

func reversed(mark string) string {
	if strings.HasPrefix(mark, "~~") {
		return mark[2:] + "~~"
	}
	return mark
}

// code writes letters between backticks. It takes no other look: marks around it
// would end at marks within. Three backticks would begin a fence.
func (w *writer) code(text string) {
	text = parted(text, 2)
	mark := "`"
	if strings.Contains(text, mark) {
		mark = "``"
		if text[0] == '`' || text[len(text)-1] == '`' {
			text = " " + text + " "
		}
	}
	w.mark(mark)
	w.raw(text + mark)
	w.closed, w.words = '`', true
}

// link writes a link of the web: as its address where it shows nothing else, with words
// where Discord takes them, and else with the address behind the words.
func (w *writer) link(spans []markdown.Span) {
	target := spans[0].Link
	label := strings.TrimSpace(markdown.Plain(spans))
	if shows(label, target) {
		w.start()
		w.raw("<" + label + ">")
		w.words = true
		return
	}
	if _, rest, _ := strings.Cut(target, "://"); label != "" && !strings.ContainsAny(label, "<> \n") && (label == rest || label+"/" == rest) { // Discord links what has a scheme
		w.start()
		w.raw("<" + target + ">")
		w.words = true
		return
	}
	masked := !strings.ContainsAny(label, "[]\n") && !urlLike.MatchString(label)
	if masked {
		w.start()
		w.raw("[")
		w.words = true
	}
	for i, s := range spans {
		s.Link = ""
		w.span(s, i+1 < len(spans))
	}
	if masked {
		w.raw("](<" + inert.Replace(target) + ">)")
	} else {
		w.raw(" (<" + inert.Replace(target) + ">)")
	}
}

// unlinked makes text of links that Discord has none for, and of those to very long
// addresses.
func unlinked(spans []markdown.Span) []markdown.Span {
	var out []markdown.Span
	label := ""
	for i, s := range spans {
		target := s.Link
		if target == "" || isWeb(target) && len(inert.Replace(target)) <= maxAddress {
			out = append(out, s)
			continue
		}
		label += s.Text
		s.Link = ""
		out = append(out, s)
		if i+1 < len(spans) && spans[i+1].Link == target {
			continue
		}
		if address := addressOf(target); !shows(label, target) && (isWeb(target) || !strings.Contains(label, address)) {
			out = append(out, markdown.Span{Text: " (" + address + ")"})
		}
		label = ""
	}
	return out
}

// urlLike labels make Discord show a link as it is written: they could lie.
var urlLike = regexp.MustCompile(`(?i)[a-z]://|www\.|discord\.gg`)

// inert characters of an address end no link and no look around it.
var inert = strings.NewReplacer("(", "%28", ")", "%29", "*", "%2A", "~", "%7E", "|", "%7C", "`", "%60", `\`, "%5C", "<", "%3C", ">", "%3E")

func isWeb(target string) bool { return strings.HasPrefix(strings.ToLower(target), "http") }

// shows reports whether a label is the address that it links to.
func shows(label, target string) bool {
	if label == target {
		return !strings.ContainsAny(label, "<> \n")
	}
	if strings.ContainsAny(label, "<> \n") || !strings.HasPrefix(strings.ToLower(label), "http") {
		return false
	}
	a, err := url.PathUnescape(label)
	if err != nil {
		return false
	}
	b, err := url.PathUnescape(target)
	return err == nil && a == b
}

// addressOf is what a mailto or tel link goes to, else the link.
func addressOf(link string) string {
	for _, scheme := range []string{"mailto:", "tel:"} {
		if len(link) > len(scheme) && strings.EqualFold(link[:len(scheme)], scheme) {
			return link[len(scheme):]
		}
	}
	return link
}

var (
	// A blank behind a mark may be written apart, as may be what ends the line.
	blockMark = regexp.MustCompile(`^ *(?:#{1,3}(?: |$)|>|-#?(?: |$))`)
	number    = regexp.MustCompile(`^ *[0-9]+\.(?: |$)`)
)

// escape takes from literal text what Discord would read as markup. first: it is
// the first of its line. more: something with another look follows at once.
func escape(text string, first, more bool) string {
	var b strings.Builder
	if first {
		if at := blockMark.FindString(text); at != "" {
			n := len(at) - len(strings.TrimLeft(at, " "))
			b.WriteString(text[:n] + `\` + text[n:n+1])
			text = text[n+1:]
		} else if at := number.FindString(text); at != "" {
			n := strings.IndexByte(at, '.')
			b.WriteString(text[:n] + `\.`)
			text = text[n+1:]
		}
	}
	e := escaper{text: text, more: more, stop: -1}
	for i := 0; i < len(text); i++ {
		if e.special(i) {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// escaper looks ahead in text, over each part of it once.
type escaper struct {
	text   string
	more   bool // marks follow the text at once
	end    int  // of the address that was seen last
	marked bool // it has marks in it
	stop   int  // what was seen to end the inside of angle brackets, -1 before
}

// special reports whether the byte at i would be read as markup.
func (e *escaper) special(i int) bool {
	text := e.text
	switch text[i] {
	case '*', '_', '~', '|', '`', '[':
		return true
	case '\\':
		return i+1 == len(text) || !isLetter(text[i+1]) && text[i+1] != ' '
	case ':': // an address is a link by itself, but not with escapes in it
		if !strings.HasPrefix(text[i:], "://") {
			return false
		}
		if i >= e.end {
			e.end = i + len(text[i:])
			if n := strings.IndexAny(text[i:], " \t<"); n >= 0 {
				e.end = i + n
			}
			e.marked = strings.ContainsAny(text[i:e.end], "*_~|`[\\")
			if e.end == len(text) {
				e.marked = e.marked || e.more
			} else if e.special(e.end) { // its escape would be a part of the address
				e.marked = true
			}
		}
		return e.marked
	case '<': // "<scheme:/" is a link, also where the scheme is but the escape of ':', or has a line end
		if e.stop <= i {
			e.stop = len(text)
			if n := strings.IndexAny(text[i:], ": >"); n >= 0 {
				e.stop = i + n
			}
		}
		return e.stop == len(text) || strings.HasPrefix(text[e.stop:], ":/")
	}
	return false
}

func isLetter(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
