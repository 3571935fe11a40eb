package linechat

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"

	"dragoman/ports"
)

// entry is the body of a feed item: a message of the bot.
type entry struct {
	Text string `json:"text"`
}

// Send keeps the message in the feed, and tells who is connected to look. Who is
// not reads it on coming back. The same nonce again adds nothing.
func (c *Channel) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	if !isName(m.In.Chat) {
		return "", ports.Errorf(ports.KindInvalid, "linechat send", "the conversation is none of this channel")
	}
	if err := ctx.Err(); err != nil {
		return "", wrap("send", err)
	}
	body, err := json.Marshal(entry{Text: m.Content.Text})
	if err != nil {
		return "", wrap("send", err)
	}
	nonce := m.Nonce
	if nonce == "" {
		nonce = rand.Text()
	}
	item, err := c.feed.Append(ctx, m.In.Chat, nonce, body)
	if err != nil {
		return "", wrap("send", err)
	}
	c.tell(m.In.Chat, func(s *session) chan struct{} { return s.wake })
	return ports.MessageID(m.In.Chat + "/" + strconv.FormatInt(item.Seq, 10)), nil
}

// Typing shows that an answer is being made, to who is connected.
func (c *Channel) Typing(_ context.Context, in ports.Conversation) error {
	c.tell(in.Chat, func(s *session) chan struct{} { return s.typing })
	return nil
}

// tell leaves a sign with every session of a person. It never blocks.
func (c *Channel) tell(name string, sign func(*session) chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.there {
		if s.name != name {
			continue
		}
		select {
		case sign(s) <- struct{}{}:
		default: // there is one already
		}
	}
}

// enter lets a session hear of what is sent, until leave.
func (c *Channel) enter(s *session) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there[s] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.there, s)
	}
}
