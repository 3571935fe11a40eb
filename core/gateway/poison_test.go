package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// deadly is a model that kills the process when it is asked about something with
// the word "poison" in it, in each life.
type deadly struct {
	w     *world
	lives chan *failing // of the present life
	calm  func(context.Context, ports.ModelRequest) (ports.ModelReply, error)
	tool  string        // called before it kills
	armed chan struct{} // closed: it kills
}

func (d *deadly) reply(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
	last := lastSaid(r)
	switch {
	case !strings.Contains(last, "poison"):
		return d.calm(ctx, r)
	case d.tool != "" && !hasTool(r):
		return calls(d.tool)(ctx, r)
	}
	select {
	case <-d.armed:
		f := <-d.lives
		d.lives <- f
		f.die()
		<-ctx.Done()
	case <-ctx.Done():
	}
	return ports.ModelReply{}, ctx.Err()
}

// lastSaid is what the person said last.
func lastSaid(r ports.ModelRequest) (text string) {
	for _, e := range r.Entries {
		if e.Role == ports.RoleUser {
			text = e.Text
		}
	}
	return text
}

func newDeadly(t *testing.T) *deadly {
	d := &deadly{w: newWorld(t), lives: make(chan *failing, 1), calm: echo, armed: make(chan struct{})}
	d.w.opt.Drain = 10 * time.Millisecond
	d.w.model.reply = d.reply
	d.begin()
	return d
}

func (d *deadly) begin() *failing {
	f := d.w.startFailing(0, refused)
	d.lives <- f
	return f
}

// dies waits for the present life's end and begins the next. It reports false if
// the life goes on until done says so.
func (d *deadly) dies(done func() bool) bool {
	d.w.t.Helper()
	f := <-d.lives
	d.lives <- f
	died := false
	eventually(d.w.t, "a death, or the end", func() bool {
		select {
		case <-f.died:
			died = true
			return true
		default:
			return done()
		}
	})
	if !died {
		return false
	}
	d.w.bury(f)
	<-d.lives
	d.begin()
	return true
}

// lived is how often the process died until done.
func (d *deadly) lived(done func() bool) (deaths int) {
	d.w.t.Helper()
	for d.dies(done) {
		deaths++
	}
	return deaths
}

func (d *deadly) shows(part string) func() bool {
	return func() bool { return strings.Contains(strings.Join(d.w.chat.texts(), "\n"), part) }
}

func TestAMessageThatKillsTheProcessThreeTimesEndsPlainly(t *testing.T) {
	for _, tool := range []string{"", "srv__read_a", "srv__write_a"} { // before the turn's first row, and behind some
		t.Run("after "+tool, func(t *testing.T) {
			t.Parallel()
			d := newDeadly(t)
			d.tool = tool
			close(d.armed)
			d.w.chat.say(t, "ann", "poison")
			if n := d.lived(d.shows("Reference: ")); n != 3 {
				t.Errorf("the process died %d times, want 3", n)
			}
			d.w.chat.say(t, "ann", "and now?")
			eventually(t, "the conversation goes on", d.shows("you said: and now?"))
			d.w.settled()
			if got := d.w.chat.texts(); len(got) != 2 || !strings.Contains(got[0], "given up") {
				t.Errorf("the chat shows %q", got)
			}
			if n := d.w.count(`SELECT COUNT(*) FROM audit WHERE what = 'turn_given_up'`); n != 1 {
				t.Errorf("the admin has %d entries, want 1", n)
			}
		})
	}
}

func TestAPoisonousMessageAmongManyIsFoundAndHarmsNoOther(t *testing.T) {
	d := newDeadly(t)
	const others = 20
	d.calm = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		<-d.armed
		select {
		case <-time.After(30 * time.Millisecond): // whoever runs beside the poison gets nowhere
			return echo(ctx, r)
		case <-ctx.Done():
			return ports.ModelReply{}, ctx.Err()
		}
	}
	for i := range others {
		if i == others/2 {
			d.w.chat.say(t, "ann", "poison")
		}
		d.w.chat.say(t, fmt.Sprintf("p%d", i), fmt.Sprintf("hello %d", i))
	}
	close(d.armed)
	deaths := d.lived(d.shows("Reference: "))
	eventually(t, "nothing is left", d.w.over)
	answered, failed := map[string]bool{}, map[string]bool{} // a send that a death fell into is made twice
	for _, text := range d.w.chat.texts() {
		if strings.HasPrefix(text, "you said: hello") {
			answered[text] = true
		} else {
			failed[text] = true
		}
	}
	if len(answered) != others || len(failed) != 1 {
		t.Errorf("%d were answered, want %d, and %d failed, want 1: %q", len(answered), others, len(failed), d.w.chat.texts())
	}
	if deaths > 12 { // two that nobody knew the culprit of, three on trial, and some in bad company
		t.Errorf("the process died %d times", deaths)
	}
	t.Logf("%d deaths", deaths)
}
