package crash

import (
	"context"
	"io"

	"dragoman/ports"
)

// platform is what the recorded channel can do.
type platform interface {
	ports.ChannelPort
	ports.Editor
	ports.Typer
	ports.Renderer
	ports.Drafter
	ports.Reactor
	ports.Opener
	ports.Uploader
}

// channel records every call of a channel with these abilities.
type channel struct {
	inner platform
	p     *points
}

var _ platform = (*channel)(nil)

func (c *channel) Traits() ports.Traits {
	defer c.p.call(beside + "channel.Traits")()
	return c.inner.Traits()
}

func (c *channel) Run(ctx context.Context, in ports.Receiver) error {
	defer c.p.call(beside + "channel.Run")()
	return c.inner.Run(ctx, &receiver{in.(receives), c.p})
}

// Send notes that a message is on its way, until it is marked.
func (c *channel) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	name := c.p.posts("channel.Send", m)
	c.p.pass(name + " | before")
	c.p.fact(factSends, m.Nonce)
	id, err := c.inner.Send(ctx, m)
	c.p.pass(name + " | after")
	return id, err
}

// Upload is Send for a file.
func (c *channel) Upload(ctx context.Context, m ports.Outgoing, open func(context.Context) (io.ReadCloser, error)) (ports.MessageID, error) {
	name := c.p.posts("channel.Upload", m)
	c.p.pass(name + " | before")
	c.p.fact(factSends, m.Nonce)
	id, err := c.inner.Upload(ctx, m, open)
	c.p.pass(name + " | after")
	return id, err
}

func (c *channel) Open(ctx context.Context, a ports.Attachment) (io.ReadCloser, error) {
	defer c.p.call("channel.Open " + a.MIME)()
	return c.inner.Open(ctx, a)
}

func (c *channel) Edit(ctx context.Context, id ports.MessageID, m ports.Outgoing) error {
	defer c.p.call(c.p.posts("channel.Edit", m))()
	return c.inner.Edit(ctx, id, m)
}

func (c *channel) Typing(ctx context.Context, in ports.Conversation) error {
	defer c.p.call(beside + "channel.Typing")()
	return c.inner.Typing(ctx, in)
}

func (c *channel) Draft(ctx context.Context, in ports.Conversation, text string) error {
	defer c.p.call(beside + "channel.Draft")()
	return c.inner.Draft(ctx, in, text)
}

func (c *channel) React(ctx context.Context, in ports.Conversation, id ports.MessageID, emoji string) error {
	defer c.p.call(beside + "channel.React")()
	return c.inner.React(ctx, in, id, emoji)
}

func (c *channel) Render(content ports.Content) ([]ports.Content, error) {
	shows := showsOf(content)
	if shows == preview {
		defer c.p.call(beside + "channel.Render preview")()
		return c.inner.Render(content)
	}
	defer c.p.call("channel.Render " + shows)()
	return c.inner.Render(content)
}

// bareChannel records a channel that posts, and can do nothing else.
type bareChannel struct{ channel *channel }

var _ ports.ChannelPort = (*bareChannel)(nil)
var _ ports.Renderer = (*bareChannel)(nil)

func (b *bareChannel) Traits() ports.Traits { return b.channel.Traits() }

func (b *bareChannel) Run(ctx context.Context, in ports.Receiver) error {
	return b.channel.Run(ctx, in)
}

func (b *bareChannel) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	return b.channel.Send(ctx, m)
}

func (b *bareChannel) Render(content ports.Content) ([]ports.Content, error) {
	return b.channel.Render(content)
}

// receives is what a receiver can do.
type receives interface {
	ports.Receiver
	ports.Knower
	ports.Reporter
	ports.Menu
}

// receiver records what a channel calls.
type receiver struct {
	inner receives
	p     *points
}

var _ receives = (*receiver)(nil)

// redelivered marks the context of a batch that comes once more.
type redelivered struct{}

// Receive delivers each batch twice, as a platform does that did not hear that it
// was received: a death before the platform hears, and a connection that breaks
// there, look alike to it.
func (r *receiver) Receive(ctx context.Context, b ports.Batch) error {
	for i, m := range b.Messages {
		if m.Text == sayGone {
			b.Messages[i] = ports.Message{Event: m.Event, ID: m.ReplyTo, In: m.In, Change: ports.ChangeDelete}
		}
	}
	if err := r.receive(ctx, b); err != nil || len(b.Messages) == 0 {
		return err
	}
	defer r.p.call(beside + "receiver.Receive again")()
	return r.inner.Receive(context.WithValue(ctx, redelivered{}, true), b)
}

func (r *receiver) receive(ctx context.Context, b ports.Batch) error {
	defer r.p.call("receiver.Receive " + saysAll(b.Messages))()
	return r.inner.Receive(ctx, b)
}

func (r *receiver) Cursor(ctx context.Context) (string, error) {
	defer r.p.call(beside + "receiver.Cursor")()
	return r.inner.Cursor(ctx)
}

func (r *receiver) Known(ctx context.Context, m ports.Message) (bool, error) {
	defer r.p.call("receiver.Known " + saysOf(m))()
	return r.inner.Known(ctx, m)
}

func (r *receiver) Commands() []ports.Command {
	defer r.p.call(beside + "receiver.Commands")()
	return r.inner.Commands()
}

func (r *receiver) Report(err error) {
	defer r.p.call(beside + "receiver.Report")()
	r.inner.Report(err)
}
