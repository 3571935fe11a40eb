package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	maxBytes = 4 << 20 // of a config file
	maxDepth = 64      // of brackets in it: the parser is recursive
)

// parse reads the text's syntax. Its faults never quote the text: what cannot be
// parsed may be a secret.
func (d *document) parse() (hujson.Value, *Fault) {
	if at := invalidUTF8(d.text); at >= 0 {
		return hujson.Value{}, d.syntax(at, "is not text (must be UTF-8)")
	}
	open := brackets(d.text)
	if len(open) > maxDepth {
		return hujson.Value{}, d.syntax(open[maxDepth], "is nested more than %d levels deep", maxDepth)
	}
	// hujson wants a line end after a comment that begins with //, also after the last.
	root, err := hujson.Parse(append(slices.Clone(d.text), '\n'))
	if err == nil {
		return root, nil
	}
	at := d.parserOffset(err)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return root, d.cutOff(at, err, open)
	}
	return root, d.syntax(at, "%s", d.wording(at, err))
}

func (d *document) syntax(at int, format string, args ...any) *Fault {
	f := d.fault(at, "", format, args...)
	return &f
}

// parserOffset takes the position out of the parser's message, which is the
// only place where it stands.
func (d *document) parserOffset(err error) int {
	var line, col int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &col); scanErr != nil {
		return 0
	}
	if line > len(d.lines) {
		return len(d.text)
	}
	return d.lines[line-1] + col - 1
}

// cutOff words the end of a file inside something. open are the brackets that wait to be closed.
func (d *document) cutOff(at int, err error, open []int) *Fault {
	reason := err.Error()
	switch {
	case strings.HasSuffix(reason, "parsing comment: "+io.ErrUnexpectedEOF.Error()):
		return d.syntax(at, "the comment is not closed (must end with */)")
	case strings.HasSuffix(reason, "parsing string: "+io.ErrUnexpectedEOF.Error()):
		return d.syntax(len(d.text), `the file ends too early: a text is not closed (must end with ")`)
	case len(open) == 0:
		return d.syntax(len(d.text), "the file is empty (must be an object like {\"version\": 1})")
	}
	last := open[len(open)-1]
	closing := map[byte]string{'{': "}", '[': "]"}[d.text[last]]
	return d.syntax(len(d.text), "the file ends too early: the %c of line %d is not closed (must end with %s)", d.text[last], d.line(last), closing)
}

// wording says what the parser did not like, by the message's fixed part and the text at its position.
func (d *document) wording(at int, err error) string {
	reason := err.Error()
	found, _ := utf8.DecodeRune(d.text[min(at, len(d.text)):])
	switch {
	case strings.Contains(reason, "invalid literal: \""):
		return `is not a valid text (must end with " on its line; a \ is written \\)`
	case strings.Contains(reason, "invalid literal"):
		return `is not a key or a value (must be a text in double quotes, a number, true, false or null)`
	case strings.HasSuffix(reason, "in line comment"):
		return "a line separator character stands in a comment (must be a plain line end)"
	case strings.Contains(reason, "invalid UTF-8"):
		return "is not text (must be UTF-8)"
	case strings.Contains(reason, "after object value"):
		return fmt.Sprintf("%q stands after a value (must be a comma or })", found)
	case strings.Contains(reason, "after array value"):
		return fmt.Sprintf("%q stands after a value (must be a comma or ])", found)
	case strings.HasSuffix(reason, "after object name"):
		return fmt.Sprintf("%q stands after a key (must be a colon)", found)
	case strings.HasSuffix(reason, "at start of object name"):
		return fmt.Sprintf("%q stands where a key begins (must be in double quotes)", found)
	case strings.HasSuffix(reason, "after top-level value"):
		return fmt.Sprintf("%q stands after the end of the config (must be nothing)", found)
	case found == '\'':
		return "' stands where a text begins (must be in double quotes)"
	default:
		return fmt.Sprintf("%q stands where a key or a value begins (must be a text in double quotes, a number, true, false, null, { or [)", found)
	}
}

// invalidUTF8 is the offset of the first byte that is no UTF-8, or -1.
func invalidUTF8(text []byte) int {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// brackets are the offsets of the brackets that are open at the text's end, or
// where more than maxDepth are. It reads words and comments as the parser does.
func brackets(text []byte) (open []int) {
	for at := 0; at < len(text) && len(open) <= maxDepth; at++ {
		switch text[at] {
		case '{', '[':
			open = append(open, at)
		case '}', ']':
			open = open[:max(len(open)-1, 0)]
		case '"':
			at = textEnd(text, at)
		case '/':
			at = commentEnd(text, at)
		}
	}
	return open
}

// textEnd is the offset of the quote that closes the text beginning at at.
func textEnd(text []byte, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at
}

// commentEnd is the offset of the last byte of the comment beginning at at, or
// at itself where there is none.
func commentEnd(text []byte, at int) int {
	for start, end := range map[string]string{"//": "\n", "/*": "*/"} {
		if !bytes.HasPrefix(text[at:], []byte(start)) {
			continue
		}
		n := bytes.Index(text[at+len(start):], []byte(end))
		if n < 0 {
			return len(text)
		}
		return at + len(start) + n + len(end) - 1
	}
	return at
}
