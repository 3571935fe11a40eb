package telegram

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"dragoman/ports"
)

// maxText is the longest text of a message in UTF-16 units, after entity
// parsing (https://core.telegram.org/bots/api#sendmessage).
const maxText = 4096

// How long a call may take, by what it is worth to wait for.
const (
	sendTimeout  = 30 * time.Second
	dialTimeout  = 10 * time.Second
	quickTimeout = 5 * time.Second // typing, answering a press: worthless when late
)

// Channel is one bot account. Safe for many goroutines.
type Channel struct {
	api       *client
	log       *slog.Logger
	streaming string // how answers in the making are shown
	rich      bool   // rich messages are posted
	pace      pace
	me        atomic.Pointer[account] // known once Run asked
	hook      *hook                   // nil: updates are polled for
	moves     moves
	albums    albums
	drafts    drafts
}

var (
	_ ports.ChannelPort = (*Channel)(nil)
	_ ports.Editor      = (*Channel)(nil)
	_ ports.Typer       = (*Channel)(nil)
	_ ports.Drafter     = (*Channel)(nil)
	_ ports.Reactor     = (*Channel)(nil)
	_ ports.Checker     = (*Channel)(nil)
	_ ports.Hooker      = (*Channel)(nil)
)

// New makes the channel of a bot account. It does no I/O; KindInvalid says what
// is wrong with cfg.
func New(cfg Config, log *slog.Logger) (*Channel, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	c := &Channel{api: newClient(base, cfg.Token), log: log, streaming: cfg.Streaming, rich: cfg.Rich}
	if cfg.Mode == "webhook" {
		if err := cfg.checkWebhook(); err != nil {
			return nil, err
		}
		c.hook = newHook(cfg)
	}
	return c, nil
}

// Traits of Telegram. Edits count against the same limits as messages (one a
// second in a chat, 20 a minute in a group:
// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this),
// and faster ones earned waits of minutes. A draft is shown for 30 seconds
// (https://core.telegram.org/bots/api#sendmessagedraft), in private chats.
func (c *Channel) Traits() ports.Traits {
	t := ports.Traits{MaxText: maxText, Choices: true, ChatLimits: true, Exclusive: true, Drafts: ports.DraftsNowhere, ShowEvery: time.Second, GroupMinute: 20}
	if c.streaming == "edit" || c.streaming == "draft" {
		t.EditEvery, t.GroupEditEvery = 1500*time.Millisecond, 4*time.Second
	}
	if c.streaming == "draft" {
		t.Drafts, t.DraftEvery, t.DraftLife = ports.DraftsPrivate, time.Second, 30*time.Second
	}
	return t
}

// Send posts a message: the Body that Render made, or the text as it is, cut at
// MaxText. Formatting that Telegram refuses is left off; in the place of a rich message
// that it refuses comes an ordinary one that says the same. Telegram has no key
// against doubles, so a lost answer is KindUnsure.
func (c *Channel) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	const op = "telegram sendMessage"
	to, err := targetOf(m.In)
	if err != nil {
		return "", err
	}
	keys, err := keyboardOf(m.Content.Choices)
	if err != nil {
		return "", err
	}
	p := sendParams{Keyboard: keys}
	var posted struct {
		ID int64 `json:"message_id"`
	}
	send := func(ctx context.Context, at target) error {
		p.target, p.Reply = at.posting(), replyTo(at, m.ReplyTo)
		post := func() error {
			return c.api.post(ctx, p.method("sendMessage", "sendRichMessage"), sendTimeout, p, &posted)
		}
		err := post()
		if p.Reply != nil && isReplyRefused(err) {
			p.Reply, m.ReplyTo = nil, ""
			err = post()
		}
		return err
	}
	at := to
	err = c.try(m.Content, to.Chat, m.Nonce, func(f form) (err error) {
		p.form = f
		at, err = c.in(ctx, at, send)
		return err
	})
	if err := c.wrapWrite(op, at.Chat, err); err != nil {
		return "", err
	}
	c.drafts.sent(to)
	return messageID(at.Chat, posted.ID), nil
}

// Edit replaces a message's text, formatting and buttons, as Send would post
// them; without choices the buttons go away.
func (c *Channel) Edit(ctx context.Context, id ports.MessageID, m ports.Outgoing) error {
	const op = "telegram editMessageText"
	chat, message, err := splitID(id)
	if err != nil {
		return err
	}
	keys, err := keyboardOf(m.Content.Choices)
	if err != nil {
		return err
	}
	err = c.try(m.Content, chat, m.Nonce, func(f form) error {
		return c.api.post(ctx, "editMessageText", sendTimeout, editParams{Chat: chat, Message: message, form: f, Keyboard: keys}, nil)
	})
	if isUnchanged(err) {
		err = nil
	}
	return c.wrapWrite(op, chat, err)
}

// Typing shows "typing…" for five seconds or until the next message.
func (c *Channel) Typing(ctx context.Context, in ports.Conversation) error {
	to, err := targetOf(in)
	if err != nil {
		return err
	}
	_, err = c.in(ctx, to, func(ctx context.Context, at target) error {
		return c.api.post(ctx, "sendChatAction", quickTimeout, actionParams{target: at, Action: "typing"}, nil)
	})
	return wrap("telegram sendChatAction", err)
}

// Check asks Telegram who the bot is, which proves the token and disturbs no poller.
func (c *Channel) Check(ctx context.Context) (string, error) {
	me, err := c.account(ctx)
	if err != nil {
		return "", err
	}
	return "the bot is @" + me.Username, nil
}

// account asks who the bot is.
func (c *Channel) account(ctx context.Context) (account, error) {
	var me account
	err := c.api.post(ctx, "getMe", meTimeout, struct{}{}, &me)
	return me, wrap("telegram getMe", refusedToken(err))
}

// account is who the bot is.
type account struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
}
