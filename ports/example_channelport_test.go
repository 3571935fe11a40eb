package ports_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"dragoman/ports"
)

// wall is a chat platform: people pin notes to it, and the bot pins answers.
type wall struct {
	mu      sync.Mutex
	notes   []string // Ann's
	answers []string // the bot's
}

func (w *wall) pin(note string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, note)
}

func (w *wall) since(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.notes[min(n, len(w.notes)):])
}

// wallChannel is the adapter for it.
type wallChannel struct{ wall *wall }

var _ ports.ChannelPort = (*wallChannel)(nil)

// Traits: a note is short, and has no buttons.
func (c *wallChannel) Traits() ports.Traits { return ports.Traits{MaxText: 160} }

// Run looks at the wall until ctx ends. A bad minute is waited out.
func (c *wallChannel) Run(ctx context.Context, in ports.Receiver) error {
	for {
		if err := c.look(ctx, in); err != nil {
			fmt.Println("a look failed:", ports.KindOf(err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// look hands over what is new. The cursor is stored with the messages or not at
// all: what was refused is found again by the next look, under the same Event.
func (c *wallChannel) look(ctx context.Context, in ports.Receiver) error {
	cursor, err := in.Cursor(ctx)
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(cursor) // "" at first: from the beginning
	var b ports.Batch
	for _, note := range c.wall.since(n) {
		n++
		b.Cursor = strconv.Itoa(n)
		b.Messages = append(b.Messages, ports.Message{
			Event: b.Cursor, ID: ports.MessageID("note-" + b.Cursor), In: ports.Conversation{Chat: "ann"},
			Private: true, From: "ann", Name: "Ann", Text: note,
		})
	}
	if len(b.Messages) == 0 {
		return nil
	}
	return in.Receive(ctx, b)
}

// Send pins one answer. It does not retry: the kind of its error says whether
// somebody should.
func (c *wallChannel) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	const op = "wall send"
	if err := ctx.Err(); err != nil {
		return "", &ports.Error{Kind: ports.KindOf(err), Op: op, Err: err}
	}
	if m.In.Chat != "ann" {
		return "", ports.Errorf(ports.KindNotFound, op, "nobody called %q looks at this wall", m.In.Chat)
	}
	c.wall.mu.Lock()
	defer c.wall.mu.Unlock()
	c.wall.answers = append(c.wall.answers, m.Content.Text)
	return ports.MessageID(fmt.Sprint("answer-", len(c.wall.answers))), nil
}

// notebook is a Receiver whose disk is full at first. The gateway's own stores
// messages and cursor in one commit.
type notebook struct {
	cursor string
	broken int
	stored chan ports.Message
}

func (n *notebook) Cursor(context.Context) (string, error) { return n.cursor, nil }

func (n *notebook) Receive(_ context.Context, b ports.Batch) error {
	if n.broken > 0 {
		n.broken--
		return ports.Errorf(ports.KindUnavailable, "notebook receive", "%w", errors.New("the disk is full"))
	}
	n.cursor = b.Cursor
	for _, m := range b.Messages {
		n.stored <- m
	}
	return nil
}

// A chat platform is Traits, Run and Send: what it is, the way in and the way
// out. The kit tests/channeltest proves one.
func ExampleChannelPort() {
	ctx, stop := context.WithCancel(context.Background())
	w := &wall{}
	var port ports.ChannelPort = &wallChannel{w}

	in := &notebook{broken: 1, stored: make(chan ports.Message, 2)}
	done := make(chan error)
	go func() { done <- port.Run(ctx, in) }()

	w.pin("Is it raining?")
	m := <-in.stored
	fmt.Printf("%s says: %s\n", m.Name, m.Text)

	id, err := port.Send(ctx, ports.Outgoing{In: m.In, Content: ports.Content{Text: "Not yet."}})
	fmt.Println(id, err)
	_, err = port.Send(ctx, ports.Outgoing{In: ports.Conversation{Chat: "bob"}})
	fmt.Println(ports.KindOf(err), "-", err)

	stop()
	fmt.Println("Run:", <-done)
	// Output:
	// a look failed: unavailable
	// Ann says: Is it raining?
	// answer-1 <nil>
	// not_found - wall send: nobody called "bob" looks at this wall
	// Run: context canceled
}
