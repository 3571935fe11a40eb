package linechat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"dragoman/ports"
	"dragoman/tests/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const within = 10 * time.Second

// world is a channel that runs, at a real port.
type world struct {
	*platform
	t     *testing.T
	ch    *Channel
	inbox channeltest.Inbox
	halt  func()
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{platform: newPlatform(t.Context()), t: t}
	port, err := w.Channel(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.ch = port.(*Channel)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.ch.Run(ctx, &w.inbox) }()
	w.halt = func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		done <- context.Canceled
	}
	t.Cleanup(w.halt)
	for deadline := time.Now().Add(within); w.where() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not listen")
		}
	}
	return w
}

// terminal is nc.
type terminal struct {
	net.Conn
	t   *testing.T
	out *bufio.Scanner
}

func (w *world) connect() *terminal {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.where())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		w.t.Fatal(err)
	}
	return &terminal{conn, w.t, bufio.NewScanner(conn)}
}

func (w *world) login(name string) *terminal {
	w.t.Helper()
	c := w.connect()
	c.says("* who are you?")
	c.types(name + " " + password + "\n")
	return c
}

func (c *terminal) types(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// says checks the lines that come next, by their beginnings.
func (c *terminal) says(want ...string) {
	c.t.Helper()
	for _, begin := range want {
		if !c.out.Scan() {
			c.t.Fatalf("the line ended (%v), want %q", c.out.Err(), begin)
		}
		if !strings.HasPrefix(c.out.Text(), begin) {
			c.t.Fatalf("it says %q, want %q", c.out.Text(), begin)
		}
	}
}

// ends checks that the line is closed now.
func (c *terminal) ends() {
	c.t.Helper()
	if c.out.Scan() || c.out.Err() != nil {
		c.t.Fatalf("it says %q (%v), want the end", c.out.Text(), c.out.Err())
	}
}

func (w *world) send(chat, nonce, text string) {
	w.t.Helper()
	if _, err := w.ch.Send(w.t.Context(), ports.Outgoing{In: ports.Conversation{Chat: chat}, Content: ports.Content{Text: text}, Nonce: nonce}); err != nil {
		w.t.Fatal(err)
	}
}

func TestAConversation(t *testing.T) {
	w := start(t)
	c := w.login("ann")
	c.says("* hello ann")
	c.types("Hello?\r\n\n   \none \\\ntwo\nbad \xff\x00 bytes\n")
	c.says("* ok", "* ok", "* ok")
	var got []string
	for _, m := range w.inbox.Messages() {
		got = append(got, m.From+": "+m.Text)
	}
	if want := "ann: Hello?|ann: one \ntwo|ann: bad \uFFFD\uFFFD bytes"; strings.Join(got, "|") != want {
		t.Errorf("it took %q, want %q", got, want)
	}
	other := w.login("ann")
	other.says("* hello")
	w.send("ann", "n1", "First.\n< not a second\n\x1b[31mno red")
	w.send("ann", "n1", "First, again.")
	w.send("bob", "n2", "For Bob.")
	for _, screen := range []*terminal{c, other} {
		screen.says("< First.", "  < not a second", "  \uFFFD[31mno red")
	}
	for _, name := range []string{"bob", "ann"} {
		if err := w.ch.Typing(t.Context(), ports.Conversation{Chat: name}); err != nil {
			t.Fatal(err)
		}
		if name == "bob" { // ann sees nothing of it
			c.types("And now?\n")
			c.says("* ok")
		}
	}
	c.says("* thinking")
	w.send("ann", "n3", "Last.")
	c.says("< Last.")
	back := w.login("bob") // who was away
	back.says("< For Bob.", "* hello bob")
}

func TestStrangersStayOutside(t *testing.T) {
	for name, first := range map[string]string{
		"a wrong password": "ann swordfish-2\n", "no password": "ann\n", "a bad name": "an.n " + password + "\n", "a long line": strings.Repeat("x", 3*maxSaid) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.send("ann", "n1", "A secret.")
			c := w.connect()
			c.says("* who are you?")
			c.types(first)
			c.says("* no:")
			c.ends()
			if got := w.inbox.Messages(); len(got) > 0 {
				t.Errorf("it took %v", got)
			}
		})
	}
}

func TestWhoGivesNoNameIsSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, near := pipe(t)
		began := time.Now()
		got, err := io.ReadAll(near)
		if err != nil || !strings.HasSuffix(string(got), "* too late: come again\n") || time.Since(began) != loginTime {
			t.Errorf("after %v it says %q (%v)", time.Since(began), got, err)
		}
	})
}

func TestWhatIsSentIsShownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, near := pipe(t)
		c := &terminal{near, t, bufio.NewScanner(near)}
		c.says("* who are you?")
		c.types("ann " + password + "\n")
		c.says("* hello")
		began := time.Now()
		for i := range 3 {
			if _, err := ch.Send(t.Context(), ports.Outgoing{In: ports.Conversation{Chat: "ann"}, Nonce: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
			c.says("< ")
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		if err := near.Close(); err != nil {
			t.Error(err)
		}
	})
}

// pipe is a session without a network, for a bubble: time stands still in it
// while there is something to do.
func pipe(t *testing.T) (*Channel, net.Conn) {
	t.Helper()
	ch, err := New(Config{Password: password}, &memory{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	if err := near.SetDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	go ch.host(t.Context(), far, &channeltest.Inbox{})
	return ch, near
}

func TestALineOfAnyLengthIsAnswered(t *testing.T) {
	w := start(t)
	c := w.login("ann")
	c.says("* hello")
	for _, text := range []string{strings.Repeat("x", maxSaid+1), strings.Repeat("x", 3*maxSaid+7), strings.Repeat("x\\\n", maxSaid)} {
		c.types(text + "\nstill here\n")
		c.says("* not taken: it is longer", "* ok")
	}
	c.types(strings.Repeat("y", maxSaid) + "\n")
	c.says("* ok")
	all := w.inbox.Messages()
	if got := all[len(all)-1].Text; len(all) != 4 || got != strings.Repeat("y", maxSaid) {
		t.Errorf("it took %d messages, the last of %d bytes", len(all), len(got))
	}
}

func TestWhatIsRefusedIsToldAndTriedAgain(t *testing.T) {
	w := start(t)
	w.inbox.Refuse(2)
	c := w.login("ann")
	c.says("* hello")
	c.types("one\ntwo\n")
	c.says("* not taken yet", "* ok", "* ok")
	w.inbox.Refuse(-1)
	c.types("three\n")
	c.says("* not taken yet")
	w.halt()
	c.says("* not taken: say it again later")
	if got := w.inbox.Messages(); len(got) != 2 || got[0].Text != "one" || got[1].Text != "two" {
		t.Errorf("it took %v", got)
	}
}

func TestWhatIsSaidBeforeHangingUpIsTaken(t *testing.T) {
	w := start(t)
	c := w.login("ann")
	c.says("* hello")
	w.inbox.Refuse(1)
	c.types("one\ntwo\ncut of")
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.says("* not taken yet", "* ok", "* ok")
	c.ends()
	if got := w.inbox.Messages(); len(got) != 2 {
		t.Errorf("it took %v", got)
	}
}

func TestRunWaitsForWhatIsUnderWay(t *testing.T) {
	w := start(t)
	in := &slow{inside: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	w.halt()
	go func() {
		defer close(done)
		_ = w.ch.Run(ctx, in)
	}()
	for deadline := time.Now().Add(within); w.where() == "" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	c := w.login("ann")
	c.says("* hello")
	c.types("one\n")
	<-in.inside
	cancel()
	<-done
	if !in.left.Load() {
		t.Error("Run returned while a message was being stored")
	}
	c.says("* not taken: say it again later")
}

// slow is a store that heeds its context late.
type slow struct {
	channeltest.Inbox
	inside chan struct{}
	left   atomic.Bool
}

func (s *slow) Receive(ctx context.Context, _ ports.Batch) error {
	close(s.inside)
	<-ctx.Done()
	<-time.After(100 * time.Millisecond)
	s.left.Store(true)
	return ctx.Err()
}

func TestAFullHouseTurnsPeopleAway(t *testing.T) {
	w := start(t)
	for i := range maxPeople {
		w.login(fmt.Sprint("guest-", i)).says("* hello")
	}
	late := w.connect()
	late.says("* everybody's place is taken")
	late.ends()
}

func TestATakenPortIsWaitedFor(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ch, err := New(Config{Listen: taken.Addr().String(), Password: password}, &memory{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, done := &reports{all: make(chan error, 100)}, make(chan struct{})
	go func() {
		defer close(done)
		_ = ch.Run(ctx, in)
	}()
	if err := <-in.all; !ports.IsKind(err, ports.KindTemporary) {
		t.Errorf("a taken port is %v", err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	for err := range in.all {
		if err == nil {
			break
		}
	}
	cancel()
	<-done
}

// reports keeps what an admin is told.
type reports struct {
	channeltest.Inbox
	all chan error
}

func (r *reports) Report(err error) { r.all <- err }

func TestConfigIsChecked(t *testing.T) {
	if _, err := New(Config{Password: `swordfish\`}, &memory{}, slog.New(slog.DiscardHandler)); !ports.IsKind(err, ports.KindInvalid) {
		t.Errorf("a password that joins lines: %v", err)
	}
}
