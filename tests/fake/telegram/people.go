package telegram

import (
	"encoding/json"
	"fmt"
	"strings"
)

// User is a person with a Telegram account.
type User struct {
	s    *Server
	user user
}

// User is the person with this id, made if new. The private chat with the bot has the same id.
func (s *Server) User(id int64, name string) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &User{s, user{ID: id, FirstName: name, Language: "en"}}
	if s.chats[id] == nil {
		s.addChat(chatInfo{ID: id, Type: "private", FirstName: name})
	}
	return u
}

// Group is a supergroup of which the bot and everybody who speaks in it is a member.
type Group struct {
	s  *Server
	id int64
}

// Group is the supergroup with this (negative) id, made if new.
func (s *Server) Group(id int64, title string) *Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats[id] == nil {
		s.addChat(chatInfo{ID: id, Type: "supergroup", Title: title}).started = true
	}
	return &Group{s, id}
}

// ID is the group's chat id.
func (g *Group) ID() int64 { return g.id }

// Topic makes the group a forum and adds a topic; it returns its thread id.
func (g *Group) Topic() int {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	c := g.s.chats[g.id]
	c.info.IsForum = true
	if len(c.messages) == 0 {
		c.add(&message{}) // 1 is the General topic
	}
	m := c.add(&message{From: g.s.bot()})
	c.topics[m.ID] = true
	return m.ID
}

// Migrate turns the group into one with another id, as Telegram does when a
// plain group becomes a supergroup. The old id answers with the new one.
func (g *Group) Migrate(to int64) *Group {
	g.s.mu.Lock()
	old := g.s.chats[g.id]
	old.migratedTo = to
	title := old.info.Title
	g.s.mu.Unlock()
	return g.s.Group(to, title)
}

// addChat makes a chat. s.mu is held.
func (s *Server) addChat(info chatInfo) *chat {
	c := &chat{info: info, topics: map[int]bool{}, edits: map[int]int{}}
	s.chats[info.ID] = c
	return c
}

// ID is the user's.
func (u *User) ID() int64 { return u.user.ID }

// Say writes to the bot in private. It returns the message's id.
func (u *User) Say(text string) int { return u.post(u.user.ID, &message{Text: text}) }

// Reply answers a message of the private chat.
func (u *User) Reply(to int, text string) int { return u.reply(u.user.ID, to, text) }

// SayIn writes in a group.
func (u *User) SayIn(g *Group, text string) int { return u.post(g.id, &message{Text: text}) }

// SayInTopic writes in a topic of a group. As in Telegram the message looks like
// a reply to the message that made the topic.
func (u *User) SayInTopic(g *Group, topic int, text string) int {
	u.s.mu.Lock()
	root := u.s.chats[g.id].message(int64(topic))
	u.s.mu.Unlock()
	return u.post(g.id, &message{Text: text, Thread: topic, IsTopic: true, ReplyTo: root})
}

// ReplyIn answers a message of a group.
func (u *User) ReplyIn(g *Group, to int, text string) int { return u.reply(g.id, to, text) }

// SendPhoto sends one in private, with a caption or none.
func (u *User) SendPhoto(caption string) int {
	return u.post(u.user.ID, &message{Caption: caption, Photo: json.RawMessage(
		`[{"file_id":"small","file_unique_id":"s","width":90,"height":60,"file_size":1000},` +
			`{"file_id":"large","file_unique_id":"l","width":1280,"height":853,"file_size":90000}]`)})
}

// SendVoice sends a voice message in private.
func (u *User) SendVoice() int {
	return u.post(u.user.ID, &message{Voice: json.RawMessage(
		`{"file_id":"voice","file_unique_id":"v","duration":3,"mime_type":"audio/ogg","file_size":4000}`)})
}

// Block makes the person's chat refuse what the bot sends; Unblock takes it back.
func (u *User) Block() { u.block(true) }

// Unblock lets the bot write again.
func (u *User) Unblock() { u.block(false) }

// Press presses a button of a message in the private chat, by its label or its data.
func (u *User) Press(messageID int, button string) error {
	return u.press(u.user.ID, messageID, button)
}

// PressIn presses a button of a message in a group.
func (u *User) PressIn(g *Group, messageID int, button string) error {
	return u.press(g.id, messageID, button)
}

func (u *User) reply(chatID int64, to int, text string) int {
	u.s.mu.Lock()
	m := u.s.chats[chatID].message(int64(to))
	u.s.mu.Unlock()
	return u.post(chatID, &message{Text: text, ReplyTo: m})
}

func (u *User) block(b bool) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.s.chats[u.user.ID].blocked = b
}

func (u *User) post(chatID int64, m *message) int {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	c := u.s.chats[chatID]
	c.started = true
	from := u.user
	m.From, m.Entities = &from, entitiesOf(m.Text)
	if m.ReplyTo != nil {
		quoted := *m.ReplyTo
		quoted.ReplyTo = nil
		m.ReplyTo = &quoted
	}
	c.add(m)
	if c.info.Type == "private" || !u.s.opts.Privacy || u.s.concerns(m) {
		u.s.push(chatID, "message", asJSON(m))
	}
	return m.ID
}

// concerns says whether a group message reaches a bot in privacy mode
// (https://core.telegram.org/bots/features#privacy-mode).
func (s *Server) concerns(m *message) bool {
	return strings.HasPrefix(m.Text, "/") ||
		m.ReplyTo != nil && m.ReplyTo.From != nil && m.ReplyTo.From.ID == BotID ||
		strings.Contains(strings.ToLower(m.Text), "@"+strings.ToLower(s.opts.Username))
}

func (u *User) press(chatID int64, messageID int, button string) error {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	c := u.s.chats[chatID]
	m := c.message(int64(messageID))
	if m == nil || m.Markup == nil {
		return fmt.Errorf("fake telegram: message %d of chat %d has no buttons", messageID, chatID)
	}
	for _, row := range m.Markup.Rows {
		for _, b := range row {
			if b.Data == nil || b.Text != button && *b.Data != button {
				continue
			}
			u.s.push(chatID, "callback_query", asJSON(callbackQuery{
				ID: u.s.newQuery(), From: u.user, Message: m, Instance: fmt.Sprint(chatID), Data: *b.Data,
			}))
			return nil
		}
	}
	return fmt.Errorf("fake telegram: message %d of chat %d has no button %q", messageID, chatID, button)
}
