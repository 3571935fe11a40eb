package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"
)

// maxFormats is how many entities a message keeps; Telegram drops what is beyond.
const maxFormats = 100

// hardSpace looks like a space, and is not trimmed.
const hardSpace = "\u00A0"

// expendable formats go first if there are too many.
var expendable = [...]string{"italic", "strikethrough", "bold", "code", "text_link", "blockquote", "pre"}

// page is what was written, trimmed as Telegram trims it, so that the offsets hold.
func (w *writer) page() page {
	whole := w.text.String()
	text := strings.TrimLeft(whole, " \n")
	lead := len(whole) - len(text) // bytes and units alike
	if line := strings.LastIndexByte(whole[:lead], '\n') + 1; line < lead && w.inPre(line) {
		// Indented code would lean the wrong way.
		text = strings.Repeat(hardSpace, lead-line) + text
		lead = line
	}
	text = strings.TrimRight(text, " \n")
	units := utf16.Encode([]rune(text))
	var out []format
	for _, f := range w.marks {
		f.Offset -= lead
		if f = trim(f, units); f.Length > 0 {
			out = append(out, f)
		}
	}
	// Stable and outer first: marks are in the order of their ends.
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b format) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	return page{text, capped(out)}
}

func (w *writer) inPre(at int) bool {
	return slices.ContainsFunc(w.marks, func(f format) bool { return f.Type == "pre" && f.Offset <= at && at < f.Offset+f.Length })
}

// trim takes off a format what is beyond the text, and white space at its ends;
// code keeps its indentation.
func trim(f format, units []uint16) format {
	start, end := max(f.Offset, 0), min(f.Offset+f.Length, len(units))
	for end > start && blank(units[end-1]) {
		end--
	}
	for f.Type != "pre" && start < end && blank(units[start]) {
		start++
	}
	f.Offset, f.Length = start, end-start
	return f
}

func blank(unit uint16) bool { return unit == ' ' || unit == '\n' }

// capped drops what is too much, the least important and the last first.
func capped(fs []format) []format {
	for _, kind := range expendable {
		for i := len(fs) - 1; i >= 0 && len(fs) > maxFormats; i-- {
			if fs[i].Type == kind {
				fs = slices.Delete(fs, i, i+1)
			}
		}
	}
	return fs
}
