package discord

import (
	"fmt"
	"slices"
)

// User is a person with a Discord account.
type User struct {
	s    *Server
	user *user
}

// User is the person with this name, made if new.
func (s *Server) User(name string) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.users {
		if u.Username == name {
			return &User{s, u}
		}
	}
	u := &user{ID: s.newID(), Username: name, Discriminator: "0", GlobalName: &name}
	s.users[u.ID] = u
	return &User{s, u}
}

// ID is the user's.
func (u *User) ID() string { return u.user.ID }

// Mention is what speaks to the user.
func (u *User) Mention() string { return "<@" + u.user.ID + ">" }

// DM is the id of the channel that the user and the bot share alone.
func (u *User) DM() string {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	return u.s.dm(u.user).info.ID
}

// Post is what a person writes.
type Post struct {
	Text    string
	ReplyTo string // a message of the same channel
	NoPing  bool   // of the one who is replied to
	Files   []File
}

// Say writes to the bot in private. It returns the message's id.
func (u *User) Say(text string) string { return u.Post(u.DM(), Post{Text: text}) }

// SayIn writes in a channel or a thread.
func (u *User) SayIn(channel, text string) string { return u.Post(channel, Post{Text: text}) }

// Reply answers a message, which pings its author.
func (u *User) Reply(channel, to, text string) string {
	return u.Post(channel, Post{Text: text, ReplyTo: to})
}

// Post writes in a channel, a thread or the private chat. It panics if there is no such
// channel, and if the message that it replies to is not there.
func (u *User) Post(channel string, p Post) string {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	m := &message{Author: u.user, Content: trim(p.Text)}
	if p.ReplyTo != "" {
		ch.replies(m, ch.mustMessage(p.ReplyTo))
	}
	for _, f := range p.Files {
		m.Attachments = append(m.Attachments, u.s.file(ch, f, nil))
	}
	ping := !p.NoPing
	u.s.mention(ch, m, allowedMentions{Parse: []string{"users", "roles", "everyone"}, Replied: &ping})
	u.s.post(ch, m)
	return m.ID
}

// Edit changes what the user wrote.
func (u *User) Edit(channel, id, text string) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	m := ch.mustMessage(id)
	at := u.s.now()
	m.Content, m.Edited = trim(text), &at
	m.edits++
	u.s.mention(ch, m, allowedMentions{Parse: []string{"users", "roles", "everyone"}})
	u.s.dispatchMessage("MESSAGE_UPDATE", ch, m)
}

// Unfurl adds the preview of a link to a message, as Discord does a moment after it was
// posted: an update that is no edit.
func (s *Server) Unfurl(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.mustChannel(channel)
	m := ch.mustMessage(id)
	m.Embeds = []any{map[string]any{"type": "link", "url": "https://example.org", "title": "Example", "provider": map[string]string{"name": "Example"}}}
	s.dispatchMessage("MESSAGE_UPDATE", ch, m)
}

// Delete takes away a message of the user, or of the bot in a private chat.
func (u *User) Delete(channel, id string) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	u.s.remove(ch, ch.mustMessage(id))
}

// DeleteMany takes away messages at once, as a moderator can.
func (u *User) DeleteMany(channel string, ids ...string) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	for _, id := range ids {
		ch.mustMessage(id).deleted = true
	}
	u.s.dispatch("MESSAGE_DELETE_BULK", ch.intent(intentGuildMessages, intentDirectMessages), ch, func(*session) any {
		return map[string]any{"ids": ids, "channel_id": channel, "guild_id": ch.info.GuildID}
	})
}

// React puts an emoji on a message; Unreact takes it back.
func (u *User) React(channel, id, emoji string) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	u.s.addReaction(ch, ch.mustMessage(id), u.user, emoji)
}

// Unreact takes back what React did.
func (u *User) Unreact(channel, id, emoji string) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	u.s.removeReaction(ch, ch.mustMessage(id), u.user, emoji)
}

// Types shows that the user is writing.
func (u *User) Types(channel string) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.s.dispatchTyping(u.s.mustChannel(channel), u.user)
}

// Block makes the user take no messages of the bot; Unblock takes it back.
func (u *User) Block() { u.block(true) }

// Unblock lets the bot write again.
func (u *User) Unblock() { u.block(false) }

func (u *User) block(b bool) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.s.blocked[u.user.ID] = b
}

// Guild is a server, as people call it, which the bot is in. Everybody may speak in it.
type Guild struct {
	s *Server
	g *guild
}

// Guild is the one with this name, made if new: then the bot has just been let in.
func (s *Server) Guild(name string) *Guild {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.guilds {
		if g.name == name {
			return &Guild{s, g}
		}
	}
	g := &guild{id: s.newID(), name: name, joined: s.now(), owner: s.newID()}
	s.guilds[g.id] = g
	s.dispatch("GUILD_CREATE", intentGuilds, &channel{guild: g}, func(*session) any { return s.guildEvent(g) })
	return &Guild{s, g}
}

// ID is the guild's.
func (g *Guild) ID() string { return g.g.id }

// Channel is the id of the text channel with this name, made if new.
func (g *Guild) Channel(name string) string {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	n := 0
	for _, c := range g.s.channels {
		if c.guild != g.g || c.isThread() {
			continue
		}
		if *c.info.Name == name {
			return c.info.ID
		}
		n++
	}
	no, zero := false, 0
	c := g.s.addChannel(channelInfo{ID: g.s.newID(), Type: channelText, Name: &name, Position: &n, NSFW: &no, PerUser: &zero}, g.g, nil)
	g.s.dispatch("CHANNEL_CREATE", intentGuilds, c, func(*session) any { return c.info })
	return c.info.ID
}

// Deny takes permissions from the bot in a channel of a guild, and gives it all
// others.
func (s *Server) Deny(channel string, p Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannel(channel)
	c.denied = p
	c.info.Overwrites = []overwrite{{ID: BotID, Type: 1, Allow: "0", Deny: bits(p)}}
	s.dispatch("CHANNEL_UPDATE", intentGuilds, c, func(*session) any { return c.info })
}

// mustChannel panics if there is none. s.mu is held.
func (s *Server) mustChannel(id string) *channel {
	c := s.channels[id]
	if c == nil {
		panic(fmt.Sprintf("fake discord: no channel %q", id))
	}
	return c
}

func (c *channel) mustMessage(id string) *message {
	m := c.message(id)
	if m == nil {
		panic(fmt.Sprintf("fake discord: no message %q in channel %s", id, c.info.ID))
	}
	return m
}

// Sent is a message of the bot as people see it now.
type Sent struct {
	ID, Channel string
	Text        string
	Rows        [][]Button
	Files       []SentFile
	ReplyTo     string
	Pinged      []string // names of those who were notified; "@everyone" among them
	Reactions   []string
	Embeds      int
	Edits       int
	Thinking    bool   // "… is thinking": a deferred response
	OnlyFor     string // name of the one who sees it, "" for all
	NoPreviews  bool   // links stay folded
	Nonce       string
}

// Button is one that can be pressed, or leads elsewhere.
type Button struct {
	Label, CustomID, URL string
	Style                int
	Disabled             bool
}

// SentFile is one that the bot posted.
type SentFile struct {
	Name, Type string
	Content    []byte
}

// Buttons are all labels, in order.
func (m Sent) Buttons() []string {
	var labels []string
	for _, row := range m.Rows {
		for _, b := range row {
			labels = append(labels, b.Label)
		}
	}
	return labels
}

// Sent lists what the bot posted in a channel and is still there, oldest first.
func (s *Server) Sent(channel string) []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c == nil {
		return nil
	}
	var out []Sent
	for _, m := range c.messages {
		if !m.deleted && m.Author.ID == BotID {
			out = append(out, s.sent(m))
		}
	}
	return out
}

func (s *Server) sent(m *message) Sent {
	out := Sent{
		ID: m.ID, Channel: m.ChannelID, Text: m.Content, Embeds: len(m.Embeds), Edits: m.edits, Thinking: m.Flags&flagLoading != 0,
		NoPreviews: m.Flags&flagNoEmbeds != 0, Nonce: unquote(m.Nonce), Rows: rowsOf(m.Components),
	}
	if m.Reference != nil {
		out.ReplyTo = m.Reference.MessageID
	}
	if m.ephemeral != "" {
		out.OnlyFor = s.users[m.ephemeral].Username
	}
	for _, u := range m.Mentions {
		out.Pinged = append(out.Pinged, u.Username)
	}
	if m.Everyone {
		out.Pinged = append(out.Pinged, "@everyone")
	}
	for _, id := range m.Roles {
		out.Pinged = append(out.Pinged, "@&"+id)
	}
	for _, r := range m.Reactions {
		out.Reactions = append(out.Reactions, r.Emoji.Name)
	}
	for _, a := range m.Attachments {
		out.Files = append(out.Files, SentFile{a.Filename, a.ContentType, a.content})
	}
	return out
}

func rowsOf(list []component) [][]Button {
	var rows [][]Button
	for _, row := range list {
		var line []Button
		for _, b := range row.Components {
			if b.Type == compButton {
				line = append(line, Button{b.Label, deref(b.CustomID), deref(b.URL), b.Style, b.Disabled})
			}
		}
		if line != nil {
			rows = append(rows, line)
		}
	}
	return rows
}

// Typings is how often the bot has shown in a channel that it writes.
func (s *Server) Typings(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.channels[channel]; c != nil {
		return c.typings
	}
	return 0
}

// Reacted lists who put an emoji on a message, by name.
func (s *Server) Reacted(channel, id, emoji string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustChannel(channel).mustMessage(id).reaction(emoji)
	if r == nil {
		return nil
	}
	var names []string
	for _, by := range r.by {
		names = append(names, s.users[by].Username)
	}
	slices.Sort(names)
	return names
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
