package discord

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"dragoman/ports"
	fake "dragoman/tests/fake/discord"
)

// desk posts in one private chat, as the outbox does.
type desk struct {
	t       *testing.T
	server  *fake.Server
	channel *Channel
	room    string
}

func newDesk(t *testing.T) *desk {
	server := fake.New(fake.Options{})
	t.Cleanup(server.Close)
	d := &desk{t: t, server: server, room: server.User("Ann").DM()}
	d.restart()
	return d
}

// restart forgetful what the process knows.
func (d *desk) restart() {
	d.t.Helper()
	c, err := New(configOf(d.server), slog.New(slog.DiscardHandler))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(c.api.http.CloseIdleConnections)
	d.channel = c
}

// out is a delivery that was stored so long ago.
func (d *desk) out(nonce, text string, ago time.Duration, choices ...ports.Choice) ports.Outgoing {
	return ports.Outgoing{In: ports.Conversation{Chat: d.room}, Nonce: nonce, Since: time.Now().Add(-ago), Content: ports.Content{Text: text, Choices: choices}}
}

// loses sends, and the answer is lost on its way.
func (d *desk) loses(m ports.Outgoing) {
	d.t.Helper()
	d.server.Cut(routeSend, 1)
	if _, err := d.send(m); !ports.IsKind(err, ports.KindUnsure) {
		d.t.Fatalf("the answer was lost, and the send says %v", err)
	}
}

func (d *desk) send(m ports.Outgoing) (ports.MessageID, error) {
	if m.Content.File == nil {
		return d.channel.Send(d.t.Context(), m)
	}
	return d.channel.Upload(d.t.Context(), m, func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(make([]byte, m.Content.File.Size))), nil
	})
}

// posts sends, and wants the chat to show so many messages then, this one as the last.
func (d *desk) posts(m ports.Outgoing, shown int) {
	d.t.Helper()
	id, err := d.send(m)
	if err != nil {
		d.t.Fatal(err)
	}
	sent := d.server.Sent(d.room)
	if len(sent) != shown || id != messageID(d.room, sent[len(sent)-1].ID) {
		d.t.Errorf("after %s the chat shows %d messages, want %d with %s as the last", m.Nonce, len(sent), shown, id)
	}
}

// forgetful is when Discord knows no nonce any more.
const forgetful = 6 * time.Minute

func TestASendWhoseNonceIsForgottenIsFoundInTheHistory(t *testing.T) {
	t.Parallel()
	yes := ports.Choice{Question: "q1", Field: "f", Value: "yes", Label: "Yes"}
	other := ports.Choice{Question: "q2", Field: "f", Value: "yes", Label: "Yes"}
	for name, pair := range map[string][2]func(d *desk) ports.Outgoing{
		"a text":     {func(d *desk) ports.Outgoing { return d.out("one", "It is **4**.", forgetful) }, func(d *desk) ports.Outgoing { return d.out("two", "It is **5**.", forgetful) }},
		"a question": {func(d *desk) ports.Outgoing { return d.out("one", "May I?", forgetful, yes) }, func(d *desk) ports.Outgoing { return d.out("two", "May I?", forgetful, other) }},
		"a file":     {func(d *desk) ports.Outgoing { return d.file("one", 10) }, func(d *desk) ports.Outgoing { return d.file("two", 11) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			first, second := pair[0](d), pair[1](d)
			d.loses(first)
			d.restart()
			d.server.Advance(forgetful)
			d.posts(first, 1)  // the one that is there
			d.posts(second, 2) // which was never tried
		})
	}
}

func (d *desk) file(nonce string, size int64) ports.Outgoing {
	m := d.out(nonce, "Here it is.", forgetful)
	m.Content.File = &ports.File{Artifact: "a", Name: "a.bin", MIME: "application/octet-stream", Size: size}
	return m
}

func TestTwoDeliveriesThatSayTheSameAreBothPosted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.posts(d.out("one", "Stopped.", forgetful), 1)
	d.posts(d.out("two", "Stopped.", forgetful), 2)
	d.loses(d.out("three", "Stopped.", forgetful))
	d.server.Advance(forgetful)
	d.posts(d.out("three", "Stopped.", forgetful), 3)
	d.posts(d.out("four", "Stopped.", forgetful), 4)
	if n := len(d.server.Sent(d.room)); n != 4 {
		t.Errorf("the chat shows %d messages", n)
	}
}

func TestNoHistoryIsReadForAFreshDelivery(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.posts(d.out("one", "It is 4.", time.Minute), 1)
	m := d.out("two", "It is 5.", 0)
	m.Since = time.Time{}
	d.posts(m, 2)
	if n := d.server.Calls(fake.ListMessages); n != 0 {
		t.Errorf("%d histories were read", n)
	}
}

func TestAMessageFarUpInTheHistoryIsFound(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lost := d.out("one", "It is 4.", forgetful)
	d.loses(lost)
	d.restart()
	d.server.Advance(forgetful)
	for i := range 250 {
		d.server.User("Ann").Say(fmt.Sprint("well? ", i))
	}
	if _, err := d.send(lost); err != nil || len(d.server.Sent(d.room)) != 1 {
		t.Errorf("the chat shows %d messages (%v)", len(d.server.Sent(d.room)), err)
	}
}

func TestASendWaitsForTheHistoryThatItHasToRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lost := d.out("one", "It is 4.", forgetful)
	d.loses(lost)
	d.restart()
	d.server.Advance(forgetful)
	d.server.Fail(fake.ListMessages, 1, fake.BadGateway)
	if _, err := d.send(lost); !ports.IsKind(err, ports.KindTemporary) {
		t.Errorf("a history that cannot be read says %v", err)
	}
	d.posts(lost, 1)
	d.server.Fail(fake.ListMessages, -1, fake.MissingAccess) // then it is better to answer at all
	d.restart()
	if _, err := d.send(lost); err != nil || len(d.server.Sent(d.room)) != 2 {
		t.Errorf("a history that may not be read: %v", err)
	}
}
