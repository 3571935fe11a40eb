package gateway_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
)

// chat is a chat platform in memory.
type chat struct {
	mu     sync.Mutex
	in     ports.Receiver
	up     chan struct{}
	posts  []post
	event  int
	fails  []error // of the next sends; nil = it works
	traits ports.Traits
	onSend func(ports.Outgoing)
}

type post struct {
	id  ports.MessageID
	out ports.Outgoing
}

func newChat() *chat {
	return &chat{up: make(chan struct{}, 1), traits: ports.Traits{MaxText: 4096, Choices: true}}
}

var (
	_ ports.ChannelPort = (*chat)(nil)
	_ ports.Editor      = (*chat)(nil)
)

func (c *chat) Traits() ports.Traits { return c.traits }

func (c *chat) Run(ctx context.Context, in ports.Receiver) error {
	c.mu.Lock()
	c.in = in
	c.mu.Unlock()
	c.up <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (c *chat) await(t *testing.T) {
	t.Helper()
	select {
	case <-c.up:
	case <-time.After(roomy(10 * time.Second)):
		t.Fatal("the channel was not run")
	}
}

func (c *chat) Send(_ context.Context, m ports.Outgoing) (ports.MessageID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fails) > 0 {
		err := c.fails[0]
		if c.fails = c.fails[1:]; err != nil {
			return "", err
		}
	}
	id := ports.MessageID(strconv.Itoa(len(c.posts) + 1))
	c.posts = append(c.posts, post{id, m})
	if c.onSend != nil {
		c.onSend(m)
	}
	return id, nil
}

func (c *chat) Edit(_ context.Context, id ports.MessageID, m ports.Outgoing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.posts {
		if c.posts[i].id == id {
			c.posts[i].out = m
			return nil
		}
	}
	return ports.Errorf(ports.KindNotFound, "edit", "no message %s", id)
}

func (c *chat) texts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, p := range c.posts {
		list = append(list, p.out.Content.Text)
	}
	return list
}

// previewed waits until an answer in the making is shown.
func (c *chat) previewed(ctx context.Context) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !slices.ContainsFunc(c.texts(), func(text string) bool { return strings.HasSuffix(text, "…") }) && ctx.Err() == nil {
		<-tick.C
	}
}

func (c *chat) post(i int) post {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.posts[i]
}

// receive delivers a message as the platform does.
func (c *chat) receive(t *testing.T, m ports.Message) {
	t.Helper()
	c.mu.Lock()
	c.event++
	if m.Event == "" {
		m.Event = strconv.Itoa(c.event)
	}
	m.Addressed = true
	m.ID = cmp.Or(m.ID, ports.MessageID("in-"+m.Event))
	if m.In.Chat == "" {
		m.In.Chat = m.From
	}
	in := c.in
	c.mu.Unlock()
	if err := in.Receive(t.Context(), ports.Batch{Messages: []ports.Message{m}, Cursor: m.Event}); err != nil {
		t.Errorf("Receive: %v", err)
	}
}

func (c *chat) say(t *testing.T, from, text string) {
	t.Helper()
	c.receive(t, ports.Message{From: from, Name: from, Text: text, Private: true})
}

// press presses the button with this value on the i-th message of the chat.
func (c *chat) press(t *testing.T, from string, i int, value string) {
	t.Helper()
	p := c.post(i)
	for _, ch := range p.out.Content.Choices {
		if ch.Value == value {
			c.receive(t, ports.Message{From: from, Private: true, In: ports.Conversation{Chat: p.out.In.Chat}, Choice: &ports.Choice{Question: ch.Question, Field: ch.Field, Value: value}})
			return
		}
	}
	t.Fatalf("message %d has no button %q: %+v", i, value, p.out.Content)
}
