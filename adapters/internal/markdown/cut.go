package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCluster bounds, in runes, how far a cut goes back to leave a character as
// people see it whole. Longer ones are no writing.
const maxCluster = 64

// cutSpans divides running text at a line, else a word, else a character. The
// white space at the cut goes. What ends there may take a little more room than it
// did with more behind it: then the cut goes back further.
func cutSpans(spans []Span, fits func([]Span) bool) (head, tail []Span, ok bool) {
	total := 0
	for _, s := range spans {
		total += len(s.Text)
	}
	at := most(total, func(n int) bool { return fits(prefix(spans, n)) })
	if at == 0 {
		return nil, spans, false
	}
	// The rune after the cut tells whether it falls between words.
	text := Plain(prefix(spans, min(total, at+4*utf8.UTFMax)))
	if at = wordBreak(text, at, at/2); at == 0 {
		return nil, spans, false
	}
	for at = beforeAddress(spans, at); at > 0; at = wordBreak(text, at*3/4, at/2) {
		if head = trimRight(prefix(spans, at)); fits(head) {
			return head, trimLeft(suffix(spans, at)), true
		}
	}
	return nil, spans, false
}

// beforeAddress moves a cut out of a link that shows no words to cut between,
// unless there is nothing before it.
func beforeAddress(spans []Span, at int) int {
	from := 0
	for i := 0; i < len(spans) && from < at; {
		n, size, blank := i, 0, false
		for ; n < len(spans) && (n == i || spans[n].Link != "" && spans[n].Link == spans[i].Link); n++ {
			size += len(spans[n].Text)
			blank = blank || strings.ContainsFunc(spans[n].Text, unicode.IsSpace)
		}
		if spans[i].Link != "" && !blank && from > 0 && at < from+size {
			return from
		}
		i, from = n, from+size
	}
	return at
}

// cutCode divides code at a line, else after a space, else at a character. Only
// the line end at the cut goes.
func cutCode(text string, fits func(string) bool) (head, tail string, ok bool) {
	at := most(len(text), func(n int) bool { return fits(text[:runeStart(text, n)]) })
	at = runeStart(text, at)
	if at == 0 {
		return "", text, false
	}
	if text[at:] != "" && text[at] == '\n' {
		return text[:at], text[at+1:], true
	}
	if line := strings.LastIndexByte(text[:at], '\n'); line > 0 {
		return text[:line], text[line+1:], true
	}
	if space := strings.LastIndexByte(text[:at], ' '); space >= at/2 {
		return text[:space+1], text[space+1:], true
	}
	at = characterStart(text, at)
	return text[:at], text[at:], at > 0
}

// wordBreak is the best place for a cut at or before at: a line end, the end of a
// sentence or a space not before least, else between characters.
func wordBreak(text string, at, least int) int {
	at = runeStart(text, at)
	next, _ := utf8.DecodeRuneInString(text[at:])
	if next == '\n' {
		return at
	}
	if i := strings.LastIndexByte(text[:at], '\n'); i > least {
		return i
	}
	if i := sentenceEnd(text, at, max(least, at/4*3)); i > 0 {
		return i
	}
	if at < len(text) && unicode.IsSpace(next) {
		return at
	}
	if i := strings.LastIndexFunc(text[:at], unicode.IsSpace); i > least {
		return i
	}
	return characterStart(text, at)
}

// sentenceEnd is the last end of a sentence at or before at and behind least, 0 if there
// is none.
func sentenceEnd(text string, at, least int) int {
	for i := at; i > least; {
		before, n := utf8.DecodeLastRuneInString(text[:i])
		next, _ := utf8.DecodeRuneInString(text[i:])
		switch before {
		case '.', '!', '?', '…':
			if unicode.IsSpace(next) {
				return i
			}
		case '。', '！', '？':
			if i < len(text) && !unicode.IsPunct(next) && between(text, i) {
				return i
			}
		}
		i -= n
	}
	return 0
}

// runeStart is the last start of a rune at or before at.
func runeStart(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// characterStart is the last place at or before at that is not inside of what
// people see as one character; at itself if that is too far back.
func characterStart(text string, at int) int {
	back := at
	for range maxCluster {
		if between(text, back) {
			return back
		}
		_, n := utf8.DecodeLastRuneInString(text[:back])
		back -= n
	}
	return at
}

// between reports whether a cut parts no character: an approximation of
// https://www.unicode.org/reports/tr29/ that holds for marks, emoji and flags.
func between(text string, at int) bool {
	if at <= 0 || at >= len(text) {
		return at == len(text)
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	switch {
	case before == zwj, extends(after):
		return false
	case isFlag(before) && isFlag(after):
		n := 0
		for rest := text[:at]; n <= maxCluster; n++ {
			r, size := utf8.DecodeLastRuneInString(rest)
			if !isFlag(r) {
				break
			}
			rest = rest[:len(rest)-size]
		}
		return n%2 == 0
	}
	return true
}

const zwj = '\u200D' // joins emoji

// extends: the rune belongs to the one before.
func extends(r rune) bool {
	switch {
	case r == zwj, r >= 0x1F3FB && r <= 0x1F3FF, r >= 0xE0020 && r <= 0xE007F, r >= 0x1160 && r <= 0x11FF:
		return true // skin tones, tags, the later parts of a Hangul syllable
	}
	return unicode.In(r, unicode.M)
}

// isFlag: half of a flag.
func isFlag(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// prefix is the first n bytes of spans, rounded down to a rune.
func prefix(spans []Span, n int) []Span {
	for i, s := range spans {
		if n >= len(s.Text) {
			n -= len(s.Text)
			continue
		}
		s.Text = s.Text[:runeStart(s.Text, n)]
		if s.Text == "" {
			return spans[:i:i]
		}
		return append(spans[:i:i], s)
	}
	return spans
}

// suffix is what prefix leaves.
func suffix(spans []Span, n int) []Span {
	for i, s := range spans {
		if n >= len(s.Text) {
			n -= len(s.Text)
			continue
		}
		s.Text = s.Text[runeStart(s.Text, n):]
		return append([]Span{s}, spans[i+1:]...)
	}
	return nil
}
