package terminal

import (
	"strings"

	"github.com/rivo/uniseg"
)

// editor is the message being typed. The cursor stands between characters as a
// person sees them.
type editor struct {
	text   string
	cursor int // byte offset
	past   []string
	at     int    // in past; len(past) = what is being typed
	draft  string // what was being typed when the past was opened
}

// do changes the text as a key asks.
func (e *editor) do(k key) {
	switch k.name {
	case keyText, keyPaste:
		e.insert(k.text)
	case keyBackspace:
		e.cut(e.before(), e.cursor)
	case keyDelete:
		e.cut(e.cursor, e.behind())
	case keyLeft:
		e.cursor = e.before()
	case keyRight:
		e.cursor = e.behind()
	case keyHome:
		e.cursor = 0
	case keyEnd:
		e.cursor = len(e.text)
	case keyKillBefore:
		e.cut(0, e.cursor)
	case keyKillAfter:
		e.cut(e.cursor, len(e.text))
	case keyKillWord:
		kept := strings.TrimRight(e.text[:e.cursor], " \n")
		e.cut(strings.LastIndexAny(kept, " \n")+1, e.cursor)
	case keyUp:
		e.recall(e.at - 1)
	case keyDown:
		e.recall(e.at + 1)
	}
}

// take empties the editor and returns what was in it.
func (e *editor) take() string {
	text := e.text
	e.text, e.cursor = "", 0
	if strings.TrimSpace(text) != "" {
		e.remember(text)
	}
	e.at = len(e.past)
	return text
}

// remember lets a message be called back.
func (e *editor) remember(text string) {
	if len(e.past) == 0 || e.past[len(e.past)-1] != text {
		e.past = append(e.past, text)
	}
	e.at = len(e.past)
}

func (e *editor) recall(at int) {
	if at < 0 || at > len(e.past) {
		return
	}
	if e.at == len(e.past) {
		e.draft = e.text
	}
	e.at, e.text = at, e.draft
	if at < len(e.past) {
		e.text = e.past[at]
	}
	e.cursor = len(e.text)
}

func (e *editor) insert(s string) {
	if len(e.text)+len(s) > lineLimit {
		return
	}
	e.text = e.text[:e.cursor] + s + e.text[e.cursor:]
	e.cursor += len(s)
}

func (e *editor) cut(from, to int) {
	e.text, e.cursor = e.text[:from]+e.text[to:], from
}

// before is where the character before the cursor begins.
func (e *editor) before() int {
	start := 0
	for rest, state, at := e.text[:e.cursor], -1, 0; rest != ""; {
		var c string
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		start, at = at, at+len(c)
	}
	return start
}

// behind is where the character after the cursor ends.
func (e *editor) behind() int {
	c, _, _, _ := uniseg.FirstGraphemeClusterInString(e.text[e.cursor:], -1)
	return e.cursor + len(c)
}
