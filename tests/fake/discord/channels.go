package discord

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Permission of the bot in a channel, as a bit
// (https://docs.discord.com/developers/topics/permissions).
type Permission uint64

// The permissions that the fake knows of.
const (
	AddReactions         Permission = 1 << 6
	ViewChannel          Permission = 1 << 10
	SendMessages         Permission = 1 << 11
	EmbedLinks           Permission = 1 << 14
	AttachFiles          Permission = 1 << 15
	ReadMessageHistory   Permission = 1 << 16
	MentionEveryone      Permission = 1 << 17
	UseCommands          Permission = 1 << 31
	CreatePublicThreads  Permission = 1 << 35
	SendMessagesInThread Permission = 1 << 38
	everything           Permission = AddReactions | ViewChannel | SendMessages | EmbedLinks | AttachFiles |
		ReadMessageHistory | MentionEveryone | UseCommands | CreatePublicThreads | SendMessagesInThread
)

// guild is a server, as people call it. The bot and everybody who speaks in it is a member.
type guild struct {
	id, name string
	owner    string
	joined   time.Time
}

type overwrite struct {
	ID    string `json:"id"`
	Type  int    `json:"type"`
	Allow string `json:"allow"`
	Deny  string `json:"deny"`
}

type threadMeta struct {
	Archived bool      `json:"archived"`
	Duration int       `json:"auto_archive_duration"`
	At       time.Time `json:"archive_timestamp"`
	Locked   bool      `json:"locked"`
	Created  time.Time `json:"create_timestamp"`
}

// channelInfo is a channel as the API shows it.
type channelInfo struct {
	ID         string      `json:"id"`
	Type       int         `json:"type"`
	LastID     *string     `json:"last_message_id"`
	Flags      int         `json:"flags"`
	GuildID    string      `json:"guild_id,omitempty"`
	Name       *string     `json:"name"` // null in a DM
	ParentID   *string     `json:"parent_id,omitempty"`
	Position   *int        `json:"position,omitempty"`
	Topic      *string     `json:"topic,omitempty"`
	NSFW       *bool       `json:"nsfw,omitempty"`
	PerUser    *int        `json:"rate_limit_per_user,omitempty"`
	Recipients []user      `json:"recipients,omitempty"`
	Overwrites []overwrite `json:"permission_overwrites,omitempty"`
	OwnerID    string      `json:"owner_id,omitempty"`
	Meta       *threadMeta `json:"thread_metadata,omitempty"`
	Count      *int        `json:"message_count,omitempty"`
	Members    *int        `json:"member_count,omitempty"`
	Total      *int        `json:"total_message_sent,omitempty"`
	New        bool        `json:"newly_created,omitempty"`
}

// channel and all that was said in it.
type channel struct {
	info     channelInfo
	guild    *guild   // nil in a DM
	parent   *channel // of a thread
	user     string   // the other one in a DM
	messages []*message
	denied   Permission
	typings  int
}

// addChannel makes one. s.mu is held.
func (s *Server) addChannel(info channelInfo, g *guild, parent *channel) *channel {
	c := &channel{info: info, guild: g, parent: parent}
	if g != nil {
		c.info.GuildID = g.id
	}
	s.channels[info.ID] = c
	return c
}

// dm is the channel of a user and the bot, made if new. s.mu is held.
func (s *Server) dm(u *user) *channel {
	for _, c := range s.channels {
		if c.user == u.ID {
			return c
		}
	}
	c := s.addChannel(channelInfo{ID: s.newID(), Type: channelDM, Recipients: []user{*u}}, nil, nil)
	c.user = u.ID
	return c
}

func (c *channel) isThread() bool { return c.info.Meta != nil }

// denies says whether the bot lacks a permission here.
func (c *channel) denies(p Permission) bool {
	if c.guild == nil {
		return false
	}
	if c.parent != nil && c.parent.denies(p) {
		return true
	}
	return c.denied&p != 0
}

// message is nil if there is none with this id.
func (c *channel) message(id string) *message {
	n, isID := parseID(id)
	i, found := slices.BinarySearchFunc(c.messages, n, func(m *message, n snowflake) int {
		at, _ := parseID(m.ID)
		return cmp.Compare(at, n)
	})
	if !isID || !found || c.messages[i].deleted {
		return nil
	}
	return c.messages[i]
}

// add appends a message.
func (c *channel) add(m *message) {
	m.ChannelID = c.info.ID
	c.messages = append(c.messages, m)
	c.info.LastID = &m.ID
	if !c.isThread() {
		return
	}
	*c.info.Count++
	*c.info.Total++
}

func (s *Server) me() any {
	return struct {
		user
		Verified bool `json:"verified"`
		MFA      bool `json:"mfa_enabled"`
		Flags    int  `json:"flags"`
	}{s.bot, true, false, 0}
}

func (s *Server) getUser(c *call) reply {
	if u := s.users[c.r.PathValue("user")]; u != nil {
		return ok(u)
	}
	return unknownUser
}

func (s *Server) getChannel(c *call) reply {
	ch, refused := s.channelOf(c)
	if refused != nil {
		return *refused
	}
	return ok(ch.info)
}

func (s *Server) openDM(c *call) reply {
	var b struct {
		Recipient string `json:"recipient_id"`
	}
	if refused := c.decode(&b); refused != nil {
		return *refused
	}
	u := s.users[b.Recipient]
	switch {
	case b.Recipient == "":
		return invalid("BASE_TYPE_REQUIRED", "This field is required", "recipient_id")
	case u == nil:
		return unknownUser
	case u.Bot:
		return cannotDM
	}
	return ok(s.dm(u).info)
}

func (s *Server) typing(c *call) reply {
	ch, refused := s.channelOf(c)
	if refused != nil {
		return *refused
	}
	if refused := s.mayPost(ch); refused != nil {
		return *refused
	}
	ch.typings++
	s.dispatchTyping(ch, &s.bot)
	return noContent
}

// mayPost is why the bot may not write in a channel, or nil. s.mu is held.
func (s *Server) mayPost(ch *channel) *reply {
	right := SendMessages
	if ch.isThread() {
		right = SendMessagesInThread
	}
	switch {
	case ch.user != "" && s.blocked[ch.user]:
		return &cannotDM
	case ch.denies(right):
		return &missingRight
	case ch.isThread() && ch.info.Meta.Locked && ch.info.Meta.Archived:
		return &threadArchived
	}
	return nil
}

func (s *Server) getGuilds(*call) reply {
	list := []any{}
	for _, g := range s.sortedGuilds() {
		list = append(list, map[string]any{
			"id": g.id, "name": g.name, "icon": nil, "banner": nil, "owner": false, "permissions": bits(everything), "features": []string{},
		})
	}
	return ok(list)
}

func (s *Server) getGuild(c *call) reply {
	g := s.guilds[c.r.PathValue("guild")]
	if g == nil {
		return unknownGuild
	}
	return ok(s.guildObject(g))
}

func (s *Server) getGuildChannels(c *call) reply {
	g := s.guilds[c.r.PathValue("guild")]
	if g == nil {
		return unknownGuild
	}
	return ok(s.channelsOf(g, false))
}

// channelsOf are a guild's channels, also those that the bot may not look into, or its
// active threads, as far as the bot sees them, in order of their ids. s.mu is held.
func (s *Server) channelsOf(g *guild, threads bool) []channelInfo {
	list := []channelInfo{}
	for _, c := range s.channels {
		if c.guild != g || c.isThread() != threads || threads && (c.denies(ViewChannel) || c.info.Meta.Archived) {
			continue
		}
		list = append(list, c.info)
	}
	slices.SortFunc(list, func(a, b channelInfo) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func (s *Server) sortedGuilds() []*guild {
	var list []*guild
	for _, g := range s.guilds {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *guild) int { return cmp.Compare(a.id, b.id) })
	return list
}

func bits(p Permission) string { return strconv.FormatUint(uint64(p), 10) }

// guildObject is a guild without what only the gateway tells of it. s.mu is held.
func (s *Server) guildObject(g *guild) map[string]any {
	return map[string]any{
		"id": g.id, "name": g.name, "icon": nil, "splash": nil, "discovery_splash": nil, "owner_id": g.owner,
		"afk_channel_id": nil, "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 1,
		"explicit_content_filter": 0, "emojis": []any{}, "features": []string{}, "mfa_level": 0, "application_id": nil,
		"system_channel_id": nil, "system_channel_flags": 0, "rules_channel_id": nil, "vanity_url_code": nil, "description": nil,
		"banner": nil, "premium_tier": 0, "preferred_locale": "en-US", "public_updates_channel_id": nil, "nsfw_level": 0,
		"premium_progress_bar_enabled": false, "safety_alerts_channel_id": nil, "hub_type": nil, "incidents_data": nil, "stickers": []any{},
		"roles": []any{map[string]any{
			"id": g.id, "name": "@everyone", "color": 0, "colors": map[string]any{"primary_color": 0, "secondary_color": nil, "tertiary_color": nil},
			"hoist": false, "position": 0, "permissions": bits(everything), "managed": false, "mentionable": false, "flags": 0,
		}},
	}
}
