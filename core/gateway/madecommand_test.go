package gateway_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// A command counts when it is written, and not when a message is made into one: its
// person is told so, and the message stands as it was.
func TestAnEditMakesNoCommand(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/stop", "/new", "/help", "/forget", "/model m"} {
		t.Run(command, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.model.reply, w.model.dwell = echo, lasts(10*time.Second)
				w.start()
				w.chat.say(t, "ann", "before")
				time.Sleep(11 * time.Second)
				w.chat.say(t, "ann", "runs")
				time.Sleep(time.Second)
				w.chat.say(t, "ann", "waits")
				for _, id := range []ports.MessageID{"in-1", "in-2", "in-3"} {
					w.chat.edit(t, "ann", id, command)
				}
				time.Sleep(time.Minute)
				w.comesToRest()
				texts := w.chat.texts()
				var told, said []string
				for _, text := range texts {
					if strings.Contains(text, "as a message of its own") {
						told = append(told, text)
					} else {
						said = append(said, text)
					}
				}
				if len(told) != 3 || !slices.Equal(said, []string{"you said: before", "you said: runs", "you said: waits"}) {
					t.Errorf("the chat shows %q", texts)
				}
				w.sound(3)
			})
		})
	}
}

// What is none of the gateway's commands is the model's, also by an edit.
func TestAnEditIntoAStrangersCommandIsText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply, w.model.dwell = echo, lasts(10*time.Second)
		w.start()
		w.chat.say(t, "ann", "runs")
		time.Sleep(time.Second)
		w.chat.say(t, "ann", "waits")
		w.chat.edit(t, "ann", "in-2", "/dance")
		time.Sleep(time.Minute)
		w.comesToRest()
		if texts := w.chat.texts(); len(texts) != 2 || texts[1] != "you said: /dance" {
			t.Errorf("the chat shows %q", texts)
		}
	})
}
