package telegram

import (
	"fmt"
	"strings"

	"dragoman/adapters/internal/markdown"
)

// joined says what pages made of source lack, or have in another order, beside a
// single page of all of it.
func joined(source string, pages []rendered) error {
	if tabled(markdown.Parse(markdown.Clean(source))) {
		return nil
	}
	if got, want := visibleOf(pages), visibleOf(paginate(source, 1<<30, false)); got != want {
		return fmt.Errorf("the pages joined are %q, the whole is %q", got, want)
	}
	return nil
}

// visibleOf are all visible characters in order, but for the marks of quotes in
// quotes, which come again in each line.
func visibleOf(pages []rendered) string {
	var b strings.Builder
	for _, p := range pages {
		for _, r := range p.Text {
			if r != '>' && markdown.Visible(string(r)) {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// tabled: a table repeats its header on each page.
func tabled(blocks []markdown.Block) bool {
	for _, b := range blocks {
		switch b := b.(type) {
		case markdown.Table:
			return true
		case markdown.Quote:
			if tabled(b.Blocks) {
				return true
			}
		case markdown.List:
			for _, item := range b.Items {
				if tabled(item.Blocks) {
					return true
				}
			}
		}
	}
	return false
}
