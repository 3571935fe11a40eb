package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
)

// tell says something and waits for what comes of it.
func (w *world) tell(text string) {
	w.t.Helper()
	n := len(w.chat.texts())
	w.chat.say(w.t, "ann", text)
	w.shown(n + 1)
	w.settled()
}

// What was answered and is edited is done again where its person wants it: as it
// reads when the button is pressed, days later too, and once. What was said from it
// on is in no later prompt.
func TestARedoReplacesTheHistoryFromItsMessageOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.tell("one")
	w.tell("frist")
	w.tell("three")
	w.chat.edit(t, "ann", "in-2", "secnd")
	w.chat.edit(t, "ann", "in-2", "secnd") // as for the preview of a link
	w.chat.edit(t, "ann", "in-2", "second")
	if texts := w.shown(4); !strings.HasPrefix(texts[3], "You edited this message") {
		t.Fatalf("the chat shows %q", texts)
	}
	w.settled()
	w.restart()
	w.tell("four")
	twice := w.chat.post(3).pressed("ann", "redo")
	w.chat.press(t, "ann", 3, "redo")
	w.shown(6)
	w.settled()
	w.chat.receive(t, twice)
	want := []string{"user one", "assistant you said: one", "user second"}
	if told := w.model.heard(); !slices.Equal(told, want) {
		t.Errorf("the redo was told %q, want %q", told, want)
	}
	want = append(want, "assistant you said: second", "user five")
	w.tell("five")
	if told := w.model.heard(); !slices.Equal(told, want) {
		t.Errorf("after the redo the model was told %q, want %q", told, want)
	}
	w.restart()
	w.tell("six")
	want = append(want, "assistant you said: five", "user six")
	if told := w.model.heard(); !slices.Equal(told, want) {
		t.Errorf("after a restart the model was told %q, want %q", told, want)
	}
	if texts := w.chat.texts(); !strings.HasSuffix(texts[3], "*You said: Redo*") {
		t.Errorf("the offer reads %q", texts[3])
	}
	w.sound(9)
}

// A redo asks before whatever changes things, though the admin allows it: it may have
// been done before. What changes nothing more under its own key does under another's.
func TestARedoAsksBeforeItChangesThings(t *testing.T) {
	t.Parallel()
	for _, class := range []ports.Class{ports.ClassUnsafe, ports.ClassIdempotent} {
		t.Run(string(class), func(t *testing.T) { redoAsks(t, class) })
	}
}

func redoAsks(t *testing.T, class ports.Class) {
	w := newWorld(t)
	w.tools.class = map[string]ports.Class{"write_a": class}
	w.model.reply = rounds([]string{"srv__read_a"}, []string{"srv__write_a"})
	w.start()
	w.tell("do it")
	w.chat.edit(t, "ann", "in-1", "do it well")
	w.shown(2)
	w.settled()
	w.chat.press(t, "ann", 1, "redo")
	if texts := w.shown(3); !strings.Contains(texts[2], "May I run **srv__write_a**") {
		t.Fatalf("the chat shows %q", texts)
	}
	if r, wr := w.tools.ran("read_a"), w.tools.ran("write_a"); r != 2 || wr != 1 {
		t.Errorf("before the yes the tools ran %d and %d times, want 2 and 1", r, wr)
	}
	w.chat.press(t, "ann", 2, "yes")
	w.shown(4)
	w.settled()
	if n := w.tools.ran("write_a"); n != 2 {
		t.Errorf("after the yes the tool ran %d times, want 2", n)
	}
	w.tell("and now")
	w.sound(5)
	w.end()
	if class != ports.ClassUnsafe {
		return // replayed goes by the tools' names
	}
	for _, rec := range w.recordings() {
		replayed(t, rec, 0)
	}
}

// A redo is of all that its turn was about. What is deleted of that is in it no more
// than anywhere, and what is deleted itself is not done again.
func TestARedoHasAllMessagesOfItsTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.chat.batch(t, said("ann", "one"), said("ann", "two"), said("ann", "three"))
	w.shown(1)
	w.settled()
	w.chat.edit(t, "ann", "in-batch-2", "zwei")
	w.shown(2)
	w.settled()
	w.chat.deletes(t, "ann", "in-batch-3")
	w.chat.press(t, "ann", 1, "redo")
	if texts := w.shown(3); texts[2] != "you said: one\n\nzwei" {
		t.Errorf("the chat shows %q", texts)
	}
	w.settled()
	w.chat.deletes(t, "ann", "in-batch-1")
	w.tell("hello")
	if told := w.model.heard(); len(told) != 3 || told[0] != "user zwei" {
		t.Errorf("the model was told %q", told)
	}
	w.chat.edit(t, "ann", "in-batch-2", "deux")
	w.shown(5)
	w.settled()
	press := w.chat.post(4).pressed("ann", "redo")
	w.chat.deletes(t, "ann", "in-batch-2")
	before := w.count(`SELECT COUNT(*) FROM inbox`)
	w.chat.receive(t, press)
	if after := w.count(`SELECT COUNT(*) FROM inbox`); after != before {
		t.Error("what was deleted is done again")
	}
}

// The offer is its person's alone, and none is made of what somebody else edits.
func TestARedoIsItsPersonsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.reply = byTheirWord
	w.start()
	in := ports.Conversation{Chat: "room"}
	w.chat.receive(t, ports.Message{From: "ann", Name: "ann", In: in, Text: "say one"})
	w.shown(1)
	w.settled()
	w.chat.receive(t, ports.Message{From: "ann", Name: "ann", In: in, ID: "in-1", Change: ports.ChangeEdit, Text: "say two"})
	w.shown(2)
	w.settled()
	bob := w.chat.post(1).pressed("bob", "redo")
	bob.Private, bob.In = false, in
	w.chat.receive(t, bob)
	w.settled()
	if n := w.count(`SELECT COUNT(*) FROM inbox`); n != 2 {
		t.Errorf("%d messages are stored, want 2", n)
	}
	ann := w.chat.post(1).pressed("ann", "redo")
	ann.Private, ann.In = false, in
	w.chat.receive(t, ann)
	w.shown(3)
	w.settled()
}
