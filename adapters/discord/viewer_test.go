package discord

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/adapters/internal/markdown"
)

// viewer reads Discord's dialect as its clients do, by the rules that the
// library simple-markdown, which they use, and its public ports give. It is kept
// apart from the renderer: it knows nothing of what was meant.
type viewer struct {
	seen []seenRune
}

// seenRune is a character as a person sees it.
type seenRune struct {
	r    rune
	look look
}

type look struct {
	style   markdown.Style
	link    string
	angled  bool // the link, between angle brackets
	heading bool
	quote   bool
	fence   bool
}

func view(text string) []seenRune {
	var v viewer
	v.read(text, look{}, true)
	return v.seen
}

var (
	viewQuote   = regexp.MustCompile(`^(?: *>>> [\s\S]*|(?: *> [^\n]*(?:\n *> [^\n]*)*\n?))`)
	viewFence   = regexp.MustCompile("^```(?i:([a-z0-9_+\\-.#]+)\n+)?\n*([\\s\\S]+?)\n*```")
	viewHeading = regexp.MustCompile(`^(?:#{1,3}|-#) +([^\n]+)(?:\n|$)`)
	viewItem    = regexp.MustCompile(`^ *(?:[-*]|[0-9]+\.) +`)
	viewEscape  = regexp.MustCompile(`^\\[^0-9A-Za-z\s]`)
	viewAngle   = regexp.MustCompile(`^<([^: >]+:/[^ >]+)>`)
	viewURL     = regexp.MustCompile(`^https?://[^\s<]+[^<.,:;"')\]\s]`)
	viewLink    = regexp.MustCompile(`^\[((?:\[[^\]]*\]|[^\[\]])*)\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?\s*\)`)
	viewSpoiler = regexp.MustCompile(`^\|\|([\s\S]+?)\|\|`)
	viewStrike  = regexp.MustCompile(`^~~([\s\S]+?)~~(?:[^_]|$)`)
	viewMention = regexp.MustCompile(`^<(?:@[!&]?|#|a?:\w+:)[0-9]+>`)
)

func (v *viewer) read(s string, at look, start bool) {
	for s != "" {
		n := 0
		if start {
			n = v.block(s, at)
		}
		if n == 0 {
			n = v.inline(s, at)
		}
		if n == 0 {
			r, size := utf8.DecodeRuneInString(s)
			v.seen = append(v.seen, seenRune{r, at})
			n = size
		}
		start = s[n-1] == '\n'
		s = s[n:]
	}
}

// block reads what stands at the start of a line, and returns how much it took.
func (v *viewer) block(s string, at look) int {
	if q := viewQuote.FindString(s); q != "" && !at.quote {
		in := at
		in.quote = true
		v.read(regexp.MustCompile(`(?m)^ *>(?:>>)? ?`).ReplaceAllString(q, ""), in, true)
		return len(q)
	}
	if h := viewHeading.FindStringSubmatch(s); h != nil {
		in := at
		in.heading = true
		v.read(h[1], in, false)
		v.literal(h[0][len(strings.TrimSuffix(h[0], "\n")):], at)
		return len(h[0])
	}
	if item := viewItem.FindString(s); item != "" {
		for _, r := range item {
			v.seen = append(v.seen, seenRune{r, at})
		}
		// What stands behind the marker may be a block again.
		if n := v.block(s[len(item):], at); n > 0 {
			return len(item) + n
		}
		return len(item)
	}
	return 0
}

func (v *viewer) inline(s string, at look) int {
	if f := viewFence.FindStringSubmatch(s); f != nil {
		in := at
		in.fence = true
		v.literal(f[2], in)
		return len(f[0])
	}
	switch s[0] {
	case '\\':
		if e := viewEscape.FindString(s); e != "" {
			v.literal(e[1:], at)
			return len(e)
		}
	case '<':
		if m := viewMention.FindString(s); m != "" {
			v.literal(m, at)
			return len(m)
		}
		if a := viewAngle.FindStringSubmatch(s); a != nil {
			in := at
			in.link, in.angled = a[1], true
			v.literal(a[1], in)
			return len(a[0])
		}
	case 'h':
		if u := viewURL.FindString(s); u != "" {
			in := at
			in.link = u
			v.literal(u, in)
			return len(u)
		}
	case '[':
		if l := viewLink.FindStringSubmatch(s); l != nil && !urlLike.MatchString(l[1]) {
			in := at
			in.link = l[2]
			v.read(l[1], in, false)
			return len(l[0])
		}
	case '*', '_':
		return v.emphasis(s, at)
	case '~':
		if d := viewStrike.FindStringSubmatch(s); d != nil {
			return v.inner(d[1], at, markdown.Strike, len(d[1])+4)
		}
	case '|':
		if d := viewSpoiler.FindStringSubmatch(s); d != nil {
			return v.inner("SPOILER"+d[1], at, 0, len(d[0])) // nothing of ours is one
		}
	case '`':
		return v.code(s, at)
	}
	return 0
}

func (v *viewer) literal(s string, at look) {
	for _, r := range s {
		v.seen = append(v.seen, seenRune{r, at})
	}
}

func (v *viewer) inner(s string, at look, style markdown.Style, n int) int {
	at.style |= style
	v.read(s, at, false)
	return n
}

// code is /^(`+)([\s\S]*?[^`])\1(?!`)/.
func (v *viewer) code(s string, at look) int {
	n := len(s) - len(strings.TrimLeft(s, "`"))
	mark := s[:n]
	for i := n + 1; i+n <= len(s); i++ {
		if s[i:i+n] != mark || s[i-1] == '`' || i+n < len(s) && s[i+n] == '`' {
			continue
		}
		text := s[n:i]
		if strings.HasPrefix(strings.TrimLeft(text, " "), "`") {
			text = strings.TrimPrefix(text, " ")
		}
		if strings.HasSuffix(strings.TrimRight(text, " "), "`") {
			text = strings.TrimSuffix(text, " ")
		}
		at.style |= markdown.Monospace
		v.literal(text, at)
		return i + n
	}
	return 0
}

// emphasis takes the longest of italic, bold and underline; italic wins a tie.
func (v *viewer) emphasis(s string, at look) int {
	italic, strong, under := italicEnd(s), doubleEnd(s, "**"), doubleEnd(s, "__")
	switch {
	case italic > 0 && italic >= strong && italic >= under:
		return v.inner(s[1:italic-1], at, markdown.Italic, italic)
	case strong > 0 && strong >= under:
		return v.inner(s[2:strong-2], at, markdown.Bold, strong)
	case under > 0:
		return v.inner("UNDERLINE"+s[2:under-2], at, 0, under) // nothing of ours is
	}
	return 0
}

// doubleEnd is /^\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)/, the end of it.
func doubleEnd(s, mark string) int {
	if !strings.HasPrefix(s, mark) {
		return 0
	}
	for i := 2; i < len(s); i++ {
		if i > 2 && strings.HasPrefix(s[i:], mark) && (i+2 == len(s) || s[i+2] != mark[0]) {
			return i + 2
		}
		if s[i] == '\\' {
			i++
		}
	}
	return 0
}

// blankAt is the length of the character at i if it is a \s of JavaScript's, else 0.
func blankAt(s string, i int) int {
	r, n := utf8.DecodeRuneInString(s[min(i, len(s)):])
	if unicode.IsSpace(r) && r != '\u0085' || r == '\uFEFF' {
		return n
	}
	return 0
}

// italicEnd is the end of
// /^\b_((?:__|\\[\s\S]|[^\\_])+?)_\b|^\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s\*\\]|\*\*)|[^\s\*\\])+?)\*(?!\*)/.
func italicEnd(s string) int {
	mark := s[0]
	if len(s) < 3 || mark == '*' && blankAt(s, 1) > 0 {
		return 0
	}
	closes := func(i int) bool {
		if i <= 1 || s[i] != mark {
			return false
		}
		next := byte(' ')
		if i+1 < len(s) {
			next = s[i+1]
		}
		if mark == '_' {
			return next != '_' && !isLetter(next)
		}
		return next != '*'
	}
	for i := 1; i < len(s); {
		switch {
		case closes(i):
			return i + 1
		case s[i] == '\\':
			i += 2
		case s[i] == mark && i+1 < len(s) && s[i+1] == mark:
			i += 2
		case s[i] == mark:
			return 0
		case mark == '*' && blankAt(s, i) > 0:
			for blankAt(s, i) > 0 {
				i += blankAt(s, i)
			}
			if i < len(s) && s[i] == '*' && !strings.HasPrefix(s[i:], "**") {
				return 0
			}
		default:
			i++
		}
	}
	return 0
}
