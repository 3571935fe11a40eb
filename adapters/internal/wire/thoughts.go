package wire

import "strings"

// Local servers that do not know a model's template leave what it thinks in the
// text, between these (Qwen 3, DeepSeek R1).
const (
	ThoughtBegin = "<think>"
	ThoughtEnd   = "</think>"
)

// Thoughts takes what a model thought before it spoke out of its text: it is no
// part of the answer, and those who make such models want it out of the history.
// Only what a reply begins with counts; further on, the same signs may be what it
// speaks of. The zero Thoughts is ready; it serves one reply and one goroutine.
type Thoughts struct {
	held    string // what may yet be a sign
	inside  bool
	thought bool // there was one, and no text since
	over    bool // the rest is text
}

// maxBlank is how many blanks may come before a thought.
const maxBlank = 256

// Sift takes the next piece of the text, and gives what is certain to be said.
func (t *Thoughts) Sift(piece string) string {
	if t.over {
		return piece
	}
	for t.held += piece; ; {
		if t.inside {
			_, rest, ended := strings.Cut(t.held, ThoughtEnd)
			if !ended {
				t.held = t.held[max(0, len(t.held)-len(ThoughtEnd)+1):]
				return ""
			}
			t.held, t.inside, t.thought = rest, false, true
		}
		text := strings.TrimLeft(t.held, blanks)
		if t.thought {
			t.held = text
		}
		switch rest, begins := strings.CutPrefix(text, ThoughtBegin); {
		case begins:
			t.held, t.inside = rest, true
		case strings.HasPrefix(ThoughtBegin, text) && len(t.held) <= maxBlank:
			return ""
		default:
			t.over = true
			return t.Rest()
		}
	}
}

// Rest is what is left to be said at the end of the reply.
func (t *Thoughts) Rest() string {
	if t.inside {
		return ""
	}
	rest := t.held
	t.held, t.over = "", true
	return rest
}
