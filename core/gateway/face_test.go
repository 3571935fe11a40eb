package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Who waits for a tool sees which one and how long; the answer takes the line's place.
func TestALongWaitHasAFace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.chat.traits.EditEvery = time.Second
		w.model.reply = calls("srv__read_a")
		w.tools.onCall = func(context.Context, string) { <-time.After(20 * time.Second) }
		w.start()
		w.chat.say(t, "ann", "go")
		<-time.After(time.Second)
		if texts := w.chat.texts(); len(texts) != 1 || texts[0] != "Let me see. …" {
			t.Errorf("at once it shows %q", texts)
		}
		<-time.After(12*time.Second + time.Second/2)
		if texts := w.chat.texts(); len(texts) != 1 || !strings.HasSuffix(texts[0], "⏳ `srv__read_a` · 12 s") {
			t.Errorf("after 12 s it shows %q", texts)
		}
		<-time.After(10 * time.Second)
		w.within(0, "ann", "result of read_a")
	})
}
