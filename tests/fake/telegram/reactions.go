package telegram

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Emoji that bots and people can react with, without Telegram Premium
// (https://core.telegram.org/bots/api#reactiontypeemoji).
var reactionEmoji = strings.Fields("👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 " +
	"🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡")

// reaction is https://core.telegram.org/bots/api#reactiontype.
type reaction struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

func (s *Server) setMessageReaction(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	var list []reaction
	if text := p.form["reaction"]; text != "" && json.Unmarshal([]byte(text), &list) != nil {
		return badRequest("can't parse reaction types JSON object")
	}
	m := c.message(p.int("message_id"))
	switch {
	case m == nil:
		return badRequest("message to react not found")
	case len(list) > 1:
		return badRequest("REACTIONS_TOO_MANY")
	case len(list) == 1 && (list[0].Type != "emoji" || !slices.Contains(reactionEmoji, list[0].Emoji)):
		return badRequest("REACTION_INVALID")
	}
	emoji := ""
	if len(list) == 1 {
		emoji = list[0].Emoji
	}
	c.react(m, BotID, emoji)
	return result(true)
}

// react changes what somebody reacts with to a message; "" is nothing. s.mu is held.
func (c *chat) react(m *message, who int64, emoji string) (before string) {
	next := *m
	next.reactions = map[int64]string{}
	for other, with := range m.reactions {
		next.reactions[other] = with
	}
	before = next.reactions[who]
	delete(next.reactions, who)
	if emoji != "" {
		next.reactions[who] = emoji
	}
	c.messages[m.ID-1] = &next
	return before
}

// Reaction is the emoji that the bot put on a message; "" is none.
func (s *Server) Reaction(chatID int64, messageID int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chatID]
	if c == nil {
		return ""
	}
	if m := c.message(int64(messageID)); m != nil {
		return m.reactions[BotID]
	}
	return ""
}

// React puts an emoji on a message of the private chat; "" takes it off. The bot
// hears of it if it asked for such updates.
func (u *User) React(messageID int, emoji string) { u.react(u.user.ID, messageID, emoji) }

// ReactIn does that in a group. The bot hears of it as an administrator only.
func (u *User) ReactIn(g *Group, messageID int, emoji string) { u.react(g.id, messageID, emoji) }

func (u *User) react(chatID int64, messageID int, emoji string) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	c := u.s.chats[chatID]
	m := c.message(int64(messageID))
	if m == nil || !slices.Contains(append(reactionEmoji, ""), emoji) {
		panic("fake telegram: there is no such message or reaction")
	}
	before := c.react(m, u.user.ID, emoji)
	if c.info.Type != "private" && !c.admin {
		return
	}
	list := func(emoji string) []reaction {
		if emoji == "" {
			return []reaction{}
		}
		return []reaction{{"emoji", emoji}}
	}
	u.s.push(chatID, "message_reaction", asJSON(map[string]any{
		"chat": c.info, "message_id": messageID, "user": u.user, "date": time.Now().Unix(),
		"old_reaction": list(before), "new_reaction": list(emoji),
	}))
}
