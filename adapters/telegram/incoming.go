package telegram

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"dragoman/ports"
)

// longText is the length, in UTF-16 units, from which on a text is most likely the
// beginning of a longer one: clients part what people paste at 4096, or at white
// space before that.
const longText = 4000

// generalThread stands for the topic of a forum whose messages have no thread: the
// General one. Its id is 1 where Telegram wants it at all.
const generalThread = "1"

// incoming turns updates into what the core understands, for one bot account.
type incoming struct{ me account }

// read is the message of an update. ok is false for what is not for the core;
// why says then what it was.
func (in incoming) read(u update) (m ports.Message, why string, ok bool) {
	switch {
	case u.Message != nil:
		if why := unwanted(u.Message); why != "" {
			return m, why, false
		}
		m = in.message(u.Message)
	case u.Edited != nil:
		if why := unwantedEdit(u.Edited); why != "" {
			return m, why, false
		}
		m = in.message(u.Edited)
		m.Change, m.At = ports.ChangeEdit, timeOf(u.Edited.EditDate)
	case u.Callback != nil:
		if m, ok = press(u.Callback); !ok {
			return m, "a button that is not ours", false
		}
	case u.Stopped != nil:
		if m, ok = stop(u.Stopped); !ok {
			return m, "a stop outside of private chats", false
		}
	default:
		return m, "an unknown kind of update", false
	}
	m.Event = "u" + strconv.FormatInt(u.ID, 10)
	return m, "", true
}

// unwanted is why a message is not for the core, or "".
func unwanted(m *message) string {
	switch {
	case m.MigrateTo != 0, m.MigrateFrom != 0:
		return "the group moved to another chat id"
	case m.From == nil, m.Sender != nil, m.Forwarded:
		return "not written by a person"
	case m.From.IsBot:
		return "written by a bot"
	case m.Chat.ID == 0 || m.ID == 0:
		return "no chat or message id"
	case m.Text == "" && m.Caption == "" && len(attachments(m)) == 0 && richSaid(m.Rich) == "":
		return "a service message"
	}
	return ""
}

// unwantedEdit is unwanted for a message that was edited.
func unwantedEdit(m *message) string {
	if len(m.Location) > 0 {
		return "a live location that moved" // every few seconds, for hours
	}
	return unwanted(m)
}

func (in incoming) message(m *message) ports.Message {
	text, marks := m.said()
	out := ports.Message{
		ID: messageID(m.Chat.ID, m.ID), In: conversation(m), Private: m.Chat.Type == "private",
		From: strconv.FormatInt(m.From.ID, 10), Name: m.From.name(),
		Text: in.ownCommand(in.unnamed(text)), Attachments: attachments(m), At: timeOf(m.Date),
		Album: m.Album, More: m.Album != "" || units(text) >= longText,
	}
	reply := repliedTo(m)
	if reply != nil {
		out.ReplyTo = messageID(m.Chat.ID, reply.ID)
		out.Quote = in.quoted(reply, m.Quote)
	}
	toUs := reply != nil && reply.From != nil && reply.From.ID == in.me.ID
	out.Addressed = toUs || in.named(text, marks)
	return out
}

// timeOf reads Telegram's Unix seconds; 0 says that the time is not known.
func timeOf(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// press is a pressed button. It has no time of its own.
func press(q *callbackQuery) (ports.Message, bool) {
	c, ok := choiceOf(q.Data)
	if !ok || q.Message == nil || q.Message.Chat.ID == 0 || q.Message.ID == 0 || q.From.IsBot {
		return ports.Message{}, false
	}
	return ports.Message{
		ID: messageID(q.Message.Chat.ID, q.Message.ID), In: conversation(q.Message),
		Private: q.Message.Chat.Type == "private", Addressed: true,
		From: strconv.FormatInt(q.From.ID, 10), Name: q.From.name(), Choice: &c,
	}, true
}

// stop is a press on the button of a draft: it is /stop. A private chat has the id
// of its person; there is no message that it could be about.
func stop(s *stopped) (ports.Message, bool) {
	if s.Chat.ID <= 0 {
		return ports.Message{}, false
	}
	who := user{FirstName: s.Chat.FirstName, LastName: s.Chat.LastName}
	return ports.Message{
		ID: messageID(s.Chat.ID, 0), In: conversation(&message{Chat: s.Chat, IsTopic: true, Thread: s.Thread}),
		Private: true, From: strconv.FormatInt(s.Chat.ID, 10), Name: who.name(), Text: "/stop",
	}, true
}

// named reports whether a text speaks to the bot: by its name, or by a command
// that is not another bot's.
func (in incoming) named(text string, marks []entity) bool {
	us := "@" + strings.ToLower(in.me.Username)
	for _, e := range marks {
		word := strings.ToLower(e.of(text))
		switch e.Type {
		case "mention":
			if word == us {
				return true
			}
		case "text_mention":
			if e.User != nil && e.User.ID == in.me.ID {
				return true
			}
		case "bot_command":
			if _, whose, directed := strings.Cut(word, "@"); e.Offset == 0 && (!directed || "@"+whose == us) {
				return true
			}
		}
	}
	return false
}

// unnamed takes our name off the start of a text: "@bot call this" is "call this".
func (in incoming) unnamed(text string) string {
	us := "@" + in.me.Username
	if len(text) <= len(us) || !strings.EqualFold(text[:len(us)], us) || !strings.ContainsRune(" ,:\n\t", rune(text[len(us)])) {
		return text
	}
	if rest := strings.TrimLeft(text[len(us):], " ,:\n\t"); rest != "" {
		return rest
	}
	return text
}

// ownCommand takes our name out of a command: "/stop@bot now" is "/stop now".
func (in incoming) ownCommand(text string) string {
	if !strings.HasPrefix(text, "/") {
		return text
	}
	end := strings.IndexAny(text, " \t\r\n")
	if end < 0 {
		end = len(text)
	}
	name, whose, directed := strings.Cut(text[:end], "@")
	if !directed || !strings.EqualFold(whose, in.me.Username) {
		return text
	}
	return name + text[end:]
}

// conversation of a message: its chat, or the topic of it, in a private chat too.
func conversation(m *message) ports.Conversation {
	c := ports.Conversation{Chat: strconv.FormatInt(m.Chat.ID, 10)}
	switch {
	// Outside topics message_thread_id names a thread of replies, which is no conversation.
	case m.IsTopic && m.Thread != 0:
		c.Thread = strconv.FormatInt(m.Thread, 10)
	case m.Chat.Forum && m.Chat.Type != "private":
		c.Thread = generalThread
	}
	return c
}

// quoted is what the person had before their eyes as they replied: the part that
// they chose, else all of it.
func (in incoming) quoted(reply *message, chosen *quote) *ports.Quote {
	text, _ := reply.said()
	if chosen != nil && chosen.Text != "" {
		text = chosen.Text
	}
	var files []string
	for _, a := range attachments(reply) {
		files = append(files, strings.TrimSpace(a.Name+" "+a.MIME))
	}
	if text == "" {
		text = strings.Join(files, ", ")
	}
	if text == "" {
		return nil
	}
	q := &ports.Quote{Text: text}
	if reply.From != nil {
		q.Name, q.Own = reply.From.name(), reply.From.ID == in.me.ID
	}
	return q
}

// said is a message's text, also a rich one, or what is said of its file.
func (m *message) said() (string, []entity) {
	switch {
	case m.Text != "":
		return m.Text, m.Entities
	case m.Caption != "":
		return m.Caption, m.CaptionEntities
	}
	return richSaid(m.Rich), nil
}

// repliedTo is the message that m answers. In a topic every message looks like a
// reply to the one that made the topic: that is none.
func repliedTo(m *message) *message {
	if m.ReplyTo == nil || m.IsTopic && m.ReplyTo.ID == m.Thread {
		return nil
	}
	return m.ReplyTo
}

func (u user) name() string {
	if name := strings.TrimSpace(u.FirstName + " " + u.LastName); name != "" {
		return name
	}
	return u.Username
}

// of is the marked part of text; "" if the mark is not inside it.
func (e entity) of(text string) string {
	units := utf16.Encode([]rune(text))
	if e.Offset < 0 || e.Length < 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
		return ""
	}
	return string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
}
