package mcp

import "slices"

// keepBuffer is how much memory a reader holds on to between two messages, in
// bytes, and how large the pieces of a message are that has more.
const keepBuffer = 1 << 20

// pieces collects bytes of which nobody knows how many will come. A buffer that
// grows copies itself again and again and leaves several times as much garbage as
// it holds: a peer would decide how much memory it gets.
type pieces struct {
	full [][]byte
	last []byte
	size int
}

// Write adds a copy of b. It never fails.
func (p *pieces) Write(b []byte) (int, error) {
	n := len(b)
	for p.size += n; len(b) > 0; {
		if len(p.last) >= keepBuffer {
			p.full = append(p.full, p.last)
			p.last = make([]byte, 0, keepBuffer)
		}
		k := min(len(b), keepBuffer-len(p.last))
		p.last = append(p.last, b[:k]...)
		b = b[k:]
	}
	return n, nil
}

// each shows what was written.
func (p *pieces) each(see func([]byte)) {
	for _, b := range p.full {
		see(b)
	}
	see(p.last)
}

// joined is all that was written, valid until the next Write or reset.
func (p *pieces) joined() []byte {
	if len(p.full) > 0 {
		whole := slices.Concat(append(p.full, p.last)...)
		p.full, p.last = nil, whole
	}
	return p.last
}

// reset forgets what was written and keeps at most keepBuffer of memory.
func (p *pieces) reset() {
	first := p.last
	if len(p.full) > 0 {
		first = p.full[0]
	}
	if cap(first) > keepBuffer {
		first = nil
	}
	*p = pieces{last: first[:0]}
}
