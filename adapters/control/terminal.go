package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"dragoman/ports"
)

// glimpseTimeout is how long a terminal may take to read what it is shown before
// it is taken for gone.
const glimpseTimeout = 30 * time.Second

// Terminals finds the terminal of an agent; "" is the one that needs no name.
// KindNotFound, KindInvalid: there is none, in words for whoever named it.
type Terminals func(agent string) (ports.Terminal, error)

// serveTerminals adds the terminals' methods. They may wait for days, and end with stop.
func serveTerminals(stop context.Context, mux *http.ServeMux, find Terminals) {
	within := func(ctx context.Context, a arguments, use func(context.Context, ports.Terminal) error) error {
		t, err := find(a.Agent)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(stop, cancel)()
		if err := use(ctx, t); err == nil || stop.Err() == nil {
			return err
		}
		return ports.Errorf(ports.KindUnavailable, "control socket", "the gateway went away")
	}
	method(mux, "terminal/say", func(ctx context.Context, a arguments) (said ports.Said, err error) {
		err = within(ctx, a, func(ctx context.Context, t ports.Terminal) error {
			said, err = t.Say(ctx, a.Chat, a.Saying)
			return err
		})
		return said, err
	})
	method(mux, "terminal/settled", func(ctx context.Context, a arguments) (got ports.Settlement, err error) {
		err = within(ctx, a, func(ctx context.Context, t ports.Terminal) error {
			got, err = t.Settled(ctx, a.Chat, a.Said)
			return err
		})
		return got, err
	})
	mux.HandleFunc("POST /terminal/watch", func(w http.ResponseWriter, r *http.Request) {
		a, ok := read(w, r, "terminal/watch")
		if !ok {
			return
		}
		s := &glimpses{out: w, control: http.NewResponseController(w)}
		err := within(r.Context(), a, func(ctx context.Context, t ports.Terminal) error { return t.Watch(ctx, a.Back, s.show) })
		if err != nil && !s.begun {
			refuse(w, "terminal/watch", err)
		}
	})
}

// glimpses writes one JSON document a line, each at once.
type glimpses struct {
	out     http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

func (s *glimpses) show(g ports.Glimpse) error {
	if !s.begun {
		s.begun = true
		s.out.Header().Set("Content-Type", "application/x-ndjson")
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(glimpseTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := json.NewEncoder(s.out).Encode(g); err != nil {
		return err
	}
	return s.control.Flush()
}

// Terminal is the terminal of an agent of the gateway; "" is the one that needs no name.
func (c *Client) Terminal(agent string) ports.Terminal { return &terminal{client: c, agent: agent} }

type terminal struct {
	client *Client
	agent  string
}

// Say implements ports.Terminal.
func (t *terminal) Say(ctx context.Context, chat string, s ports.Saying) (ports.Said, error) {
	return post[ports.Said](ctx, t.client, "terminal/say", arguments{Agent: t.agent, Chat: chat, Saying: s})
}

// Settled implements ports.Terminal.
func (t *terminal) Settled(ctx context.Context, chat string, s ports.Said) (ports.Settlement, error) {
	return post[ports.Settlement](ctx, t.client, "terminal/settled", arguments{Agent: t.agent, Chat: chat, Said: s})
}

// Watch implements ports.Terminal. The end of the stream is the end of the gateway.
func (t *terminal) Watch(ctx context.Context, back int, show func(ports.Glimpse) error) error {
	const op = "terminal/watch"
	resp, err := t.client.send(ctx, op, arguments{Agent: t.agent, Back: back})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	for {
		var g ports.Glimpse
		err := lines.Decode(&g)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return lost(ctx, op, err)
		}
		if err := show(g); err != nil {
			return err
		}
	}
}
