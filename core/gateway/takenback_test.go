package gateway_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A redo that waits behind a turn is taken back by a stop, as all that waits: what it
// was to undo is in later prompts, from memory and after a restart.
func TestARedoThatIsTakenBackUndoesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = echo
		w.start()
		say := func(text string) {
			t.Helper()
			w.chat.say(t, "ann", text)
			time.Sleep(10 * time.Second)
			w.comesToRest()
		}
		say("one")
		say("two")
		w.chat.edit(t, "ann", "in-1", "eins")
		time.Sleep(10 * time.Second)
		w.model.becomes(rounds([]string{"srv__read_a"}, []string{"srv__slow"}))
		w.tools.onCall = func(ctx context.Context, _ string) { idle(ctx, 5*time.Second) }
		w.chat.say(t, "ann", "long")
		time.Sleep(2 * time.Second)
		w.chat.press(t, "ann", 2, "redo")
		time.Sleep(10 * time.Second) // the model was asked once more
		w.chat.say(t, "ann", "/stop")
		time.Sleep(10 * time.Second)
		w.comesToRest()
		w.model.becomes(echo)
		before := []string{"user one", "assistant you said: one", "user two", "assistant you said: two"}
		for _, text := range []string{"after", "later"} {
			say(text)
			told := w.model.heard()
			if len(told) < len(before) || !slices.Equal(told[:len(before)], before) || told[len(told)-1] != "user "+text {
				t.Errorf("the model was told %q", told)
			}
			w.restart()
		}
	})
}
