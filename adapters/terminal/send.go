package terminal

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"dragoman/ports"
)

// Send appends the message to the conversation's feed. The same nonce again shows
// nothing new and gives the same id.
func (c *Channel) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	if m.In.Chat == "" {
		return "", ports.Errorf(ports.KindInvalid, "terminal send", "the conversation names no chat")
	}
	nonce := m.Nonce
	if nonce == "" {
		nonce = rand.Text()
	}
	f, err := c.append(ctx, m.In.Chat, sendNonce+nonce, entry{Text: m.Content.Text, Choices: m.Content.Choices})
	if err != nil {
		return "", wrap("send", err)
	}
	return messageID(m.In.Chat, f.Seq), nil
}

// Draft shows the text so far to the terminal that looks.
func (c *Channel) Draft(_ context.Context, in ports.Conversation, text string) error {
	c.hub.change(in.Chat, func(chat *chat) { chat.draft = &text })
	return nil
}

// Typing shows to the terminal that looks that an answer is being made.
func (c *Channel) Typing(_ context.Context, in ports.Conversation) error {
	c.hub.change(in.Chat, func(chat *chat) { chat.typing = true })
	return nil
}

func (c *Channel) append(ctx context.Context, chatName, nonce string, e entry) (ports.FeedItem, error) {
	if err := ctx.Err(); err != nil {
		return ports.FeedItem{}, err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return ports.FeedItem{}, err
	}
	f, err := c.feed.Append(ctx, chatName, nonce, b)
	if err != nil {
		return ports.FeedItem{}, err
	}
	c.hub.change(chatName, func(chat *chat) {
		if !e.Own {
			chat.draft, chat.typing = nil, false
		}
	})
	return f, nil
}
