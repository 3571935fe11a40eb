package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// Whoever has the model say nothing must not keep it from others.
func TestEmptyRepliesToOnePersonLeaveTheModelToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
			if strings.Contains(r.Entries[len(r.Entries)-1].Text, "nothing") {
				return says("")
			}
			return echo(ctx, r)
		}
		w.start()
		for range 3 {
			n := len(w.inChat("ann"))
			w.chat.say(t, "ann", "say nothing at all")
			w.within(time.Minute, "ann", append(w.inChat("ann")[:n:n], "The language model's answer broke off or made no sense.")...)
		}
		w.chat.say(t, "bob", "hello")
		w.within(time.Second, "bob", "you said: hello")
		w.end()
	})
}
