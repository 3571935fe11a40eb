package discord

import "slices"

// view is a message as it leaves: to whom the content is open, and with what only the
// gateway adds.
type view struct {
	content bool
	gateway bool
	target  bool // somebody pointed the bot to it
}

var viewREST = view{content: true}

// view is a copy of a message. s.mu is held.
func (s *Server) view(m *message, v view) message {
	out := *m
	if s.opts.NoMessageContent {
		v.content = false
	}
	if !v.content && !v.target && !s.forBot(m) {
		out.Content, out.Attachments, out.Embeds, out.Components = "", []*attachment{}, []any{}, []component{}
	}
	fresh := make([]*attachment, len(out.Attachments))
	for i, a := range out.Attachments {
		one := *a
		one.URL = s.link("/cdn/attachments/" + m.ChannelID + "/" + a.ID + "/" + a.Filename)
		one.ProxyURL = one.URL
		fresh[i] = &one
	}
	out.Attachments = fresh
	if v.gateway {
		ch := s.channels[m.ChannelID]
		out.ChannelType = &ch.info.Type
		if ch.guild != nil {
			out.GuildID = ch.guild.id
			out.Member = s.memberOf(m.Author, false)
		}
	}
	switch {
	case m.Reference == nil:
	case m.Referenced == nil || m.Referenced.deleted:
		out.Shown = []byte("null")
	default:
		to := *m.Referenced
		to.Reference, to.Referenced = nil, nil
		out.Shown = encode(s.view(&to, view{content: v.content}))
	}
	return out
}

// forBot says whether the bot reads a message without the privileged intent.
func (s *Server) forBot(m *message) bool {
	ch := s.channels[m.ChannelID]
	return ch == nil || ch.guild == nil || m.Author.ID == BotID ||
		slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == BotID })
}

// memberOf is a user as a member of a guild: with the user in it, but for a message's author.
func (s *Server) memberOf(u *user, whole bool) *member {
	m := &member{Roles: []string{}, Joined: snowflake(0).time()}
	if whole {
		m.User = u
	}
	return m
}
