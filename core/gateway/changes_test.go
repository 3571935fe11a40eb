package gateway_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// edit delivers an edit of the message with this id.
func (c *chat) edit(t *testing.T, from string, id ports.MessageID, text string) {
	t.Helper()
	c.receive(t, ports.Message{From: from, Name: from, Private: true, ID: id, Change: ports.ChangeEdit, Text: text})
}

// deletes delivers that the message with this id is gone, as a platform does that
// does not say who deleted it.
func (c *chat) deletes(t *testing.T, chat string, id ports.MessageID) {
	t.Helper()
	c.receive(t, ports.Message{In: ports.Conversation{Chat: chat}, ID: id, Change: ports.ChangeDelete})
}

// forget replies with /forget to the message with this id.
func (c *chat) forget(t *testing.T, from string, id ports.MessageID) {
	t.Helper()
	c.receive(t, ports.Message{From: from, Name: from, Private: true, ReplyTo: id, Text: "/forget"})
}

// heard is what the model was told last, a line for each entry.
func (m *model) heard() []string {
	asked := m.asked()
	var list []string
	for _, e := range asked[len(asked)-1].Entries {
		list = append(list, string(e.Role)+" "+e.Text)
	}
	return list
}

// lasts has each reply take so long that something can happen meanwhile.
func lasts(d time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
}

// What waits behind a turn that runs is answered as it reads when its own turn begins.
func TestAnEditOfAMessageThatWaitsReplacesItsText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply, w.model.dwell = echo, lasts(10*time.Second)
		w.start()
		w.chat.say(t, "ann", "first")
		time.Sleep(time.Second)
		w.chat.say(t, "ann", "secnd")
		w.chat.say(t, "ann", "third")
		w.chat.edit(t, "ann", "in-2", "second")
		time.Sleep(time.Minute)
		w.comesToRest()
		if got, want := w.chat.texts(), []string{"you said: first", "you said: second\n\nthird"}; !slices.Equal(got, want) {
			t.Errorf("the chat shows %q, want %q", got, want)
		}
		w.sound(4)
	})
}

// From the person's side a turn begins when the model was asked; its row is made
// later. An edit in between has it begin anew, with the preview that stands there.
func TestAnEditWhileTheModelIsFirstAskedBeginsTheTurnAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply, w.model.dwell = echo, lasts(10*time.Second)
		w.start()
		w.chat.say(t, "ann", "frist")
		time.Sleep(5 * time.Second)
		w.chat.edit(t, "ann", "in-1", "first")
		time.Sleep(11 * time.Second) // the first request was left at once, and not waited for
		if got := w.chat.texts(); len(got) != 1 {
			t.Errorf("1 s after the answer could be there the chat shows %q", got)
		}
		w.comesToRest()
		if got, want := w.chat.texts(), []string{"you said: first"}; !slices.Equal(got, want) {
			t.Errorf("the chat shows %q, want %q", got, want)
		}
		if n := len(w.model.asked()); n != 2 {
			t.Errorf("the model was asked %d times, want 2", n)
		}
		w.sound(2)
	})
}

// changeAt is a store that lets something happen just before the n-th write of a turn.
type changeAt struct {
	gateway.Store
	write atomic.Int32
	at    int32
	do    func()
}

func (s *changeAt) before() {
	if s.write.Add(1) == s.at {
		s.do()
	}
}

func (s *changeAt) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	s.before()
	return s.Store.Record(ctx, l, c)
}

func (s *changeAt) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	s.before()
	return s.Store.Finish(ctx, l, c, o)
}

// The reply is there and its commit is on its way when the edit is stored: what was
// said to the old words is not said.
func TestAnEditJustBeforeATurnsFirstRowIsNotMissed(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"", "srv__read_a"} {
		w := newWorld(t)
		w.model.reply = echo
		if tool != "" {
			w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
				if hasTool(r) {
					return says("you said: " + r.Entries[0].Text)
				}
				return calls(tool)(ctx, r)
			}
		}
		w.startOn(func(s *sqlstore.Store) gateway.Store {
			return &changeAt{Store: s, at: 1, do: func() { w.chat.edit(t, "ann", "in-1", "first") }}
		})
		w.chat.say(t, "ann", "frist")
		if got := w.shown(1); got[0] != "you said: first" {
			t.Errorf("with the tool %q the chat shows %q", tool, got)
		}
		w.settled()
		w.sound(2)
	}
}

// An edit is of its writer's own message, says something else than before, and is
// of a message that the lane has; any other does nothing and is answered by nothing.
func TestAnEditThatIsNobodysBusinessDoesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply, w.model.dwell = echo, lasts(10*time.Second)
		w.start()
		in := ports.Conversation{Chat: "room"}
		group := func(m ports.Message) { m.In = in; m.Name = m.From; w.chat.receive(t, m) }
		group(ports.Message{From: "ann", Text: "first"})
		time.Sleep(time.Second)
		group(ports.Message{From: "ann", Text: "second", ID: "m2", Attachments: []ports.Attachment{{ID: "f1", Name: "a.png"}}})
		group(ports.Message{From: "ann", Text: "/help", ID: "m3"})
		rows := len(w.column(`SELECT seq FROM inbox`))
		group(ports.Message{From: "bob", ID: "m2", Change: ports.ChangeEdit, Text: "bob's words"})
		group(ports.Message{From: "ann", ID: "m2", Change: ports.ChangeEdit, Text: "second", Attachments: []ports.Attachment{{ID: "f1", Name: "a.png"}}})
		group(ports.Message{From: "ann", ID: "m3", Change: ports.ChangeEdit, Text: "/status"})
		group(ports.Message{From: "ann", ID: "never", Change: ports.ChangeEdit, Text: "unheard of"})
		if now := len(w.column(`SELECT seq FROM inbox`)); now != rows {
			t.Errorf("%d rows were stored", now-rows)
		}
		time.Sleep(time.Minute)
		w.comesToRest()
		texts := w.chat.texts()
		if len(texts) != 3 || !strings.Contains(texts[2]+texts[1], "ann: second") || strings.Contains(strings.Join(texts, "|"), "bob") {
			t.Errorf("the chat shows %q", texts)
		}
	})
}
