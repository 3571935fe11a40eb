package terminal

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// Printable takes out what would steer a terminal or turn its text around: what
// models and tools say is not ours. Joiners stay, for scripts and emoji need them.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.In(r, unicode.Cc, unicode.Bidi_Control) {
			return r
		}
		return -1
	}, strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"))
}

// tabStop is what a tab counts in what we lay out ourselves.
const tabStop = "    "

// row is one line of the screen.
type row struct {
	text  string
	width int // in columns
}

// layOut lays text out in rows of at most columns columns, cut between characters
// as a person sees them.
func layOut(text string, columns int) []row {
	rows, last := []row{{}}, 0
	text = strings.ReplaceAll(text, "\t", tabStop)
	var b strings.Builder
	next := func() {
		rows[last].text = b.String()
		b.Reset()
		rows = append(rows, row{})
		last++
	}
	for state := -1; text != ""; {
		var cluster string
		var width int
		cluster, text, width, state = uniseg.FirstGraphemeClusterInString(text, state)
		if cluster == "\n" {
			next()
			continue
		}
		if rows[last].width+width > columns && rows[last].width > 0 {
			next()
		}
		b.WriteString(cluster)
		rows[last].width += width
	}
	rows[last].text = b.String()
	return rows
}
