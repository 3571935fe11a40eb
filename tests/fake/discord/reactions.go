package discord

import (
	"slices"
	"unicode"
)

// isEmoji is a rough check: one emoji is no letters, no blanks, and short.
func isEmoji(name string) bool {
	n := 0
	for _, r := range name {
		n++
		if r < 0x80 && !unicode.IsDigit(r) && r != '#' && r != '*' || unicode.IsLetter(r) || unicode.IsSpace(r) {
			return false
		}
	}
	return n > 0 && n <= 16
}

// reaction is nil if nobody reacted so.
func (m *message) reaction(name string) *reaction {
	for _, r := range m.Reactions {
		if r.Emoji.Name == name {
			return r
		}
	}
	return nil
}

// addReaction is no news if it is there. s.mu is held.
func (s *Server) addReaction(ch *channel, m *message, by *user, name string) {
	r := m.reaction(name)
	if r == nil {
		r = &reaction{Burst: []string{}, Emoji: emojiShort{Name: name}}
		m.Reactions = append(m.Reactions, r)
	}
	if slices.Contains(r.by, by.ID) {
		return
	}
	r.by = append(r.by, by.ID)
	r.count()
	s.tellReaction("MESSAGE_REACTION_ADD", ch, m, by, name)
}

// removeReaction is no news if it is not there. s.mu is held.
func (s *Server) removeReaction(ch *channel, m *message, by *user, name string) {
	r := m.reaction(name)
	if r == nil || !slices.Contains(r.by, by.ID) {
		return
	}
	r.by = slices.DeleteFunc(r.by, func(id string) bool { return id == by.ID })
	r.count()
	if r.Count == 0 {
		m.Reactions = slices.DeleteFunc(m.Reactions, func(other *reaction) bool { return other == r })
	}
	s.tellReaction("MESSAGE_REACTION_REMOVE", ch, m, by, name)
}

func (r *reaction) count() {
	r.Count, r.Me = len(r.by), slices.Contains(r.by, BotID)
	r.Details = map[string]int{"burst": 0, "normal": r.Count}
}

func (s *Server) tellReaction(event string, ch *channel, m *message, by *user, name string) {
	s.dispatch(event, ch.intent(intentGuildReactions, intentDirectReactions), ch, func(*session) any {
		data := map[string]any{
			"user_id": by.ID, "channel_id": ch.info.ID, "message_id": m.ID, "emoji": emojiShort{Name: name},
			"burst": false, "type": 0, "message_author_id": m.Author.ID,
		}
		if ch.guild != nil {
			data["guild_id"] = ch.guild.id
			if event == "MESSAGE_REACTION_ADD" {
				data["member"] = s.memberOf(by, true)
			}
		}
		if event == "MESSAGE_REACTION_REMOVE" {
			delete(data, "message_author_id")
		}
		return data
	})
}
