package demo

import (
	"strings"
	"unicode"
)

// words are the stems of what is said in a text, stop words left out. Names in
// camelCase and snake_case fall into their parts.
func words(text string) []string {
	var out []string
	for _, w := range split(text) {
		if s := stem(w); !stopWords[w] && s != "" {
			out = append(out, s)
		}
	}
	return out
}

// split gives the lower case words of a text, in order.
func split(text string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	var before rune
	for _, r := range text {
		switch {
		case !isWordRune(r):
			flush()
		case unicode.IsUpper(r) && unicode.IsLower(before):
			flush()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		before = r
	}
	flush()
	return out
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// stem brings the forms of an English word together: files and file, writing and
// write. It need not be right, only the same for both.
func stem(w string) string {
	switch n := len(w); {
	case n > 4 && strings.HasSuffix(w, "ies"):
		w = w[:n-3] + "y"
	case n > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:n-1]
	}
	switch n := len(w); {
	case n > 5 && strings.HasSuffix(w, "ing"):
		w = undouble(w[:n-3])
	case n > 4 && strings.HasSuffix(w, "ed"):
		w = undouble(w[:n-2])
	}
	if n := len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// undouble turns "stopp" into "stop".
func undouble(w string) string {
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiouls", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

var stopWords = setOf(`a an the this that these those some any all my your our their its his her me you i we they he she it us them
	is are was were be been am do does did has have had can could will would shall should may might must let lets s t re ll ve d m
	what which who whom whose when where why how there here
	in of for at to from on by with into onto as about and or but if then than so not no yes please kindly just now also too very
	want wants need needs like tell give know say says much many currently today up out only using use used via within`)

// alike are words that people use for what tools call otherwise, by stem.
var alike = func() map[string][]string {
	out := map[string][]string{}
	for word, others := range map[string]string{
		"show": "read list get", "open": "read", "display": "read get", "print": "read echo", "cat": "read", "view": "read get",
		"folder": "directory", "dir": "directory", "ls": "list directory", "remove": "delete", "erase": "delete", "rm": "delete",
		"find": "search", "look": "search get", "lookup": "search get", "grep": "search", "make": "create", "mkdir": "create directory",
		"save": "write", "store": "write", "put": "write", "rename": "move", "mv": "move", "change": "edit", "modify": "edit",
		"plus": "sum add", "add": "sum", "sum": "add", "total": "sum", "clock": "time", "time": "clock", "date": "time", "hour": "time",
		"fetch": "get", "download": "fetch get", "check": "get", "info": "information", "information": "info", "detail": "info",
		"repeat": "echo", "forecast": "weather", "temperature": "weather", "tree": "directory", "content": "read",
	} {
		out[stem(word)] = words(others)
	}
	return out
}()

func setOf(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}
