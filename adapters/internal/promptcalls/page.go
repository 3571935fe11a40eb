package promptcalls

import (
	"bytes"
	"strings"
)

// shown is what a person sees of a reply.
type shown struct {
	show   func(string) // nil: nobody listens
	said   strings.Builder
	out    []byte // since the last flush
	space  []byte // blanks, which wait for text: those around a block go with it
	parted bool   // a block was taken out since the last text
}

func (s *shown) emit(b byte) {
	if isBlank(b) {
		s.space = append(s.space, b)
		return
	}
	if s.parted {
		s.space, s.parted = s.space[:0], false
		if s.said.Len()+len(s.out) > 0 {
			s.space = append(s.space, "\n\n"...)
		}
	}
	s.out = append(append(s.out, s.space...), b)
	s.space = s.space[:0]
}

// part makes the next text a paragraph of its own.
func (s *shown) part() { s.parted = true }

func (s *shown) flush() {
	if len(s.out) == 0 {
		return
	}
	s.said.Write(s.out)
	if s.show != nil {
		s.show(string(s.out))
	}
	s.out = s.out[:0]
}

// finish shows the blanks at the very end, which are a part of the reply.
func (s *shown) finish() {
	if !s.parted {
		s.out = append(s.out, s.space...)
	}
	s.space = nil
	s.flush()
}

// fence is the run of marks around code.
type fence struct {
	mark byte
	size int
}

// page knows where in Markdown a text is, as far as it matters for blocks.
type page struct {
	fresh bool    // only blanks and marks of a quotation in this line so far
	code  fence   // around the text; none outside of code
	lines bool    // it is a block of lines, not a piece of one
	run   int     // marks in a row that may end it
	json  nesting // an object that is no block
	empty bool    // the last line but blanks
}

// hides reports whether nothing that begins with this byte can be a block.
func (p *page) hides(b byte) bool {
	if p.code.size > 0 && !p.lines && p.run == p.code.size && b != p.code.mark {
		p.code, p.run = fence{}, 0 // it ended with the byte before
	}
	if p.json.depth > 0 && p.json.quoted && b == '\n' || p.json.depth > 0 && !p.json.quoted && (b == '`' || b == '\n' && p.empty) {
		p.json = nesting{} // it is no JSON
	}
	return p.code.size > 0 || p.json.depth > 0
}

// step goes over a byte that is shown.
func (p *page) step(b byte) {
	if p.json.depth > 0 {
		p.json.step(b)
	}
	if p.code.size > 0 {
		p.inCode(b)
	}
	p.empty = b == '\n' || p.empty && isBlank(b)
	p.fresh = b == '\n' || p.fresh && (isBlank(b) || b == '>')
}

func (p *page) inCode(b byte) {
	switch {
	case b == p.code.mark && (!p.lines || p.fresh || p.run > 0):
		p.run++
	case p.lines && b == '\n':
		if p.run >= p.code.size {
			p.code, p.lines = fence{}, false
		}
		p.run = 0
	case p.lines && isBlank(b):
	case b == '\n' && p.code.size >= 3:
		p.lines, p.run = true, 0
	case b == '\n':
		p.code, p.run = fence{}, 0
	default:
		p.run = 0
	}
}

// open begins code.
func (p *page) open(f fence) {
	p.fresh, p.empty = false, false
	if f.mark == '`' || f.size >= 3 {
		p.code, p.lines, p.run = f, false, 0
	}
}

// object begins an object that is no block, if it looks like JSON behind its
// brace.
func (p *page) object(rest []byte) {
	if bytes.HasPrefix(bytes.TrimLeft(rest, blanks), []byte(`"`)) {
		p.json = nesting{depth: 1}
	}
}

// nesting is where in a JSON object a text is.
type nesting struct {
	depth   int
	quoted  bool
	escaped bool
}

// step reports whether the byte ends the object.
func (n *nesting) step(b byte) bool {
	switch {
	case n.escaped:
		n.escaped = false
	case n.quoted && b == '\\':
		n.escaped = true
	case b == '"':
		n.quoted = !n.quoted
	case n.quoted:
	case b == '{':
		n.depth++
	case b == '}':
		n.depth--
		return n.depth == 0
	}
	return false
}

// edge watches for the end of a fence in an object. A line within quotes is no
// JSON, so a line of marks ends the fence even there.
type edge struct {
	fresh bool
	run   int
}

// step reports whether the byte completes the marks.
func (e *edge) step(b byte, f fence, quoted bool) bool {
	if b == f.mark && (e.run > 0 || e.fresh || !quoted) {
		e.run++
		return e.run == f.size
	}
	e.run = 0
	e.fresh = b == '\n' || e.fresh && isBlank(b)
	return false
}

func isBlank(b byte) bool { return strings.IndexByte(blanks, b) >= 0 }

// isInfo is what the name of a language is made of.
func isInfo(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("_-+.", b) >= 0
}
