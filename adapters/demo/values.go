package demo

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// message is what a person wrote, read for the words that say what to do and
// for the values that say with what.
type message struct {
	text   string
	words  []string
	first  string          // the first of them, if the message begins with it (after "please")
	hints  map[string]bool // words that need not be covered by a tool: guesses, and words of values
	values []value
}

// value is something in the text that an argument may take.
type value struct {
	text       string
	kind       valueKind
	lead       string // the word before it, lower case
	start, end int
}

type valueKind int

const (
	quoted valueKind = iota
	address
	glob
	file
	number
	proper // a capitalised name
	phrase // what follows a preposition
)

func (v value) overlaps(o value) bool { return v.start < o.end && o.start < v.end }

var (
	quotes  = regexp.MustCompile("\"([^\"\n]+)\"|“([^”\n]+)”|„([^“”\n]+)[“”]|«([^»\n]+)»|`([^`\n]+)`|(?:^|[\\s(=:])'([^'\n]+)'(?:$|[\\s).,;:!?])")
	token   = regexp.MustCompile(`\S+`)
	figure  = regexp.MustCompile(`^[-+]?\d+(\.\d+)?$`)
	suffix  = regexp.MustCompile(`^\.?[^\s.][^\s]*\.[A-Za-z][A-Za-z0-9]{0,5}$`)
	capital = regexp.MustCompile(`\p{Lu}[\p{L}\p{N}'’-]*(?:\s+\p{Lu}[\p{L}\p{N}'’-]*)*`)
	lead    = regexp.MustCompile(`(?i)\b(in|inside|of|for|at|from|about|on|to|into|named|called|titled)\s+`)
	stopAt  = regexp.MustCompile(`(?i)[?!,;\n]|\.(\s|$)|\s+(?:in|inside|of|for|at|from|about|on|to|into|with|and then|please|named|called)\s`)
	closer  = regexp.MustCompile(`(?i)[\s,]+(right now|now|today|tonight|tomorrow|please|currently|again|thanks)$`)
	opener  = regexp.MustCompile(`(?i)^(the|a|an|my|our|this|that|file|folder|directory|dir|city|town|country|time ?zone|zone|path|page|site|user|named|called)\s+`)
)

// idle are phrases that name nothing.
var idle = setOf(`me you us it them now moment today day once least all everything anything something here there this that`)

func readMessage(text string) message {
	m := message{text: text, hints: map[string]bool{}}
	m.findQuoted()
	m.findTokens()
	m.findNames()
	m.findPhrases()
	slices.SortStableFunc(m.values, func(a, b value) int { return cmp.Compare(a.start, b.start) })
	m.findWords()
	return m
}

// strong counts the values that a person would not name without a reason.
func (m *message) strong() int {
	n := 0
	for _, v := range m.values {
		if v.kind != number && v.lead != "to" {
			n++
		}
	}
	return n
}

// add takes a value unless a surer one covers the same text.
func (m *message) add(kind valueKind, start, end int) {
	for start < end && unicode.IsSpace(rune(m.text[start])) {
		start++
	}
	text := strings.TrimSpace(m.text[start:end])
	v := value{text: text, kind: kind, start: start, end: start + len(text)}
	if text == "" || slices.ContainsFunc(m.values, func(o value) bool { return o.overlaps(v) && o.kind != proper }) {
		return
	}
	if before := split(m.text[:start]); len(before) > 0 {
		v.lead = before[len(before)-1]
	}
	m.values = append(m.values, v)
}

func (m *message) findQuoted() {
	for _, at := range quotes.FindAllStringSubmatchIndex(m.text, -1) {
		for i := 2; i < len(at); i += 2 {
			if at[i] >= 0 {
				m.add(quoted, at[i], at[i+1])
			}
		}
	}
}

func (m *message) findTokens() {
	for _, at := range token.FindAllStringIndex(m.text, -1) {
		raw := m.text[at[0]:at[1]]
		if i := strings.LastIndexAny(raw, "=:"); i > 0 && i < len(raw)-1 && !strings.Contains(raw, "://") {
			at[0] += i + 1 // name=value
			raw = raw[i+1:]
		}
		t := strings.TrimRight(raw, ".,;:!?)%\"'’”")
		trimmed := strings.TrimLeft(t, "(\"'“")
		start := at[0] + len(t) - len(trimmed)
		if kind, ok := kindOfToken(trimmed); ok {
			m.add(kind, start, start+len(trimmed))
		}
	}
}

func kindOfToken(t string) (valueKind, bool) {
	lower := strings.ToLower(t)
	switch {
	case t == "":
		return 0, false
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"):
		return address, true
	case figure.MatchString(t):
		return number, true
	case strings.Contains(t, "*"):
		return glob, strings.ContainsAny(t, "./") || len(t) > 1
	case lower == "and/or", lower == "e.g", lower == "i.e":
		return 0, false
	case strings.Contains(t, "@") && suffix.MatchString(t):
		return proper, true
	case suffix.MatchString(t), strings.Contains(t, "/") && len(t) > 1, strings.HasPrefix(t, "~"), t == "/":
		return file, true
	}
	return 0, false
}

// findNames finds capitalised words, those that begin a sentence left out.
func (m *message) findNames() {
	for _, at := range capital.FindAllStringIndex(m.text, -1) {
		name := m.text[at[0]:at[1]]
		before := strings.TrimRight(m.text[:at[0]], " \t")
		if before == "" || strings.ContainsAny(before[len(before)-1:], ".!?\n") {
			_, rest, ok := strings.Cut(name, " ")
			if !ok {
				continue
			}
			at[0] += len(name) - len(rest)
			name = rest
		}
		if name != "I" && !strings.HasPrefix(name, "I'") {
			m.add(proper, at[0], at[1])
		}
	}
}

// findPhrases finds what prepositions lead to, up to the next one.
func (m *message) findPhrases() {
	for _, at := range lead.FindAllStringSubmatchIndex(m.text, -1) {
		start, end := at[1], len(m.text)
		if stop := stopAt.FindStringIndex(m.text[start:] + " "); stop != nil {
			end = min(end, start+stop[0])
		}
		for {
			article := opener.FindStringIndex(m.text[start:end])
			if article == nil {
				break
			}
			start += article[1]
		}
		for {
			adverb := closer.FindStringIndex(m.text[start:end])
			if adverb == nil {
				break
			}
			end = start + adverb[0]
		}
		said := split(m.text[start:end])
		if len(said) == 0 || !slices.ContainsFunc(said, func(w string) bool { return !idle[w] && !stopWords[w] }) {
			continue
		}
		before := len(m.values)
		if m.add(phrase, start, end); len(m.values) > before {
			m.values[before].lead = strings.ToLower(m.text[at[2]:at[3]])
		}
	}
}

// findWords reads the words outside of values, and what the values hint at: a
// file name speaks of files, its ending of what is in it.
func (m *message) findWords() {
	outside := []byte(m.text)
	var inside []string
	for _, v := range m.values {
		switch v.kind {
		case phrase:
			inside = append(inside, words(v.text)...)
		case file, quoted:
			if held := content(v.text); held != "" || v.kind == file {
				inside = append(inside, words("file "+held)...)
			}
		case address:
			inside = append(inside, words("url web page")...)
		case glob:
			inside = append(inside, words("file pattern")...)
		}
		for i := v.start; i < v.end; i++ {
			outside[i] = ' '
		}
	}
	for _, w := range split(m.text) {
		if w != "please" {
			m.first = stem(w)
			break
		}
	}
	seen := map[string]bool{}
	for _, w := range words(string(outside)) {
		if !seen[w] {
			seen[w] = true
			m.words = append(m.words, w)
		}
	}
	for _, w := range inside {
		if !seen[w] {
			seen[w], m.hints[w] = true, true
			m.words = append(m.words, w)
		}
	}
}

// content says in a word what a file of this name holds.
func content(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".txt", ".md", ".json", ".csv", ".log", ".xml", ".yaml", ".yml", ".toml", ".ini", ".html", ".go", ".py", ".js", ".ts", ".sh":
		return "text"
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg":
		return "image media"
	case ".mp3", ".wav", ".ogg", ".flac":
		return "audio media"
	}
	return ""
}
