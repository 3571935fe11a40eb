package gateway_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/ports"
)

// What the model is asked with the words of a moment ago is left as soon as there are
// others; it is not asked anew for each of them, and each time it was is paid for.
func TestManyEditsWhileTheModelIsFirstAskedAskItFewTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agent = func(c *agent.Config) { c.Models[0].Facts.Price = &ports.Price{Input: 1, Output: 1} }
		w.model.reply, w.model.dwell = echo, lasts(10*time.Second)
		w.start()
		w.chat.say(t, "ann", "one")
		for i := range 20 {
			time.Sleep(50 * time.Millisecond)
			w.chat.edit(t, "ann", "in-1", fmt.Sprint("one ", i))
		}
		time.Sleep(15 * time.Second)
		w.comesToRest()
		if got, want := w.chat.texts(), []string{"you said: one 19"}; !slices.Equal(got, want) {
			t.Errorf("the chat shows %q, want %q", got, want)
		}
		n := len(w.model.asked())
		if n > 4 {
			t.Errorf("the model was asked %d times", n)
		}
		if booked := w.count(`SELECT COUNT(*) FROM usage WHERE cost > 0`); booked != n {
			t.Errorf("of %d requests %d are booked", n, booked)
		}
	})
}
