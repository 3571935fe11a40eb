package discord

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/adapters/internal/markdown"
	"dragoman/ports"
)

// payload is what a message says, in the form of the API.
type payload struct {
	Content    string     `json:"content"`
	Flags      int        `json:"flags,omitempty"`
	Components []row      `json:"components"`
	Allowed    allowed    `json:"allowed_mentions"`
	Nonce      string     `json:"nonce,omitempty"`
	Enforce    bool       `json:"enforce_nonce,omitempty"`
	Reference  *reference `json:"message_reference,omitempty"`
}

// allowed says who may be mentioned: nobody, whatever a model wrote.
type allowed struct {
	Parse   []string `json:"parse"`
	Replied bool     `json:"replied_user"`
}

type reference struct {
	Message string `json:"message_id"`
	Strict  bool   `json:"fail_if_not_exists"`
}

// flagNoEmbeds keeps links from growing previews.
const flagNoEmbeds = 1 << 2

func payloadOf(m ports.Outgoing) (payload, error) {
	rows, err := rowsOf(m.Content.Choices)
	if err != nil {
		return payload{}, err
	}
	return payload{Content: textOf(m.Content), Flags: flagNoEmbeds, Components: rows, Allowed: allowed{Parse: []string{}}}, nil
}

// posted is p as a new message of a room.
func (p payload) posted(m ports.Outgoing, room string) payload {
	p.Nonce, p.Enforce = nonceOf(m.Nonce), true
	if where, id, err := splitID(m.ReplyTo); err == nil && where == room && len(m.Reply) == 0 {
		// A message that is gone by now is no reason not to answer.
		p.Reference = &reference{Message: id}
	}
	return p
}

// edited is p as the new form of a message.
func (p payload) edited() payload { return p }

// textOf is what Render made, or the beginning of the text, as it is to be read.
func textOf(c ports.Content) string {
	if len(c.Body) == 0 {
		if pages := pagesOf(markdown.Literal(c.Text), maxText); len(pages) > 0 {
			return pages[0]
		}
	}
	text := strings.TrimSpace(cut(written(c, maxText), maxText))
	if strings.ContainsFunc(text, unicode.IsGraphic) {
		return text
	}
	if c.File != nil {
		return ""
	}
	return nothing
}

// cut is the longest beginning of s with at most n UTF-16 units. It never halves a
// character, and what is not UTF-8 becomes U+FFFD.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	for i, r := range s {
		if n--; r > 0xFFFF {
			n--
		}
		if n < 0 {
			return s[:i]
		}
	}
	return s
}

// nonceOf is a delivery's nonce in the 25 characters that Discord takes.
func nonceOf(delivery string) string {
	sum := sha256.Sum256([]byte(delivery))
	return base32.StdEncoding.EncodeToString(sum[:])[:25]
}

// roomOf is the channel of Discord that a conversation is: a thread is one.
func roomOf(in ports.Conversation) (string, error) {
	room := in.Chat
	if in.Thread != "" {
		room = in.Thread
	}
	if !isID(room) || !isID(in.Chat) {
		return "", ports.Errorf(ports.KindInvalid, "discord conversation", "not one of this channel")
	}
	return room, nil
}

// messageID says where a message is, too: no call about one can do without.
func messageID(room, message string) ports.MessageID {
	return ports.MessageID(room + "/" + message)
}

func splitID(id ports.MessageID) (room, message string, err error) {
	room, message, _ = strings.Cut(string(id), "/")
	if !isID(room) || !isID(message) {
		return "", "", ports.Errorf(ports.KindInvalid, "discord message id", "not one of this channel")
	}
	return room, message, nil
}

// isID: nothing else may come into a path.
func isID(s string) bool {
	return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}
