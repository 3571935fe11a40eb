package config

import (
	"fmt"
	"sort"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// document is the text of one config: it turns offsets into positions.
type document struct {
	name  string
	dir   string
	text  []byte
	lines []int               // offset of each line's first byte
	rules *validator.Validate // nil where only defaults are decoded
}

func newDocument(name string, text []byte, dir string) *document {
	lines := []int{0}
	for i, c := range text {
		if c == '\n' {
			lines = append(lines, i+1)
		}
	}
	return &document{name: name, dir: dir, text: text, lines: lines}
}

// line is the line of an offset, from 1.
func (d *document) line(at int) int {
	return sort.Search(len(d.lines), func(i int) bool { return d.lines[i] > at })
}

func (d *document) fault(at int, path, format string, args ...any) Fault {
	at = min(max(at, 0), len(d.text))
	line := d.line(at)
	return Fault{
		File: d.name,
		Line: line,
		Col:  utf8.RuneCount(d.text[d.lines[line-1]:at]) + 1,
		Path: path,
		Text: fmt.Sprintf(format, args...),
	}
}
