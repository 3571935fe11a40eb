package discord

import (
	"cmp"
	"slices"
)

func (s *Server) threadRoutes() []route {
	return []route{
		// The type is the channel's to say, but discord.js sends one, and Discord lets it pass.
		{name: StartThread, fields: []string{"name", "auto_archive_duration", "rate_limit_per_user", "type"}, do: (*Server).startThreadOn},
		{name: "POST /channels/{channel}/threads", fields: []string{"name", "auto_archive_duration", "rate_limit_per_user", "type", "invitable"}, do: (*Server).startThread},
		{name: "PATCH /channels/{channel}", fields: []string{"name", "archived", "locked", "auto_archive_duration", "rate_limit_per_user"}, do: (*Server).changeThread},
		{name: "PUT /channels/{channel}/thread-members/@me", do: (*Server).joinThread},
		{name: ActiveThreads, do: (*Server).activeThreads},
		{name: "GET /channels/{channel}/threads/archived/public", do: (*Server).archivedThreads},
	}
}

type threadBody struct {
	Name     string `json:"name"`
	Duration *int   `json:"auto_archive_duration"`
	Type     *int   `json:"type"`
	Archived *bool  `json:"archived"`
	Locked   *bool  `json:"locked"`
}

func (b *threadBody) check(f *form, named bool) {
	if named {
		f.between(units(b.Name), 1, 100, "name")
	}
	if b.Duration != nil && !slices.Contains([]int{60, 1440, 4320, 10080}, *b.Duration) {
		f.choices("(60, 1440, 4320, 10080)", "auto_archive_duration")
	}
}

// startThreadOn makes a thread from a message. Its id is the message's.
func (s *Server) startThreadOn(c *call) reply {
	ch, m, refused := s.messageOf(c)
	if refused != nil {
		return *refused
	}
	var b threadBody
	if refused := s.threadFault(c, ch, &b); refused != nil {
		return *refused
	}
	if m.Flags&flagHasThread != 0 {
		return threadExists
	}
	return ok(s.openThread(ch, m, &s.bot, b).info)
}

// startThread makes a thread without a message; it is a private one unless told otherwise.
func (s *Server) startThread(c *call) reply {
	ch, refused := s.channelOf(c)
	if refused != nil {
		return *refused
	}
	var b threadBody
	if refused := s.threadFault(c, ch, &b); refused != nil {
		return *refused
	}
	if b.Type == nil || *b.Type != channelThread {
		return invalid("FAKE_UNKNOWN_VALUE", "fake discord: there are only public threads; the type's default is a private one", "type")
	}
	return ok(s.openThread(ch, nil, &s.bot, b).info)
}

// threadFault is why the bot may not make a thread, or nil. s.mu is held.
func (s *Server) threadFault(c *call, ch *channel, b *threadBody) *reply {
	if refused := c.decode(b); refused != nil {
		return refused
	}
	var f form
	b.check(&f, true)
	switch a := f.reply(); {
	case ch.guild == nil || ch.isThread():
		refused := refuse(400, 50024, "Cannot execute action on this channel type")
		return &refused
	case ch.denies(CreatePublicThreads):
		return &missingRight
	case a != nil:
		return a
	}
	return nil
}

// openThread makes a thread, from a message if there is one. s.mu is held.
func (s *Server) openThread(ch *channel, from *message, by *user, b threadBody) *channel {
	id := s.newID()
	if from != nil {
		id = from.ID
	}
	duration := 4320
	if b.Duration != nil {
		duration = *b.Duration
	}
	zero, members, per := 0, 1, 0
	total := 0
	t := s.addChannel(channelInfo{
		ID: id, Type: channelThread, Name: &b.Name, ParentID: &ch.info.ID, OwnerID: by.ID, PerUser: &per, Count: &zero, Members: &members, Total: &total,
		Meta: &threadMeta{Duration: duration, At: s.now(), Created: s.now()},
	}, ch.guild, ch)
	s.dispatch("THREAD_CREATE", intentGuilds, t, func(*session) any {
		info := t.info
		info.New = true
		return info
	})
	if from == nil {
		note := &message{Author: by, Type: typeThreadCreated, Content: b.Name, Reference: &reference{ChannelID: t.info.ID, GuildID: ch.info.GuildID}}
		s.post(ch, note)
		return t
	}
	from.Flags |= flagHasThread
	from.Thread = &t.info
	s.dispatchMessage("MESSAGE_UPDATE", ch, from)
	start := &message{Author: from.Author, Type: typeThreadStarter, Referenced: from, Reference: &reference{MessageID: from.ID, ChannelID: ch.info.ID, GuildID: ch.info.GuildID}}
	s.post(t, start)
	return t
}

func (s *Server) changeThread(c *call) reply {
	ch, refused := s.channelOf(c)
	if refused != nil {
		return *refused
	}
	var b threadBody
	if refused := c.decode(&b); refused != nil {
		return *refused
	}
	if !ch.isThread() || ch.info.OwnerID != BotID {
		return missingRight
	}
	var f form
	b.check(&f, c.has("name"))
	if a := f.reply(); a != nil {
		return *a
	}
	if c.has("name") {
		ch.info.Name = &b.Name
	}
	if b.Duration != nil {
		ch.info.Meta.Duration = *b.Duration
	}
	if b.Archived != nil {
		ch.info.Meta.Archived, ch.info.Meta.At = *b.Archived, s.now()
	}
	if b.Locked != nil {
		ch.info.Meta.Locked = *b.Locked
	}
	s.dispatch("THREAD_UPDATE", intentGuilds, ch, func(*session) any { return ch.info })
	return ok(ch.info)
}

func (s *Server) joinThread(c *call) reply {
	ch, refused := s.channelOf(c)
	switch {
	case refused != nil:
		return *refused
	case !ch.isThread():
		return unknownChannel
	case ch.info.Meta.Archived:
		return threadArchived
	}
	return noContent
}

func (s *Server) activeThreads(c *call) reply {
	g := s.guilds[c.r.PathValue("guild")]
	if g == nil {
		return unknownGuild
	}
	return ok(map[string]any{"threads": s.channelsOf(g, true), "members": []any{}})
}

func (s *Server) archivedThreads(c *call) reply {
	ch, refused := s.channelOf(c)
	if refused != nil {
		return *refused
	}
	if ch.denies(ReadMessageHistory) {
		return missingRight
	}
	list := []channelInfo{}
	for _, t := range s.channels {
		if t.parent == ch && t.info.Meta.Archived {
			list = append(list, t.info)
		}
	}
	slices.SortFunc(list, func(a, b channelInfo) int { return cmp.Compare(b.ID, a.ID) })
	return ok(map[string]any{"threads": list, "members": []any{}, "has_more": false})
}

// Thread makes a thread from a message of a guild's channel and returns its id, which
// is the message's.
func (u *User) Thread(channel, messageID, name string) string {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	return u.s.openThread(ch, ch.mustMessage(messageID), u.user, threadBody{Name: name}).info.ID
}

// Archive puts a thread away, and with locked for good.
func (s *Server) Archive(thread string, locked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.mustChannel(thread)
	t.info.Meta.Archived, t.info.Meta.Locked, t.info.Meta.At = true, locked, s.now()
	s.dispatch("THREAD_UPDATE", intentGuilds, t, func(*session) any { return t.info })
}

// DeleteChannel takes away a channel with all that was said in it, and the threads in it.
func (s *Server) DeleteChannel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannel(id)
	for _, t := range s.channels {
		if t.parent == c {
			delete(s.channels, t.info.ID)
		}
	}
	delete(s.channels, id)
	if !c.isThread() {
		s.dispatch("CHANNEL_DELETE", intentGuilds, c, func(*session) any { return c.info })
		return
	}
	s.dispatch("THREAD_DELETE", intentGuilds, c, func(*session) any {
		return map[string]any{"id": c.info.ID, "guild_id": c.info.GuildID, "parent_id": c.info.ParentID, "type": c.info.Type}
	})
}
