package telegram

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Telegram's limits, https://core.telegram.org/bots/api#sendmessage and #inlinekeyboardbutton.
const (
	maxText    = 4096 // UTF-16 units
	maxData    = 64   // bytes
	maxButtons = 100
	maxToast   = 200
)

var command = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// chat and all that was said in it.
type chat struct {
	info       chatInfo
	blocked    bool  // the person blocked the bot
	started    bool  // the person wrote to the bot, or it is a group
	migratedTo int64 // the supergroup that the group became
	topics     map[int]bool
	messages   []*message // in order of id, deleted ones are nil
	edits      map[int]int
	lastPost   time.Time
	typing     int
}

// query is a pressed button that waits for its answer.
type query struct {
	answered bool
	text     string
}

// Sent is a message of the bot as the chat shows it now.
type Sent struct {
	ID     int
	Chat   int64
	Thread int
	Text   string
	// Entities are those that the bot asked for, moved as the text was trimmed.
	Entities []Entity
	Rows     [][]Button
	ReplyTo  int
	Preview  bool // links may unfold; the last text's setting
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
		sent := Sent{ID: m.ID, Chat: chatID, Thread: m.Thread, Text: m.Text, Entities: m.formats, Preview: m.preview, Edits: c.edits[m.ID], At: time.Unix(m.Date, 0)}
		if m.Markup != nil {
			sent.Rows = m.Markup.Rows
		}
		if m.ReplyTo != nil {
			sent.ReplyTo = m.ReplyTo.ID
		}
		out = append(out, sent)
	}
	return out
}

// Typing is how often the bot was shown as typing in a chat.
func (s *Server) Typing(chatID int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[chatID]; c != nil {
		return c.typing
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
	if p["chat_id"] == "" {
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
	case !c.started:
		return no(refuse(http.StatusForbidden, "Forbidden: bot can't initiate conversation with a user"))
	}
	if t := int(p.int("message_thread_id")); t != 0 && !c.topics[t] {
		return no(badRequest("message thread not found"))
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

func (s *Server) sendMessage(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	what, no := content(p)
	if no != nil {
		return *no
	}
	m := &message{From: s.bot()}
	m.say(what)
	if m.Thread = int(p.int("message_thread_id")); m.Thread != 0 {
		m.IsTopic = true
	}
	if m.ReplyTo, no = replyTarget(c, p["reply_parameters"]); no != nil {
		return *no
	}
	if no = s.limit(c); no != nil {
		return *no
	}
	c.add(m)
	s.show(c, m, false)
	return result(*m)
}

// replyTarget is the message that reply_parameters name.
func replyTarget(c *chat, list string) (*message, *reply) {
	if list == "" {
		return nil, nil
	}
	var r struct {
		ID    int64 `json:"message_id"`
		Loose bool  `json:"allow_sending_without_reply"`
	}
	if err := json.Unmarshal([]byte(list), &r); err != nil {
		a := badRequest("can't parse reply parameters JSON object")
		return nil, &a
	}
	m := c.message(r.ID)
	if m == nil && !r.Loose {
		a := badRequest("message to be replied not found")
		return nil, &a
	}
	if m == nil {
		return nil, nil
	}
	quoted := *m
	quoted.ReplyTo = nil
	return &quoted, nil
}

func (s *Server) editMessageText(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, no := s.editable(p)
	if no != nil {
		return *no
	}
	what, no := content(p)
	if no != nil {
		return *no
	}
	return s.change(c, m, what)
}

func (s *Server) editMessageReplyMarkup(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, no := s.editable(p)
	if no != nil {
		return *no
	}
	keys, no := keyboard(p["reply_markup"])
	if no != nil {
		return *no
	}
	return s.change(c, m, said{m.Text, m.formats, keys, m.preview})
}

// editable is the bot's own message that a call names. s.mu is held.
func (s *Server) editable(p params) (*chat, *message, *reply) {
	c, no := s.find(p)
	if no != nil {
		return nil, nil, no
	}
	m := c.message(p.int("message_id"))
	var a reply
	switch {
	case m == nil:
		a = badRequest("message to edit not found")
	case m.From == nil || m.From.ID != BotID:
		a = badRequest("message can't be edited")
	default:
		return c, m, nil
	}
	return nil, nil, &a
}

// change replaces a message; the same again is refused, as Telegram does. s.mu is held.
func (s *Server) change(c *chat, m *message, what said) reply {
	if m.Text == what.text && slices.Equal(m.formats, what.formats) && slices.Equal(asJSON(m.Markup), asJSON(what.keys)) {
		return badRequest("message is not modified: specified new message content and reply markup are exactly the same " +
			"as a current content and reply markup of the message")
	}
	if no := s.limit(c); no != nil {
		return *no
	}
	// A copy: an update or an answer that was made before keeps what it said.
	next := *m
	next.say(what)
	next.EditDate = time.Now().Unix()
	c.messages[m.ID-1] = &next
	c.edits[m.ID]++
	s.show(c, &next, true)
	return result(next)
}

// say gives a message its content; what Telegram's server marks by itself comes
// behind what the bot asked for.
func (m *message) say(what said) {
	m.Text, m.Markup, m.preview, m.formats = what.text, what.keys, what.preview, what.formats
	m.Entities = slices.Concat(what.formats, entitiesOf(what.text))
}

func (s *Server) answerCallbackQuery(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queries[p["callback_query_id"]]
	if q == nil || q.answered {
		return badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	if units(p["text"]) > maxToast {
		return badRequest("MESSAGE_TOO_LONG")
	}
	q.answered, q.text = true, p["text"]
	return result(true)
}

// Answered is how many presses were answered, of how many.
func (s *Server) Answered() (answered, pressed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queries {
		if q.answered {
			answered++
		}
	}
	return answered, len(s.queries)
}

var actions = []string{
	"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
	"choose_sticker", "find_location", "record_video_note", "upload_video_note",
}

func (s *Server) sendChatAction(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	if !slices.Contains(actions, p["action"]) {
		return badRequest("wrong parameter action in request")
	}
	c.typing++
	return result(true)
}

// newQuery makes a callback query's id. s.mu is held.
func (s *Server) newQuery() string {
	id := "9" + strconv.Itoa(100_000_000+len(s.queries))
	s.queries[id] = &query{}
	return id
}
