package telegram

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Telegram's limits, https://core.telegram.org/bots/api#sendmessage and #inlinekeyboardbutton.
const (
	maxText    = 4096 // UTF-16 units
	maxCaption = 1024
	maxData    = 64 // bytes
	maxButtons = 100
	maxToast   = 200
)

// chat and all that was said in it.
type chat struct {
	info       chatInfo
	blocked    bool  // the person blocked the bot
	kicked     bool  // the bot was kicked out of the group
	started    bool  // the person wrote to the bot, or it is a group
	migratedTo int64 // the supergroup that the group became
	admin      bool  // the bot is an administrator of the group
	topics     map[int]*topic
	drafts     map[int]*draft // by topic
	messages   []*message     // in order of id, deleted ones are nil
	edits      map[int]int
	lastPost   time.Time
	recent     []time.Time // posts and edits of the last minute, for Options.PerGroup
	flood      time.Time   // until then all are refused
	told       time.Time   // when the retry_after of the last 429 is over
	storm      Storm
	stormEnd   time.Time
	refused    int         // how many were, in floods and storms
	typing     map[int]int // by topic
}

// Sent is a message of the bot as the chat shows it now.
type Sent struct {
	ID     int
	Chat   int64
	Thread int
	Text   string // or the caption
	// Entities are those that the bot asked for, moved as the text was trimmed.
	Entities []Entity
	Rows     [][]Button
	File     *File // that the message is; nil: it is text
	Album    string
	ReplyTo  int
	Quote    string // of what it replies to
	Rich     string // the Markdown of a rich message, which has no Text
	Reaction string // of the people, one after the other
	Preview  bool   // links may unfold; the last text's setting
	Edits    int
	At       time.Time
}

// Buttons are all labels, in order.
func (m Sent) Buttons() []string {
	var labels []string
	for _, row := range m.Rows {
		for _, b := range row {
			labels = append(labels, b.Text)
		}
	}
	return labels
}

// Sent lists what the bot posted in a chat and is still there, oldest first.
func (s *Server) Sent(chatID int64) []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chatID]
	if c == nil {
		return nil
	}
	var out []Sent
	for _, m := range c.messages {
		if m == nil || m.From == nil || m.From.ID != BotID {
			continue
		}
		sent := Sent{ID: m.ID, Chat: chatID, Text: m.said(), Entities: m.formats, File: m.file, Album: m.Album, Preview: m.preview, Edits: c.edits[m.ID], At: time.Unix(m.Date, 0)}
		if m.IsTopic {
			sent.Thread = m.Thread
		}
		for _, who := range slices.Sorted(maps.Keys(m.reactions)) {
			sent.Reaction += m.reactions[who]
		}
		if m.Markup != nil {
			sent.Rows = m.Markup.Rows
		}
		if m.ReplyTo != nil {
			sent.ReplyTo = m.ReplyTo.ID
		}
		sent.Rich = m.Rich.markdown()
		if m.Quote != nil {
			sent.Quote = m.Quote.Text
		}
		out = append(out, sent)
	}
	return out
}

// Typing is how often the bot was shown as typing in a chat.
func (s *Server) Typing(chatID int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if c := s.chats[chatID]; c != nil {
		for _, times := range c.typing {
			n += times
		}
	}
	return n
}

// TypingIn is the same of one topic.
func (s *Server) TypingIn(chatID int64, topic int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[chatID]; c != nil {
		return c.typing[topic]
	}
	return 0
}

// Delete removes a message from a chat.
func (s *Server) Delete(chatID int64, messageID int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[chatID]; c != nil && messageID >= 1 && messageID <= len(c.messages) {
		c.messages[messageID-1] = nil
	}
}

// find is the chat of a call, or why it cannot be used. s.mu is held.
func (s *Server) find(p params) (*chat, *reply) {
	no := func(a reply) (*chat, *reply) { return nil, &a }
	if p.form["chat_id"] == "" {
		return no(badRequest("chat_id is empty"))
	}
	c := s.chats[p.int("chat_id")]
	switch {
	case c == nil:
		return no(badRequest("chat not found"))
	case c.migratedTo != 0:
		a := badRequest("group chat was upgraded to a supergroup chat")
		a.Parameters = &parameters{MigrateTo: c.migratedTo}
		return no(a)
	case c.blocked:
		return no(refuse(http.StatusForbidden, "Forbidden: bot was blocked by the user"))
	case c.kicked:
		return no(refuse(http.StatusForbidden, "Forbidden: bot was kicked from the "+c.info.Type+" chat"))
	case !c.started:
		return no(refuse(http.StatusForbidden, "Forbidden: bot can't initiate conversation with a user"))
	}
	return c, nil
}

// message is one by id, or nil.
func (c *chat) message(id int64) *message {
	if id < 1 || id > int64(len(c.messages)) {
		return nil
	}
	return c.messages[id-1]
}

// add appends a message and gives it its id.
func (c *chat) add(m *message) *message {
	m.ID, m.Chat, m.Date = len(c.messages)+1, c.info, time.Now().Unix()
	c.messages = append(c.messages, m)
	return m
}
