package agent

import (
	"container/list"
	"maps"
	"slices"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	historyBytes = 4 << 20   // of all conversations together
	historyOne   = 512 << 10 // of one
	// What a conversation and a turn take of which nothing is told, about.
	rememberedBytes, toldBytes = 512, 320
	// memoAgain is how long after no memo could be had another is tried, unless a
	// provider says that a prompt is too long: a try is a long prompt, and paid for.
	memoAgain = 5 * time.Minute
)

// history keeps what models are told of the finished turns of conversations that
// were at work lately: a long conversation is not read and decoded anew for each
// message of it. Rows of finished turns do not change but by what people delete, so
// what is kept is right as long as the last finished turn and the last change are the same. The zero value is ready. Safe for
// many goroutines.
type history struct {
	mu    sync.Mutex
	by    map[ports.Conversation]*list.Element
	order list.List // of *remembered, the latest first
	bytes int

	unfolded map[ports.Conversation]time.Time // when no memo could be had, of those within memoAgain
}

// remembered is what is kept of a conversation.
type remembered struct {
	in      ports.Conversation
	last    string // the turn it ends with
	changed int64  // see ports.Work.Changed
	recall
	bytes int
}

// get gives what was told up to a turn, if that is known.
func (h *history) get(in ports.Conversation, last string, changed int64) (recall, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.by[in]
	if e == nil || last == "" {
		return recall{}, false
	}
	r := e.Value.(*remembered)
	if r.last != last || r.changed != changed {
		h.drop(e)
		return recall{}, false
	}
	h.order.MoveToFront(e)
	return r.recall, true
}

// used is how many tokens the last prompt of a conversation and its reply had; 0 =
// not known.
func (h *history) used(in ports.Conversation) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.by[in]; e != nil {
		return e.Value.(*remembered).used
	}
	return 0
}

// put keeps what was told up to a turn, after this change. Nobody may change it afterwards.
func (h *history) put(in ports.Conversation, last string, changed int64, what recall) {
	what.past = slices.Clip(what.past)
	r := &remembered{in: in, last: last, changed: changed, recall: what, bytes: rememberedBytes + len(what.memo.Text)}
	for _, p := range what.past {
		r.bytes += toldBytes + weight(p.entries)
		if p.trimmed != nil {
			r.bytes += weight(p.trimmed)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.by[in]; e != nil {
		h.drop(e)
	}
	if r.bytes > historyOne {
		return
	}
	if h.by == nil {
		h.by = map[ports.Conversation]*list.Element{}
	}
	h.by[in] = h.order.PushFront(r)
	for h.bytes += r.bytes; h.bytes > historyBytes; {
		h.drop(h.order.Back())
	}
}

// notFolded notes that no memo could be had of a conversation.
func (h *history) notFolded(in ports.Conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unfolded == nil {
		h.unfolded = map[ports.Conversation]time.Time{}
	}
	maps.DeleteFunc(h.unfolded, func(_ ports.Conversation, at time.Time) bool { return time.Since(at) >= memoAgain })
	h.unfolded[in] = time.Now()
}

// mayFold reports whether a memo may be tried again.
func (h *history) mayFold(in ports.Conversation) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, ok := h.unfolded[in]
	return !ok || time.Since(at) >= memoAgain
}

func (h *history) drop(e *list.Element) {
	r := h.order.Remove(e).(*remembered)
	delete(h.by, r.in)
	h.bytes -= r.bytes
}

// weight is what entries take in memory, about.
func weight(entries []ports.Entry) int {
	const fixed = 160 // of an entry or a call, without what it points to
	n := 0
	for _, e := range entries {
		n += fixed + len(e.Text) + len(e.State)
		for _, c := range e.Calls {
			n += fixed + len(c.Arguments) + len(c.State)
		}
		for _, b := range e.Blocks {
			n += fixed + len(b.Data) + len(b.Text)
		}
	}
	return n
}
