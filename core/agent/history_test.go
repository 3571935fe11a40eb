package agent

import (
	"strconv"
	"strings"
	"testing"

	"dragoman/ports"
)

func TestHistoryKeepsWhatIsRight(t *testing.T) {
	room := func(i int) ports.Conversation { return ports.Conversation{Channel: "c", Chat: strconv.Itoa(i)} }
	of := func(bytes int) recall {
		return recall{past: []told{{entries: []ports.Entry{{Text: strings.Repeat("x", bytes)}}}}}
	}
	knows := func(h *history, in ports.Conversation, last string, want bool) {
		t.Helper()
		if _, ok := h.get(in, last, 0); ok != want {
			t.Errorf("what was told in %s up to %q is known: %v, want %v", in, last, ok, want)
		}
	}
	t.Run("up to the last turn", func(t *testing.T) {
		var h history
		knows(&h, room(1), "", false)
		h.put(room(1), "a", 0, of(9))
		knows(&h, room(1), "a", true)
		h.put(room(1), "b", 0, of(9))
		knows(&h, room(2), "b", false)
		knows(&h, room(1), "b", true)
		knows(&h, room(1), "a", false) // a turn of another process came in between
		knows(&h, room(1), "b", false)
		if h.bytes != 0 || len(h.by) != 0 || h.order.Len() != 0 {
			t.Errorf("%d bytes are kept of nothing", h.bytes)
		}
	})
	t.Run("up to the last change", func(t *testing.T) {
		var h history
		h.put(room(1), "a", 3, of(9))
		if _, ok := h.get(room(1), "a", 3); !ok {
			t.Error("what was told is not known")
		}
		if _, ok := h.get(room(1), "a", 7); ok || h.bytes != 0 {
			t.Error("what was told before something was deleted is known still")
		}
	})
	t.Run("within its bounds", func(t *testing.T) {
		var h history
		for i := range 100 {
			h.put(room(i), "a", 0, of(100<<10))
			knows(&h, room(0), "a", true) // it stays in use
		}
		knows(&h, room(99), "a", true)
		knows(&h, room(1), "a", false)
		if h.bytes > historyBytes || len(h.by) != h.order.Len() {
			t.Errorf("%d bytes of %d and %d conversations are kept", h.bytes, len(h.by), h.order.Len())
		}
		for i := range 2 * historyBytes / rememberedBytes { // of which nothing is told
			h.put(room(i), "a", 0, recall{past: []told{{}}})
		}
		if n := h.order.Len(); n > historyBytes/rememberedBytes {
			t.Errorf("%d conversations are kept", n)
		}
		h.put(room(0), "b", 0, of(historyOne))
		knows(&h, room(0), "b", false)
		knows(&h, room(0), "a", false)
	})
}
