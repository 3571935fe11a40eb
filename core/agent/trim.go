package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"dragoman/ports"
)

const (
	// A result of the past that is longer than this is cut to its head and its tail
	// when the provider's cache is cold.
	largeResult = 2000
	pastHead    = 800
	pastTail    = 400
	// A result whose room is needed keeps this much of it.
	hiddenHead = 160
	hiddenTail = 80
	// clipLeast is the least that is left of a text in the middle of which is cut.
	clipLeast = 240
)

// named finds the artifacts that a result names: what is cut out of a result that
// was kept as one can be read again.
var named = regexp.MustCompile(`artifact "([A-Za-z0-9_-]{1,80})"`)

// trim is how far the entries of a turn are made smaller. The same trim of the
// same entries is the same, and calls keep their results.
type trim struct {
	hide int // so many tool results, the oldest first, are cut to a hint of what they were
	bare int // and of so many nothing is left but that there was one
	mute int // of so many replies, the oldest first, what their provider alone can read is left out
	clip int // no text, result or argument is longer, in bytes; 0 = as long as it is
}

// of makes entries smaller; they themselves stay as they are.
func (c trim) of(list []ports.Entry) []ports.Entry {
	if c == (trim{}) {
		return list
	}
	list = slices.Clone(list)
	results, replies := 0, 0
	for i := range list {
		e := &list[i]
		switch e.Role {
		case ports.RoleAssistant:
			if replies++; replies <= c.mute {
				e.State = nil
			}
		case ports.RoleTool:
			switch results++; {
			case results <= c.bare:
				*e = short(*e, 0, 0)
			case results <= c.hide:
				*e = short(*e, hiddenHead, hiddenTail)
			}
		}
		if c.clip > 0 {
			clipEntry(e, c.clip)
		}
	}
	return list
}

// short cuts a tool's result to its head and its tail.
func short(e ports.Entry, head, tail int) ports.Entry {
	note := func(left int) string {
		s := fmt.Sprintf("[%d bytes of this result are left out here to save room.", left)
		if ids := artifacts(e.Text); ids != "" {
			s += " The whole is kept as artifact " + ids + ": read it in parts with read_artifact."
		}
		return s + "]"
	}
	if n := len(e.Blocks); n > 0 {
		e.Blocks = nil
		e.Text += fmt.Sprintf("\n\n[%d images or recordings are left out here to save room.]", n)
	}
	e.Text = middleOut(e.Text, head, tail, note)
	return e
}

// artifacts are the ids that a text names, as a list in words.
func artifacts(text string) string {
	var ids []string
	for _, m := range named.FindAllStringSubmatch(text, 4) {
		if id := `"` + m[1] + `"`; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return strings.Join(ids, ", ")
}

// middleOut keeps the head and the tail of a text that is longer than them and the
// note that takes the place of the rest.
func middleOut(s string, head, tail int, note func(left int) string) string {
	left := len(s) - head - tail
	if left <= 0 {
		return s
	}
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	from := len(s) - tail
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	cut := strings.TrimSpace(s[:head] + "\n\n" + note(from-head) + "\n\n" + s[from:])
	if len(cut) >= len(s) {
		return s
	}
	return cut
}

// clipEntry cuts what is longer than max bytes in the middle.
func clipEntry(e *ports.Entry, max int) {
	if e.Role == ports.RoleTool && (len(e.Text) > max || len(e.Blocks) > 0) {
		*e = short(*e, max*2/3, max/3)
	}
	if e.Role == ports.RoleUser && len(e.Blocks) > 0 {
		*e = replaceBlocks([]ports.Entry{*e}, func(_, _ int, b ports.Block) (ports.Block, string) { return b, textNoRoom })[0]
	}
	e.Text = middleOut(e.Text, max*2/3, max/3, func(left int) string {
		return fmt.Sprintf("[%d bytes are left out here: there is no room for all of it.]", left)
	})
	if !slices.ContainsFunc(e.Calls, func(c ports.Call) bool { return len(c.Arguments) > max }) {
		return
	}
	e.Calls = slices.Clone(e.Calls)
	for i := range e.Calls {
		if c := &e.Calls[i]; len(c.Arguments) > max {
			c.Arguments = json.RawMessage(fmt.Sprintf(`{"left_out":"%d bytes of arguments"}`, len(c.Arguments)))
		}
	}
}

// trimmed is a finished turn whose large results are cut: what the model needed of
// them it has said.
func trimmed(list []ports.Entry) (out []ports.Entry, smaller bool) {
	out = list
	for i, e := range list {
		if e.Role != ports.RoleTool || len(e.Text) <= largeResult && len(e.Blocks) == 0 {
			continue
		}
		if !smaller {
			out, smaller = slices.Clone(list), true
		}
		out[i] = short(e, pastHead, pastTail)
	}
	return out, smaller
}

// hideTo hides results, the oldest first, until the entries have at most so many
// tokens, as we guess; where a hint of each is too much, nothing of them is left, and
// then nothing of what models thought. The last round stays.
func hideTo(list []ports.Entry, c trim, most int) trim {
	all, last, replies := countResults(list)
	over := func() bool { return guessEntries(c.of(list)) > most }
	for c.hide < all-last && over() {
		c.hide++
	}
	for c.bare < all-last && over() {
		c.bare++
	}
	for c.mute < replies-1 && over() {
		c.mute++
	}
	return c
}

// trimTo makes entries smaller than so many tokens, as we guess, beginning with
// the trim that they have: old results go first, then the middle of whatever is
// long, and the last results at the end. Something of each is left, so that it may
// not be enough.
func trimTo(list []ports.Entry, c trim, most int) trim {
	c = hideTo(list, c, most)
	over := func() bool { return guessEntries(c.of(list)) > most }
	if !over() {
		return c
	}
	if c.clip == 0 {
		c.clip = longest(list)
	}
	for c.clip > clipLeast && over() {
		c.clip = max(c.clip*3/4, clipLeast)
	}
	if over() {
		c.hide, _, _ = countResults(list)
	}
	return c
}

// countResults is how many results entries have, how many of them are of the last
// round, and how many replies there are.
func countResults(list []ports.Entry) (all, last, replies int) {
	for _, e := range list {
		switch e.Role {
		case ports.RoleTool:
			all++
			last++
		case ports.RoleAssistant:
			last = 0
			replies++
		}
	}
	return all, last, replies
}

// longest is the length of the longest text, in bytes.
func longest(list []ports.Entry) int {
	n := clipLeast
	for _, e := range list {
		n = max(n, len(e.Text))
		for _, c := range e.Calls {
			n = max(n, len(c.Arguments))
		}
	}
	return n
}
