package gateway_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/gateway"
	"dragoman/ports"
)

// tardy is a server that takes its time to start.
type tardy struct {
	*plain
	after time.Duration
}

func (s tardy) Run(ctx context.Context, reg ports.Registrar) error {
	timer := time.NewTimer(s.after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.plain.Run(ctx, reg)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Whoever writes while the gateway starts gets an answer of a model that has the tools
// of all servers, but for those that take long: they delay the first turns by five
// seconds, and no later one.
func TestATurnWaitsAMomentForServersThatJustStart(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		after   time.Duration // that the server takes
		without bool          // the agent does not use it
		stop    bool          // the person stops the turn after two seconds
		asked   time.Duration // since the start; 0 = never
		has     bool          // the tool
	}{
		"it is there at once":      {asked: time.Millisecond, has: true},
		"it takes three seconds":   {after: 3 * time.Second, asked: 3 * time.Second, has: true},
		"it takes a minute":        {after: time.Minute, asked: 5 * time.Second},
		"it is not for this agent": {after: 3 * time.Second, without: true, asked: time.Millisecond},
		"its person does not wait": {after: time.Minute, stop: true},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sourceOf("late", tardy{&plain{says: "hi"}, c.after})
				s.Timeout = time.Minute
				w := newWorld(t)
				w.opt.Sources = []gateway.Source{s}
				w.last = func(o *gateway.Options) {
					if c.without {
						o.Agents[0].Servers = []string{"srv"}
					}
				}
				asked := make(chan time.Duration, 2)
				var began time.Time
				w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
					asked <- time.Since(began)
					return echo(ctx, r)
				}
				began = time.Now()
				w.start()
				w.chat.say(t, "ann", "first")
				if c.stop {
					time.Sleep(2 * time.Second)
					w.chat.say(t, "ann", "/stop")
					time.Sleep(time.Second)
					if got := w.chat.texts(); !slices.Equal(got, []string{"Stopped."}) {
						t.Errorf("the chat shows %q", got)
					}
				}
				time.Sleep(10 * time.Second)
				if c.asked == 0 {
					if len(asked) > 0 {
						t.Error("the model was asked for a turn that is over")
					}
				} else if took := <-asked; took < c.asked-time.Millisecond || took > c.asked+500*time.Millisecond {
					t.Errorf("the model was asked after %s, want about %s", took, c.asked)
				} else if has := slices.ContainsFunc(w.model.asked()[0].Tools, func(s ports.ToolSpec) bool { return s.Name == "late__hello" }); has != c.has {
					t.Errorf("that the model has the tool is %v", has)
				}
				began = time.Now()
				w.chat.say(t, "ann", "second")
				time.Sleep(time.Second)
				if len(asked) != 1 {
					t.Errorf("a later message was not answered at once: the chat shows %q", w.chat.texts())
				}
				w.end()
			})
		})
	}
}
