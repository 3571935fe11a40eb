package terminal

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"dragoman/ports"
)

// listed lists choices for whoever types: by number or by value.
func listed(choices []ports.Choice) string {
	var b strings.Builder
	for i, c := range choices {
		fmt.Fprintf(&b, "  %d) %s", i+1, Printable(c.Label))
		if !strings.EqualFold(c.Label, c.Value) {
			fmt.Fprintf(&b, "  [%s]", c.Value)
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

// saying is a text as it is sent: the choice of a question that it makes by
// number, value or label, or itself. open may be nil.
func saying(open *ports.Line, text string) ports.Saying {
	s := ports.Saying{ID: rand.Text(), Text: text}
	if open == nil {
		return s
	}
	word := strings.Trim(strings.TrimSpace(text), ".)!")
	for i, c := range open.Choices {
		if word == strconv.Itoa(i+1) || strings.EqualFold(word, c.Value) || strings.EqualFold(word, c.Label) {
			s.Choice, s.Line = &c, open.Seq
			return s
		}
	}
	return s
}
