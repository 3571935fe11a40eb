package telegram

import (
	"slices"
	"strings"

	"dragoman/adapters/internal/markdown"
)

// spans writes running text with its looks as formats that nest.
func (w *writer) spans(spans []markdown.Span) {
	looks := make([][]format, len(spans))
	for i, s := range spans {
		looks[i] = looksOf(s)
	}
	for i, s := range spans {
		if w.full {
			break
		}
		w.look(looks[i:])
		w.put(s.Text)
	}
	w.look(nil)
}

// look ends and opens formats so that those of next[0] are open. What lasts
// longest goes outermost, so that it need not be parted later.
func (w *writer) look(next [][]format) {
	var want []format
	if len(next) > 0 {
		want = next[0]
	}
	keep := 0
	for keep < len(w.open) && hasLook(want, w.open[keep]) {
		keep++
	}
	for len(w.open) > keep {
		last := len(w.open) - 1
		f := w.open[last]
		f.Length = w.units - f.Offset
		w.mark(f)
		w.open = w.open[:last]
	}
	var fresh []format
	for _, f := range want {
		if !hasLook(w.open, f) {
			f.Offset = w.units
			fresh = append(fresh, f)
		}
	}
	lasts := func(f format) int {
		n := 0
		for n < len(next) && hasLook(next[n], f) {
			n++
		}
		return n
	}
	slices.SortStableFunc(fresh, func(a, b format) int { return lasts(b) - lasts(a) })
	w.open = append(w.open, fresh...)
}

func hasLook(looks []format, f format) bool {
	return slices.ContainsFunc(looks, func(l format) bool { return l.Type == f.Type && l.URL == f.URL })
}

// looksOf are the formats of a span. Code takes no other one and is none within
// a link: Telegram would drop one of the two.
func looksOf(s markdown.Span) []format {
	var out []format
	switch {
	case s.Link != "":
		out = append(out, format{Type: "text_link", URL: s.Link})
	case s.Style&markdown.Monospace != 0:
		return []format{{Type: "code"}}
	}
	for _, x := range []struct {
		style markdown.Style
		kind  string
	}{{markdown.Bold, "bold"}, {markdown.Italic, "italic"}, {markdown.Strike, "strikethrough"}} {
		if s.Style&x.style != 0 {
			out = append(out, format{Type: x.kind})
		}
	}
	return out
}

// spellOut writes addresses and numbers behind what links to them: a text_link
// goes to http, https and tg only, while an address in the text is found by the
// client itself.
func spellOut(spans []markdown.Span) []markdown.Span {
	if !slices.ContainsFunc(spans, func(s markdown.Span) bool { return address(s.Link) != "" }) {
		return spans
	}
	var out []markdown.Span
	shown := ""
	for i, s := range spans {
		at := address(s.Link)
		if at == "" {
			out = append(out, s)
			continue
		}
		shown += s.Text
		last := i+1 == len(spans) || spans[i+1].Link != s.Link
		s.Link = ""
		out = append(out, s)
		if !last {
			continue
		}
		if !strings.Contains(shown, at) {
			out = append(out, markdown.Span{Text: " (" + at + ")"})
		}
		shown = ""
	}
	return out
}

// address is what a mailto or tel link goes to, else "".
func address(link string) string {
	for _, scheme := range []string{"mailto:", "tel:"} {
		if len(link) > len(scheme) && strings.EqualFold(link[:len(scheme)], scheme) {
			return link[len(scheme):]
		}
	}
	return ""
}
