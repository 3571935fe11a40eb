package telegram

import (
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The objects of the Bot API, as far as the fake makes them.

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username,omitempty"`
	Language  string `json:"language_code,omitempty"`
}

type chatInfo struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	Username  string `json:"username,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

type message struct {
	ID              int          `json:"message_id"`
	Thread          int          `json:"message_thread_id,omitempty"`
	IsTopic         bool         `json:"is_topic_message,omitempty"`
	From            *user        `json:"from,omitempty"`
	Chat            chatInfo     `json:"chat"`
	Date            int64        `json:"date"`
	EditDate        int64        `json:"edit_date,omitempty"`
	ReplyTo         *message     `json:"reply_to_message,omitempty"`
	Quote           *quote       `json:"quote,omitempty"`
	Album           string       `json:"media_group_id,omitempty"`
	Text            string       `json:"text,omitempty"`
	Entities        []Entity     `json:"entities,omitempty"`
	Caption         string       `json:"caption,omitempty"`
	CaptionEntities []Entity     `json:"caption_entities,omitempty"`
	Rich            *richMessage `json:"rich_message,omitempty"`
	media
	Preview      *previewOptions `json:"link_preview_options,omitempty"`
	Markup       *markup         `json:"reply_markup,omitempty"`
	MigrateTo    int64           `json:"migrate_to_chat_id,omitempty"`
	MigrateFrom  int64           `json:"migrate_from_chat_id,omitempty"`
	TopicCreated *topicCreated   `json:"forum_topic_created,omitempty"`
	TopicEdited  *topicEdited    `json:"forum_topic_edited,omitempty"`
	TopicClosed  *struct{}       `json:"forum_topic_closed,omitempty"`
	TopicOpened  *struct{}       `json:"forum_topic_reopened,omitempty"`

	preview   bool             // links may unfold
	formats   []Entity         // those that the bot asked for
	reactions map[int64]string // by who reacts
}

// said is the text or the caption.
func (m *message) said() string { return m.Text + m.Caption }

// quoted is the message as one that replies to it carries it.
func (m *message) quoted() *message {
	q := *m
	q.ReplyTo = nil
	return &q
}

type quote struct {
	Text     string `json:"text"`
	Position int    `json:"position"`
	Manual   bool   `json:"is_manual,omitempty"`
}

type previewOptions struct {
	Off bool `json:"is_disabled,omitempty"`
}

type topicCreated struct {
	Name  string `json:"name"`
	Color int    `json:"icon_color"`
}

type topicEdited struct {
	Name string `json:"name,omitempty"`
}

type callbackQuery struct {
	ID       string   `json:"id"`
	From     user     `json:"from"`
	Message  *message `json:"message"`
	Instance string   `json:"chat_instance"`
	Data     string   `json:"data"`
}

type markup struct {
	Rows [][]Button `json:"inline_keyboard"`
}

// Button is one of an inline keyboard.
type Button struct {
	Text  string  `json:"text"`
	Data  *string `json:"callback_data,omitempty"`
	URL   *string `json:"url,omitempty"`
	Style string  `json:"style,omitempty"` // danger, success or primary
}

var markedUp = regexp.MustCompile(`(?:^|\s)(/[A-Za-z0-9_]{1,32}(?:@[A-Za-z0-9_]{4,32})?|@[A-Za-z0-9_]{4,32})`)

// entitiesOf finds commands and mentions, as Telegram's server does, in UTF-16 units.
func entitiesOf(text string) []Entity {
	var found []Entity
	if !strings.ContainsAny(text, "/@") {
		return nil // nearly all texts, and the search costs more than the rest of a call
	}
	for _, at := range markedUp.FindAllStringSubmatchIndex(text, -1) {
		word := text[at[2]:at[3]]
		kind := "mention"
		if word[0] == '/' {
			kind = "bot_command"
		}
		found = append(found, Entity{Type: kind, Offset: units(text[:at[2]]), Length: units(word)})
	}
	return found
}

// units is the length of s in UTF-16 code units, as Telegram counts.
func units(s string) int {
	n := 0
	for _, r := range s {
		if r == utf8.RuneError {
			n++
			continue
		}
		n += utf16.RuneLen(r)
	}
	return n
}
