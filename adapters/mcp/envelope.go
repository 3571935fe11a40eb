package mcp

import "encoding/json"

const (
	// maxMemberName and maxIDText are how much of a name, and of an id, is kept.
	maxMemberName = 8
	maxIDText     = 128
)

// envelope reads of a JSON-RPC message which one it is, whatever its length, and
// keeps nothing else of it: of the members of the outermost object the id, and
// whether there is a method, result or error. They may stand behind the result.
type envelope struct {
	depth           int
	quoted, escaped bool // inside a string, behind a backslash
	naming          bool // the next string of the outermost object names a member
	name, id        []byte
	broken, whole   bool

	method, answer bool
}

// feed takes the next part of the message.
func (e *envelope) feed(p []byte) {
	for len(p) > 0 && !e.broken {
		n := 1
		if e.quoted {
			n = e.inside(p)
		} else {
			e.outside(p[0])
		}
		p = p[n:]
	}
}

// message is the message without what it carries. ok says that it was a whole
// object, as far as can be seen from its brackets.
func (e *envelope) message() (m message, ok bool) {
	if len(e.id) > 0 && json.Valid(e.id) {
		m.ID = e.id
	}
	return m, e.whole && !e.broken
}

// inside takes a piece of a string and says how long it is.
func (e *envelope) inside(p []byte) int {
	if e.escaped {
		e.escaped = false
		e.note(p[:1])
		return 1
	}
	for i, c := range p {
		if c != '"' && c != '\\' {
			continue
		}
		e.escaped = c == '\\'
		e.quoted = e.escaped
		if e.escaped || !e.naming {
			e.note(p[:i+1])
		} else {
			e.note(p[:i])
		}
		return i + 1
	}
	e.note(p)
	return len(p)
}

func (e *envelope) outside(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n':
		return
	case '{', '[':
		e.broken = e.depth == 0 && (c == '[' || e.whole)
		e.depth++
		e.naming = e.depth == 1
		return
	case '}', ']':
		e.depth--
		e.whole = e.depth == 0
		e.broken = e.depth < 0
		return
	case '"':
		e.quoted = true
		if e.depth == 1 && e.naming {
			e.name = e.name[:0]
			return
		}
	case ',':
		e.naming = e.depth == 1
		return
	case ':':
		if e.depth == 1 {
			e.named()
		}
		return
	}
	e.broken = e.depth == 0
	e.note([]byte{c})
}

// named is called when the name of a member is known, and its value follows.
func (e *envelope) named() {
	e.naming = false
	switch string(e.name) {
	case "id":
		e.id = e.id[:0]
	case "method":
		e.method = true
	case "result", "error":
		e.answer = true
	}
}

// note keeps what belongs to a name or to the id.
func (e *envelope) note(p []byte) {
	switch {
	case e.depth != 1:
	case e.naming:
		e.name = append(e.name, p[:min(len(p), maxMemberName-len(e.name))]...)
	case string(e.name) == "id":
		e.id = append(e.id, p[:min(len(p), maxIDText-len(e.id))]...)
	}
}
