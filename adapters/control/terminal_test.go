package control_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"dragoman/adapters/control"
	"dragoman/ports"
)

// desk is a terminal that shows what it is told to.
type desk struct{ shows chan ports.Glimpse }

func (d desk) Watch(ctx context.Context, back int, show func(ports.Glimpse) error) error {
	if err := show(ports.Glimpse{Chat: "1", Past: make([]ports.Line, back)}); err != nil {
		return err
	}
	for {
		select {
		case g := <-d.shows:
			if err := show(g); err != nil {
				return err
			}
		case <-ctx.Done():
			close(d.shows)
			return nil
		}
	}
}

func (d desk) Say(_ context.Context, chat string, s ports.Saying) (ports.Said, error) {
	if s.Text == "bad" {
		return ports.Said{}, ports.Errorf(ports.KindTooLarge, "say", "too much")
	}
	return ports.Said{Event: chat + s.ID + s.Text, Seq: s.Line}, nil
}

func (d desk) Settled(ctx context.Context, chat string, s ports.Said) (ports.Settlement, error) {
	if s.Event == "hangs" {
		<-ctx.Done()
		return ports.Settlement{}, ctx.Err()
	}
	return ports.Settlement{State: ports.SettledAnswered, Lines: []ports.Line{{Seq: s.Seq, Text: chat}}}, nil
}

// serveDesk serves a desk as the terminal of the agent "main". stop ends the server.
func serveDesk(t *testing.T, d desk) (c *control.Client, stop func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "control.sock")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- control.Serve(ctx, path, admin{}, func(agent string) (ports.Terminal, error) {
			if agent != "" && agent != "main" {
				return nil, ports.Errorf(ports.KindNotFound, "chat", "there is no agent %q", agent)
			}
			return d, nil
		})
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := control.Dial(t.Context(), path)
		if err == nil {
			return c, stop
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-tick.C
	}
}

func TestATerminalOverTheSocket(t *testing.T) {
	d := desk{shows: make(chan ports.Glimpse)}
	c, stop := serveDesk(t, d)
	term := c.Terminal("main")

	said, err := term.Say(t.Context(), "7", ports.Saying{ID: "a", Text: "b", Line: 3})
	same(t, said, ports.Said{Event: "7ab", Seq: 3}, err)
	if _, err := term.Say(t.Context(), "7", ports.Saying{Text: "bad"}); !ports.IsKind(err, ports.KindTooLarge) || errors.Is(err, ports.ErrGone) {
		t.Errorf("a refusal arrives as %v", err)
	}
	got, err := term.Settled(t.Context(), "7", ports.Said{Seq: 4})
	same(t, got, ports.Settlement{State: ports.SettledAnswered, Lines: []ports.Line{{Seq: 4, Text: "7"}}}, err)

	seen, ended := make(chan ports.Glimpse, 10), make(chan error, 2)
	watch := func(ctx context.Context) {
		ended <- term.Watch(ctx, 2, func(g ports.Glimpse) error { seen <- g; return nil })
	}
	go watch(t.Context())
	if g := <-seen; g.Chat != "1" || len(g.Past) != 2 {
		t.Errorf("the first glimpse is %+v", g)
	}
	draft := "so far"
	d.shows <- ports.Glimpse{Draft: &draft}
	same(t, *(<-seen).Draft, draft)

	// The end of the gateway is the end of what waits.
	go func() {
		_, err := term.Settled(t.Context(), "7", ports.Said{Event: "hangs"})
		ended <- err
	}()
	began := time.Now()
	stop()
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("the gateway ended, and a call of it did well")
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the terminals held up the stop for %v", took)
	}
	if err := term.Watch(t.Context(), 0, func(ports.Glimpse) error { return nil }); !errors.Is(err, ports.ErrGone) {
		t.Errorf("without a gateway Watch gives %v", err)
	}
}

func TestATerminalThatLeaves(t *testing.T) {
	d := desk{shows: make(chan ports.Glimpse)}
	c, _ := serveDesk(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Terminal("").Watch(ctx, 0, func(ports.Glimpse) error { cancel(); return nil })
	if err != nil {
		t.Errorf("Watch gives %v", err)
	}
	select {
	case <-d.shows: // closed by the gateway's side
	case <-time.After(10 * time.Second):
		t.Error("the gateway does not notice that its terminal left")
	}
	stop := errors.New("enough")
	if err := c.Terminal("").Watch(t.Context(), 0, func(ports.Glimpse) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of show comes back as %v", err)
	}
}

func TestAnAgentThatIsNotThere(t *testing.T) {
	c, _ := serveDesk(t, desk{})
	err := c.Terminal("nobody").Watch(t.Context(), 0, func(ports.Glimpse) error { return nil })
	if !ports.IsKind(err, ports.KindNotFound) || err.Error() != `chat: there is no agent "nobody"` {
		t.Errorf("Watch gives %v", err)
	}
}
