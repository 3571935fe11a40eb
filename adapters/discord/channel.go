package discord

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"dragoman/ports"
)

// maxText is the longest content of a message
// (https://discord.com/developers/docs/resources/message#create-message).
// Counted in UTF-16 units it is never more than Discord counts.
const maxText = 2000

// How long a call may take, by what it is worth to wait for.
const (
	sendTimeout  = 30 * time.Second
	dialTimeout  = 10 * time.Second
	askTimeout   = 15 * time.Second
	quickTimeout = 5 * time.Second // typing, a reaction: worthless when late
)

// Channel is one bot account. Safe for many goroutines.
type Channel struct {
	api       *client
	log       *slog.Logger
	streaming bool // answers in the making are shown
	threads   bool // a question in a server's channel opens a thread
	defers    defers
	tickets   tickets
	posts     posts
}

var (
	_ ports.ChannelPort = (*Channel)(nil)
	_ ports.Editor      = (*Channel)(nil)
	_ ports.Typer       = (*Channel)(nil)
	_ ports.Reactor     = (*Channel)(nil)
	_ ports.Renderer    = (*Channel)(nil)
	_ ports.Checker     = (*Channel)(nil)
)

// New makes the channel of a bot account. It does no I/O; KindInvalid says what
// is wrong with cfg.
func New(cfg Config, log *slog.Logger) (*Channel, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	return &Channel{api: newClient(base, cfg.Token), log: log, streaming: cfg.Streaming == "edit", threads: cfg.Threads}, nil
}

// Traits of Discord. Edits count against a limit of about five in five seconds.
func (c *Channel) Traits() ports.Traits {
	t := ports.Traits{MaxText: maxText, Choices: true, Exclusive: true}
	if c.streaming {
		t.EditEvery = 1500 * time.Millisecond
	}
	return t
}

// Render makes messages of Markdown.
func (c *Channel) Render(content ports.Content) ([]ports.Content, error) {
	return render(content, maxText)
}

// Send posts a message: the Body that Render made, or the text as it is, cut at
// MaxText. It mentions nobody. The first answer to a slash command takes the place
// of its "thinking…", as long as Discord lets us; then, and without one, it is a
// message like any other.
func (c *Channel) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	p, err := payloadOf(m)
	if err != nil {
		return "", err
	}
	if t, ok := ticketOf(m.Reply); ok {
		id, done, err := c.respond(ctx, t, m.Nonce, p)
		if err != nil {
			return "", err
		}
		if done {
			c.tickets.take(m.In, t, m.Nonce)
			c.settle(ctx, m)
			return id, nil
		}
	}
	id, err := c.post(ctx, m, p, func(m ports.Outgoing, room string) (request, error) {
		return request{method: http.MethodPost, path: "/channels/" + room + "/messages", body: p.posted(m, room), timeout: sendTimeout}, nil
	})
	if err == nil {
		c.settle(ctx, m)
	}
	return id, err
}

// poster makes the request that posts a message in a room.
type poster func(m ports.Outgoing, room string) (request, error)

// post posts p in the conversation of m. Where that is a thread which is not there
// yet, it is opened; where no thread may be opened, the message that it was to open
// from is answered instead.
func (c *Channel) post(ctx context.Context, m ports.Outgoing, p payload, of poster) (ports.MessageID, error) {
	in := m.In
	room, err := roomOf(in)
	if err != nil {
		return "", err
	}
	id, err := c.postIn(ctx, room, m, p, of)
	if in.Thread == "" || !c.threads || !hasCode(err, codeUnknownChannel) {
		return id, err
	}
	switch err := c.openThread(ctx, in); ports.KindOf(err) {
	case ports.KindForbidden, ports.KindInvalid:
		c.log.Warn("discord_thread_not_opened", "chat", in.Chat, "err", err)
		room, m.ReplyTo = in.Chat, messageID(in.Chat, in.Thread)
	default:
		if err != nil {
			return "", err
		}
	}
	return c.postIn(ctx, room, m, p, of)
}

// postIn posts p in a room, unless a try before it has. To reply takes a right that an
// answer does not.
func (c *Channel) postIn(ctx context.Context, room string, m ports.Outgoing, p payload, of poster) (ports.MessageID, error) {
	if found, err := c.readBack(ctx, room, m, p); found != "" || err != nil {
		return found, err
	}
	posted, err := c.postOnce(ctx, room, m, of)
	if hasCode(err, codeNoReply) {
		m.ReplyTo = ""
		posted, err = c.postOnce(ctx, room, m, of)
	}
	if err != nil {
		return "", err
	}
	c.posts.note(room, posted.ID)
	return messageID(room, posted.ID), nil
}

func (c *Channel) postOnce(ctx context.Context, room string, m ports.Outgoing, of poster) (posted message, err error) {
	r, err := of(m, room)
	if err != nil {
		return posted, err
	}
	return posted, wrap("discord create message", true, c.api.do(ctx, r, &posted))
}

// Edit replaces a message's text and buttons, as Send would post them; without
// choices the buttons go away.
func (c *Channel) Edit(ctx context.Context, id ports.MessageID, m ports.Outgoing) error {
	room, message, err := splitID(id)
	if err != nil {
		return err
	}
	p, err := payloadOf(m)
	if err != nil {
		return err
	}
	r := request{method: http.MethodPatch, path: "/channels/" + room + "/messages/" + message, body: p.edited(), timeout: sendTimeout}
	if err := c.api.do(ctx, r, nil); err != nil {
		return wrap("discord edit message", false, err)
	}
	c.settle(ctx, m)
	return nil
}

// Typing shows "… is typing" for ten seconds or until the next message.
func (c *Channel) Typing(ctx context.Context, in ports.Conversation) error {
	room, err := roomOf(in)
	if err != nil {
		return err
	}
	r := request{method: http.MethodPost, path: "/channels/" + room + "/typing", timeout: quickTimeout}
	err = c.api.do(ctx, r, nil)
	if in.Thread != "" && c.threads && hasCode(err, codeUnknownChannel) {
		if err := c.openThread(ctx, in); err != nil {
			return err
		}
		err = c.api.do(ctx, r, nil)
	}
	return wrap("discord typing", false, err)
}

// React puts an emoji on a message.
func (c *Channel) React(ctx context.Context, _ ports.Conversation, id ports.MessageID, emoji string) error {
	room, message, err := splitID(id)
	if err != nil {
		return err
	}
	path := "/channels/" + room + "/messages/" + message + "/reactions/" + url.PathEscape(emoji) + "/@me"
	return wrap("discord react", false, c.api.do(ctx, request{method: http.MethodPut, path: path, timeout: quickTimeout}, nil))
}

// Check asks Discord who the bot is and whether it may read what people write,
// which proves the token and its intents and disturbs no session.
func (c *Channel) Check(ctx context.Context) (string, error) {
	me, err := c.account(ctx)
	if err != nil {
		return "", err
	}
	const op = "discord application"
	var app struct {
		Flags uint64 `json:"flags"`
	}
	r := request{method: http.MethodGet, path: "/applications/@me", timeout: askTimeout}
	if err := c.api.do(ctx, r, &app); err != nil {
		return "", wrap(op, false, refusedToken(err))
	}
	if app.Flags&(flagContent|flagContentLimited) == 0 {
		return "", &ports.Error{Kind: ports.KindUnauthorized, Op: op, Err: &closed{code: closeIntentsDenied}}
	}
	return "the bot is " + me.Username, nil
}

// Flags of an application that may read what people write.
const (
	flagContent        = 1 << 18
	flagContentLimited = 1 << 19
)

// account asks who the bot is.
func (c *Channel) account(ctx context.Context) (user, error) {
	const op = "discord account"
	var me user
	r := request{method: http.MethodGet, path: "/users/@me", timeout: askTimeout}
	if err := c.api.do(ctx, r, &me); err != nil {
		return me, wrap(op, false, refusedToken(err))
	}
	if me.ID == "" {
		return me, &ports.Error{Kind: ports.KindProtocol, Op: op, Err: fmt.Errorf("an account without an id: is api_url Discord's?")}
	}
	return me, nil
}
