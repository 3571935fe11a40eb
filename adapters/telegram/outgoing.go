package telegram

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"dragoman/ports"
)

// Parameters of the methods that post. Text goes out as it is, without
// parse_mode; entities mark what is formatted.

type target struct {
	Chat   int64 `json:"chat_id"`
	Thread int64 `json:"message_thread_id,omitempty"`
}

type content struct {
	page
	Preview *previewOptions `json:"link_preview_options,omitempty"`
}

type previewOptions struct {
	Off bool `json:"is_disabled"`
}

type sendParams struct {
	target
	form
	Keyboard *keyboard    `json:"reply_markup,omitempty"`
	Reply    *replyParams `json:"reply_parameters,omitempty"`
}

type editParams struct {
	Chat    int64 `json:"chat_id"`
	Message int64 `json:"message_id"`
	form
	Keyboard *keyboard `json:"reply_markup,omitempty"`
}

type actionParams struct {
	target
	Action string `json:"action"`
}

type replyParams struct {
	Message int64 `json:"message_id"`
	Loose   bool  `json:"allow_sending_without_reply"`
}

func targetOf(in ports.Conversation) (target, error) {
	const op = "telegram conversation"
	chat, err := strconv.ParseInt(in.Chat, 10, 64)
	if err != nil {
		return target{}, ports.Errorf(ports.KindInvalid, op, "chat is not one of this channel: %w", err)
	}
	if in.Thread == "" {
		return target{Chat: chat}, nil
	}
	thread, err := strconv.ParseInt(in.Thread, 10, 64)
	if err != nil {
		return target{}, ports.Errorf(ports.KindInvalid, op, "thread is not one of this channel: %w", err)
	}
	return target{Chat: chat, Thread: thread}, nil
}

// posting is where a message is posted: one for the General topic has no thread,
// and one that names it is refused, while a chat action has to name it.
func (t target) posting() target {
	if strconv.FormatInt(t.Thread, 10) == generalThread {
		t.Thread = 0
	}
	return t
}

// contentOf is what Render made of c, or its text as it is.
func contentOf(c ports.Content) content {
	var p page
	if err := json.Unmarshal(c.Body, &p); err != nil || p.Text == "" {
		return plain(c.Text)
	}
	return content{page: p, Preview: &previewOptions{Off: true}}
}

// plain is text without formatting.
func plain(text string) content {
	// Telegram trims before it counts.
	return content{page: page{Text: cut(strings.TrimSpace(text), maxText)}, Preview: &previewOptions{Off: true}}
}

// replyTo names the message that is answered. One that is not of this chat, or
// is gone by now, is no reason not to answer.
func replyTo(to target, id ports.MessageID) *replyParams {
	if id == "" {
		return nil
	}
	chat, message, err := splitID(id)
	if err != nil || chat != to.Chat {
		return nil
	}
	return &replyParams{Message: message, Loose: true}
}

// cut is the longest beginning of s with at most n UTF-16 units. It never
// halves a character, and what is not UTF-8 becomes U+FFFD, which Telegram takes.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	for i, r := range s {
		if n -= width(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// units is the length of a text in UTF-16 units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += width(r)
	}
	return n
}

// width of a character in UTF-16 units.
func width(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// messageID is unique in the channel: Telegram's own ids are so in their chat only.
func messageID(chat, message int64) ports.MessageID {
	return ports.MessageID(strconv.FormatInt(chat, 10) + "/" + strconv.FormatInt(message, 10))
}

func splitID(id ports.MessageID) (chat, message int64, err error) {
	c, m, ok := strings.Cut(string(id), "/")
	chat, err1 := strconv.ParseInt(c, 10, 64)
	message, err2 := strconv.ParseInt(m, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, ports.Errorf(ports.KindInvalid, "telegram message id", "not one of this channel")
	}
	return chat, message, nil
}
