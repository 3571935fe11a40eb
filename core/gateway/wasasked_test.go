package gateway_test

import (
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/gateway"
	"dragoman/ports"
)

// What the person said about a call counts, also where the admin would not have it
// asked about any more.
func TestANoCountsThoughItIsAllowedNow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		say  string
		want string
	}{
		"no":              {"no", "Not run: the person said no."},
		"another message": {"please do not", "Not run: the person did not answer the question whether it may run.\nuser: please do not"},
		"silence":         {"", "Not run: the person did not answer the question whether it may run."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.opt.Ask.Expires = 24 * time.Hour
				w.model.reply = calls("srv__ask_a")
				parked(t, w)
				l := w.live(func(o *gateway.Options) { stale(o); policy(ports.PolicyAllow)(w, o) })
				if c.say != "" {
					w.chat.say(t, "ann", c.say)
				} else {
					l.end(0)
					time.Sleep(25 * time.Hour)
					l = w.live(func(o *gateway.Options) { stale(o); policy(ports.PolicyAllow)(w, o) })
				}
				time.Sleep(minute)
				if got := last(t, w, 2); got != c.want {
					t.Errorf("the model was told %q, want %q", got, c.want)
				}
				if n := w.tools.ran("ask_a"); n != 0 {
					t.Errorf("the tool ran %d times", n)
				}
				l.end(0)
			})
		})
	}
}
