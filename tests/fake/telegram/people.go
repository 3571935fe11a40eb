package telegram

import (
	"fmt"
	"time"
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

// PlainGroup is a group that is not a supergroup yet.
func (s *Server) PlainGroup(id int64, title string) *Group {
	g := s.Group(id, title)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[id].info.Type = "group"
	return g
}

// ID is the group's chat id.
func (g *Group) ID() int64 { return g.id }

// Topic makes the group a forum and adds a topic; it returns its thread id.
func (g *Group) Topic() int {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	c := g.s.chats[g.id]
	c.info.IsForum = true
	return c.addTopic(g.s.bot(), "Topic", topicColors[0]).ID
}

// Promote makes the bot an administrator of the group.
func (g *Group) Promote() {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.s.chats[g.id].admin = true
}

// DeleteTopic deletes a topic with all that was said in it. The bot is not told.
func (g *Group) DeleteTopic(id int) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.s.chats[g.id].dropTopic(id)
}

// CloseTopic lets nobody but administrators write in a topic any more.
func (g *Group) CloseTopic(id int) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.s.chats[g.id].topics[id].closed = true
}

// Kick takes the bot out of the group.
func (g *Group) Kick() {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	c := g.s.chats[g.id]
	c.kicked = true
	g.s.push(g.id, "my_chat_member", asJSON(map[string]any{
		"chat": c.info, "from": user{ID: 1087968824, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}, "date": time.Now().Unix(),
		"old_chat_member": map[string]any{"status": "member", "user": g.s.bot()},
		"new_chat_member": map[string]any{"status": "kicked", "user": g.s.bot(), "until_date": 0},
	}))
}

// Migrate turns the group into one with another id, as Telegram does when a
// plain group becomes a supergroup. The old id
// answers with the new one, and a service message in each tells of it.
func (g *Group) Migrate(to int64) *Group {
	g.s.mu.Lock()
	old := g.s.chats[g.id]
	title := old.info.Title
	g.s.mu.Unlock()
	next := g.s.Group(to, title)
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	old.migratedTo = to
	who := &user{ID: 1087968824, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}
	g.s.push(g.id, "message", asJSON(old.add(&message{From: who, MigrateTo: to})))
	g.s.push(to, "message", asJSON(g.s.chats[to].add(&message{From: who, MigrateFrom: g.id})))
	return next
}

// addChat makes a chat. s.mu is held.
func (s *Server) addChat(info chatInfo) *chat {
	c := &chat{info: info, topics: map[int]*topic{}, drafts: map[int]*draft{}, edits: map[int]int{}, typing: map[int]int{}}
	s.chats[info.ID] = c
	return c
}

// ID is the user's.
func (u *User) ID() int64 { return u.user.ID }

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

func (u *User) block(b bool) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	c := u.s.chats[u.user.ID]
	if c.blocked == b {
		return
	}
	c.blocked = b
	status := func(blocked bool) map[string]any {
		if blocked {
			return map[string]any{"status": "kicked", "user": u.s.bot(), "until_date": 0}
		}
		return map[string]any{"status": "member", "user": u.s.bot()}
	}
	u.s.push(c.info.ID, "my_chat_member", asJSON(map[string]any{
		"chat": c.info, "from": u.user, "date": time.Now().Unix(), "old_chat_member": status(!b), "new_chat_member": status(b),
	}))
}
