package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"dragoman/adapters/internal/markdown"
	"dragoman/ports"
)

// sendNonce sets the nonces of sends apart from those of people's messages.
const sendNonce = "s:"

// Send appends the message to the chat's feed, with a link to its file. The same nonce
// again shows nothing new and gives the same id.
func (c *Channel) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	if m.In.Chat == "" {
		return "", ports.Errorf(ports.KindInvalid, "web send", "the conversation names no chat")
	}
	e, err := outgoing(kindBot, m.Content)
	if err != nil {
		return "", wrap("send", err)
	}
	nonce := m.Nonce
	if nonce == "" {
		nonce = rand.Text()
	}
	c.hub.settle(ctx, m.In.Chat)
	f, err := c.append(ctx, m.In.Chat, sendNonce+nonce, e)
	if err != nil {
		return "", wrap("send", err)
	}
	return messageID(m.In.Chat, f.Seq), nil
}

// Edit appends the new form of a message to its feed.
func (c *Channel) Edit(ctx context.Context, id ports.MessageID, m ports.Outgoing) error {
	chat, seq, ok := parseID(id)
	if !ok {
		return ports.Errorf(ports.KindNotFound, "web edit", "no such message")
	}
	if err := c.posted(ctx, chat, seq); err != nil {
		return wrap("edit", err)
	}
	e, err := outgoing(kindEdit, m.Content)
	if err != nil {
		return wrap("edit", err)
	}
	e.ID = string(id)
	nonce, err := editNonce(m.Nonce, e)
	if err != nil {
		return wrap("edit", err)
	}
	_, err = c.append(ctx, chat, nonce, e)
	return wrap("edit", err)
}

// Draft shows the text so far to those who look at the chat through this process.
func (c *Channel) Draft(_ context.Context, in ports.Conversation, text string) error {
	c.hub.draft(in.Chat, func() string { return markdown.HTML(text) })
	return nil
}

// Typing shows to those who look that an answer is being made.
func (c *Channel) Typing(_ context.Context, in ports.Conversation) error {
	c.hub.typing(in.Chat)
	return nil
}

// Render makes HTML of the content. The page knows no limit, so it is one part.
func (c *Channel) Render(content ports.Content) ([]ports.Content, error) {
	b, err := json.Marshal(body{HTML: markdown.HTML(content.Text)})
	if err != nil {
		return nil, wrap("render", err)
	}
	content.Body = b
	return []ports.Content{content}, nil
}

func (c *Channel) append(ctx context.Context, chat, nonce string, e entry) (ports.FeedItem, error) {
	if err := ctx.Err(); err != nil {
		return ports.FeedItem{}, err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return ports.FeedItem{}, err
	}
	f, err := c.feed.Append(ctx, chat, nonce, b)
	if err != nil {
		return ports.FeedItem{}, err
	}
	c.hub.appended(chat, e.Kind == kindBot)
	return f, nil
}

// posted is nil if the item is a message of ours.
func (c *Channel) posted(ctx context.Context, chat string, seq int64) error {
	found, err := c.feed.Tail(ctx, chat, seq-1, 1)
	if err != nil {
		return err
	}
	if len(found) == 0 || found[0].Seq != seq {
		return ports.Errorf(ports.KindNotFound, "web tail", "no such message")
	}
	it, err := newItem(chat, found[0])
	if err != nil {
		return err
	}
	if it.Kind != kindBot {
		return ports.Errorf(ports.KindNotFound, "web tail", "not a message of ours")
	}
	return nil
}

func outgoing(kind string, content ports.Content) (entry, error) {
	e := entry{Kind: kind, Choices: content.Choices}
	switch {
	case len(content.Body) > 0:
		var b body
		if err := json.Unmarshal(content.Body, &b); err != nil {
			return entry{}, ports.Errorf(ports.KindInvalid, "web body", "not made by this channel: %w", err)
		}
		e.HTML = b.HTML
	case content.File != nil:
		e.HTML = markdown.HTML(content.Text)
	default:
		e.Text = content.Text
	}
	if content.File != nil {
		e.HTML += linkTo(*content.File)
	}
	return e, nil
}

// editNonce lets a try of the same edit count once, while another form under the
// same delivery (a status that moves on) still shows.
func editNonce(nonce string, e entry) (string, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	if nonce == "" {
		nonce = rand.Text()
	}
	sum := sha256.Sum256(b)
	return "e:" + nonce + ":" + hex.EncodeToString(sum[:8]), nil
}
