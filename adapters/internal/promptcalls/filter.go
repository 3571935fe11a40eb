package promptcalls

import (
	"bytes"
	"strings"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// filter parts a reply's text into what is shown and what are calls. It goes byte
// by byte: what comes of it cannot depend on how the stream was cut. It serves one
// reply, and one goroutine.
type filter struct {
	shown
	drop  bool // calls are not wanted
	calls []ports.Call
	told  bool // that a call was dropped

	thinks bool // a thought in the text has no end yet
	before int  // how many calls there were before it
	sign   []byte

	at    stage
	page  page   // where in Markdown the text outside of blocks is
	held  []byte // what may belong to a block
	begin int    // where in it the object begins
	fence fence  // around the object; none if it is bare
	tail  bool   // the fence had a block before
	body  nesting
	edge  edge // of the fence
}

// stage is what the next byte belongs to.
type stage int

const (
	inText  stage = iota
	inMarks       // the run of marks that may open a fence
	inInfo        // what stands between them and the object
	inHead        // an object that may be a block
	inBody        // an object that is one, or whose end will tell
	inTail        // what stands between a block and the end of its fence
	inClose       // the line that ends the fence
)

// textDropped is what a person reads where a call was that was not wanted.
const textDropped = "(Here I would have used a tool, which is not possible now.)"

func newFilter(show func(string), drop bool) *filter {
	return &filter{shown: shown{show: show}, drop: drop, page: page{fresh: true}}
}

// write takes the next piece of the reply.
func (f *filter) write(piece string) {
	for i := range len(piece) {
		f.step(piece[i])
	}
	f.flush()
}

// end takes the end of the reply. cut: the token limit made it, so that the last
// block may be a beginning.
func (f *filter) end(cut bool) {
	for range mostEnds {
		if !f.over(cut) {
			break
		}
	}
	for _, b := range f.held {
		f.plain(b)
	}
	if f.thinks {
		f.calls = f.calls[:f.before]
	}
	f.finish()
}

// mostEnds is how often what was held is looked at again at the end. Only a text
// that is full of beginnings needs more, and each look is one at all of it.
const mostEnds = 16

// over takes what is held at the end; true if what came of it may be held again.
func (f *filter) over(cut bool) bool {
	switch {
	case f.at == inMarks, f.at == inInfo, f.at == inHead && !cut:
		f.release()
		return true
	case f.at == inBody:
		f.broken(f.held[f.begin:], cut)
		return true
	}
	f.held = nil // it goes with the block before it
	return false
}

func (f *filter) step(b byte) {
	switch f.at {
	case inText:
		f.text(b)
	case inMarks:
		f.marks(b)
	case inInfo:
		f.info(b)
	case inHead:
		f.head(b)
	case inBody:
		f.inside(b)
	case inTail:
		f.behind(b)
	case inClose:
		f.close(b)
	}
}

func (f *filter) hold(at stage, b byte) {
	f.held = append(f.held, b)
	f.at = at
}

func (f *filter) text(b byte) {
	switch {
	case f.page.hides(b):
		f.plain(b)
	case b == '{':
		f.fence, f.begin = fence{}, len(f.held)
		f.hold(inHead, b)
	case b == '`', b == '~' && f.page.fresh:
		f.fence = fence{mark: b, size: 1}
		f.hold(inMarks, b)
	default:
		f.plain(b)
	}
}

// plain shows a byte as it is.
func (f *filter) plain(b byte) {
	f.think(b)
	f.page.step(b)
	f.emit(b)
}

// think watches for the signs of a thought. What is called in one is no call, and
// neither is what comes before an end without a beginning: there the server put
// the beginning into the prompt.
func (f *filter) think(b byte) {
	if f.page.code.size > 0 || f.page.json.depth > 0 || b == '<' {
		f.sign = f.sign[:0]
	}
	f.sign = append(f.sign, b)
	switch sign := string(f.sign); {
	case sign == wire.ThoughtBegin && !f.thinks:
		f.thinks, f.before = true, len(f.calls)
	case sign == wire.ThoughtEnd:
		f.calls = f.calls[:f.before]
		f.thinks = false
	case !strings.HasPrefix(wire.ThoughtBegin, sign) && !strings.HasPrefix(wire.ThoughtEnd, sign):
		f.sign = f.sign[:0]
	}
}

func (f *filter) marks(b byte) {
	if b == f.fence.mark {
		f.fence.size++
		f.hold(inMarks, b)
		return
	}
	if f.fence.size < 3 {
		f.release()
		f.step(b)
		return
	}
	f.at = inInfo
	f.info(b)
}

// info takes the language of the code: one word, blanks, and the object.
func (f *filter) info(b byte) {
	f.held = append(f.held, b)
	word := f.held[f.fence.size:]
	switch {
	case len(word) > maxHead:
		f.release()
	case b == '{':
		f.begin, f.at = len(f.held)-1, inHead
	case isBlank(b), b == '[', isInfo(b) && !bytes.ContainsAny(word, blanks+"["):
	default:
		f.release()
	}
}

func (f *filter) head(b byte) {
	f.held = append(f.held, b)
	object := f.held[f.begin:]
	switch compare(object) {
	case undecided:
	case unlike:
		f.release()
	default:
		f.body, f.edge = nesting{}, edge{}
		for _, c := range object {
			f.body.step(c)
		}
		f.at = inBody
	}
}

func (f *filter) inside(b byte) {
	f.held = append(f.held, b)
	if f.fence.size > 0 && f.edge.step(b, f.fence, f.body.quoted) {
		f.broken(f.held[f.begin:len(f.held)-f.fence.size], false)
		if f.at == inTail {
			f.at, f.tail, f.held = inClose, false, nil
		}
		return
	}
	if !f.body.step(b) {
		return
	}
	if call, ok := read(f.held[f.begin:]); ok {
		f.take(call)
		return
	}
	f.release()
}

// broken takes an object that did not end.
func (f *filter) broken(object []byte, cut bool) {
	call, ok := read(object)
	switch {
	case !ok:
		f.release()
	case cut:
		f.held, f.at = nil, inText
		f.part()
	default:
		f.take(call)
	}
}

// take has a block out of the text.
func (f *filter) take(call ports.Call) {
	f.at, f.held = inText, nil
	if f.fence.size > 0 {
		f.at, f.tail, f.edge = inTail, true, edge{}
	}
	f.part()
	if !f.drop {
		f.calls = append(f.calls, call)
		return
	}
	if f.told {
		return
	}
	f.told = true
	for i := range len(textDropped) {
		f.emit(textDropped[i])
	}
	f.part()
}

// behind takes what follows a block in its fence: another one, or its end.
func (f *filter) behind(b byte) {
	f.held = append(f.held, b)
	switch {
	case f.edge.step(b, f.fence, false):
		f.at, f.tail, f.held = inClose, false, nil
	case b == '{':
		f.begin, f.at = len(f.held)-1, inHead
	case b != f.fence.mark && !isBlank(b) && strings.IndexByte(",;[]", b) < 0:
		f.release()
	}
}

func (f *filter) close(b byte) {
	switch b {
	case f.fence.mark, ' ', '\t', '\r':
	case '\n':
		f.at, f.page = inText, page{fresh: true}
	default:
		f.at, f.page = inText, page{}
		f.step(b)
	}
}

// release shows what was held, since it is no block after all.
func (f *filter) release() {
	held, object := f.held, f.begin
	whole := f.at == inBody && f.body.depth == 0
	f.held, f.at = nil, inText
	switch {
	case f.tail: // the fence goes on with something else: that gets a fence of its own
		f.tail = false
		f.page = page{code: f.fence, lines: true, fresh: true}
		for range f.fence.size {
			f.emit(f.fence.mark)
		}
		f.emit('\n')
		held = bytes.TrimLeft(held, blanks+",;[]")
	case f.fence.size > 0:
		for range f.fence.size {
			f.emit(f.fence.mark)
		}
		f.page.open(f.fence)
		held = held[f.fence.size:]
	case whole:
		for _, b := range held {
			f.plain(b)
		}
		return
	default:
		f.plain('{')
		f.page.object(held[object+1:])
		held = held[object+1:]
	}
	for _, b := range held {
		f.step(b)
	}
}
