package channeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"dragoman/ports"
)

// abilities are all that a channel may have.
type abilities interface {
	ports.Editor
	ports.Typer
	ports.Drafter
	ports.Reactor
	ports.Renderer
	ports.Opener
	ports.Uploader
}

var _ abilities = (*channel)(nil)

// without is the channel with one ability less, or with none.
func (c *channel) without(ability string) ports.ChannelPort {
	switch ability {
	case "Editor":
		return struct {
			ports.ChannelPort
			ports.Typer
			ports.Drafter
			ports.Reactor
			ports.Renderer
			ports.Opener
			ports.Uploader
		}{c, c, c, c, c, c, c}
	case "Typer":
		return struct {
			ports.ChannelPort
			ports.Editor
			ports.Drafter
			ports.Reactor
			ports.Renderer
			ports.Opener
			ports.Uploader
		}{c, c, c, c, c, c, c}
	case "Drafter":
		return struct {
			ports.ChannelPort
			ports.Editor
			ports.Typer
			ports.Reactor
			ports.Renderer
			ports.Opener
			ports.Uploader
		}{c, c, c, c, c, c, c}
	case "Reactor":
		return struct {
			ports.ChannelPort
			ports.Editor
			ports.Typer
			ports.Drafter
			ports.Renderer
			ports.Opener
			ports.Uploader
		}{c, c, c, c, c, c, c}
	case "Renderer":
		return struct {
			ports.ChannelPort
			ports.Editor
			ports.Typer
			ports.Drafter
			ports.Reactor
			ports.Opener
			ports.Uploader
		}{c, c, c, c, c, c, c}
	case "Opener":
		return struct {
			ports.ChannelPort
			ports.Editor
			ports.Typer
			ports.Drafter
			ports.Reactor
			ports.Renderer
			ports.Uploader
		}{c, c, c, c, c, c, c}
	case "Uploader":
		return struct {
			ports.ChannelPort
			ports.Editor
			ports.Typer
			ports.Drafter
			ports.Reactor
			ports.Renderer
			ports.Opener
		}{c, c, c, c, c, c, c}
	case everything:
		return struct{ ports.ChannelPort }{c}
	}
	return c
}

func (c *channel) Edit(_ context.Context, id ports.MessageID, m ports.Outgoing) error {
	text, choices := c.textOf(m.Content), m.Content.Choices
	c.platform.mu.Lock()
	var old post
	for _, r := range c.platform.chats {
		for _, p := range r.shown {
			if p.id == id {
				old = *p
			}
		}
	}
	c.platform.mu.Unlock()
	switch c.bug {
	case "edits by posting":
		_, err := c.platform.post(m.In.Chat, m.Nonce, text, choices)
		return c.wrap(err)
	case "refuses the same":
		if old.text == text && len(old.choices) == len(choices) {
			return &ports.Error{Kind: ports.KindInvalid, Op: "memory edit", Err: errors.New("not modified")}
		}
	case "keeps buttons":
		choices = old.choices
	case "edits its own only":
		if !c.ran.Load() {
			return c.wrap(refusal{FaultForbidden})
		}
	case "edits what is gone":
		_ = c.platform.change(id, text, choices)
		return nil
	}
	return c.wrap(c.platform.change(id, text, choices))
}

func (c *channel) Typing(_ context.Context, in ports.Conversation) error {
	if c.has("types by posting") {
		_, _ = c.platform.post(in.Chat, "typing", "typing…", nil)
	}
	c.platform.mu.Lock()
	defer c.platform.mu.Unlock()
	c.platform.chats[in.Chat].typing = !c.has("types nothing")
	return nil
}

func (c *channel) Draft(_ context.Context, in ports.Conversation, text string) error {
	if !c.has("leaves drafts") {
		return nil
	}
	_, err := c.platform.post(in.Chat, "", text, nil)
	return c.wrap(err)
}

func (c *channel) React(context.Context, ports.Conversation, ports.MessageID, string) error {
	if c.has("cannot react") {
		return c.wrap(refusal{FaultGone})
	}
	return nil
}

func (c *channel) Render(content ports.Content) ([]ports.Content, error) {
	var parts []ports.Content
	for chunk := range slices.Chunk([]byte(content.Text), memoryLimit) {
		body, err := json.Marshal(string(chunk))
		if err != nil {
			return nil, err
		}
		parts = append(parts, ports.Content{Text: string(chunk), Body: body})
	}
	if c.has("splits badly") && len(parts) > 1 {
		parts = parts[:len(parts)-1]
	}
	at := len(parts) - 1
	if c.has("buttons first") {
		at = 0
	}
	parts[at].Choices = content.Choices
	if c.has("no body") {
		parts[0].Body = nil
	}
	return parts, nil
}

func (c *channel) Open(_ context.Context, a ports.Attachment) (io.ReadCloser, error) {
	c.platform.mu.Lock()
	defer c.platform.mu.Unlock()
	data, ok := c.platform.files[a.ID]
	switch {
	case c.has("opens nothing after a restart") && !c.ran.Load(), !ok:
		return nil, c.wrap(refusal{FaultGone})
	case c.has("reads as text"):
		data = bytes.ToValidUTF8(data, nil)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (c *channel) Upload(ctx context.Context, m ports.Outgoing, open func(context.Context) (io.ReadCloser, error)) (ports.MessageID, error) {
	file, err := open(ctx)
	if err != nil {
		if c.has("forgets why") {
			return "", &ports.Error{Kind: ports.KindInvalid, Op: "memory upload", Err: err}
		}
		return "", c.wrap(err)
	}
	if !c.has("leaves files open") {
		defer func() { _ = file.Close() }()
	}
	data, err := io.ReadAll(file)
	if err != nil && !c.has("posts half of a file") {
		return "", c.wrap(err)
	}
	if c.has("posts files as text") {
		data = bytes.ToValidUTF8(data, nil)
	}
	name, text := m.Content.File.Name, c.textOf(m.Content)
	if c.has("loses captions") {
		text = ""
	}
	id, postErr := c.platform.post(m.In.Chat, m.Nonce, text, m.Content.Choices)
	c.platform.mu.Lock()
	defer c.platform.mu.Unlock()
	if r := c.platform.chats[m.In.Chat]; r != nil {
		r.files = append(r.files, ShownFile{name, data, text})
	}
	if err != nil {
		return id, c.wrap(err)
	}
	return id, c.wrap(postErr)
}
