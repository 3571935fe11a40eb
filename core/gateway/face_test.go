package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
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

// The button under an answer in the making is a /stop of the turn it is shown with.
func TestAStopButtonStopsItsTurn(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"the first word", "a tool's end"} {
		t.Run(before, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.chat.traits.EditEvery = time.Second
				w.model.reply = calls("srv__write_a")
				told := make(chan struct{})
				hangs := func(ctx context.Context) { <-ctx.Done(); close(told) }
				if before == "a tool's end" {
					w.tools.onCall = func(ctx context.Context, _ string) { hangs(ctx) }
				} else {
					w.model.dwell = hangs
				}
				w.start()
				w.chat.say(t, "ann", "go")
				<-time.After(5 * time.Second)
				shown := w.chat.post(0).out.Content
				if len(shown.Choices) != 1 || shown.Choices[0].Label != "⏹ Stop" {
					t.Fatalf("the preview has the buttons %+v", shown.Choices)
				}
				stop := ports.Message{From: "ann", Name: "ann", Choice: &shown.Choices[0], In: w.chat.post(0).out.In}
				w.chat.receive(t, stop)
				<-time.After(time.Second)
				select {
				case <-told:
				default:
					t.Error("a second later it goes on")
				}
				w.within(0, "ann", "Stopped.")
				if left := w.chat.post(0).out.Content.Choices; len(left) > 0 {
					t.Errorf("the button is still there: %+v", left)
				}
				w.chat.receive(t, stop) // again, and too late
				w.model.becomes(echo)
				w.chat.say(t, "ann", "and now")
				<-time.After(time.Second)
				w.within(0, "ann", "Stopped.", "you said: and now")
				w.end()
			})
		})
	}
}
