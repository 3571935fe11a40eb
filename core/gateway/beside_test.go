package gateway_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// To delete the message that a turn works on ends that turn, and takes back nothing
// that its person wrote meanwhile. A stop takes back all of it.
func TestWhatWaitsBehindADeletedMessageIsDone(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		end  func(*world)
		chat []string
	}{
		"a deletion":            {func(w *world) { w.chat.deletes(w.t, "ann", "in-1") }, []string{"Stopped.", "you said: second"}},
		"a /forget":             {func(w *world) { w.chat.forget(w.t, "ann", "in-1") }, []string{"I have forgotten that message.", "Stopped.", "you said: second"}},
		"a stop":                {func(w *world) { w.chat.say(w.t, "ann", "/stop") }, []string{"Stopped."}},
		"a deletion and a stop": {func(w *world) { w.chat.deletes(w.t, "ann", "in-1"); w.chat.say(w.t, "ann", "/stop") }, nil},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.model.reply = calls("srv__slow")
				w.start()
				w.chat.say(t, "ann", "first")
				time.Sleep(5 * time.Second)
				w.chat.say(t, "ann", "second")
				time.Sleep(time.Second)
				w.model.becomes(echo)
				c.end(w)
				time.Sleep(time.Minute)
				w.comesToRest()
				got := w.chat.texts()
				if c.chat != nil && !slices.Equal(got, c.chat) {
					t.Errorf("the chat shows %q, want %q", got, c.chat)
				}
				if c.chat == nil && slices.Contains(got, "you said: second") {
					t.Errorf("what was taken back is done: the chat shows %q", got)
				}
				w.sound(len(w.column(`SELECT seq FROM inbox`)))
			})
		})
	}
}
