package discord

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Discord's limits, https://docs.discord.com/developers/resources/message.
const (
	maxContent   = 2000 // UTF-16 units
	maxNonce     = 25
	maxReactions = 20
	// nonceFor is how long a nonce is known ("the past few minutes").
	nonceFor = 5 * time.Minute
)

// messageBody is what a bot posts, or edits a message to.
type messageBody struct {
	Content     *string           `json:"content"`
	Nonce       json.RawMessage   `json:"nonce"`
	Enforce     bool              `json:"enforce_nonce"`
	TTS         bool              `json:"tts"`
	Embeds      []embed           `json:"embeds"`
	Allowed     *allowedMentions  `json:"allowed_mentions"`
	Reference   *messageReference `json:"message_reference"`
	Components  []component       `json:"components"`
	Attachments []attachmentBody  `json:"attachments"`
	Flags       int               `json:"flags"`
	Stickers    []string          `json:"sticker_ids"`
	Poll        json.RawMessage   `json:"poll"`
}

type messageReference struct {
	Type    int    `json:"type"`
	ID      string `json:"message_id"`
	Channel string `json:"channel_id"`
	Guild   string `json:"guild_id"`
	Fail    *bool  `json:"fail_if_not_exists"`
}

func (s *Server) createMessage(c *call) reply {
	ch, refused := s.channelOf(c)
	if refused == nil {
		refused = s.mayPost(ch)
	}
	if refused != nil {
		return *refused
	}
	var b messageBody
	if refused := c.decode(&b); refused != nil {
		return *refused
	}
	nonce, refused := b.nonce()
	if refused != nil {
		return *refused
	}
	if known := s.sentWith(nonce); known != nil && b.Enforce {
		return ok(s.view(known, viewREST))
	}
	m := &message{Author: &s.bot, Nonce: b.Nonce, TTS: b.TTS}
	if nonce == "" {
		m.Nonce = nil
	}
	if refused := s.refer(ch, m, b.Reference); refused != nil {
		return *refused
	}
	if refused := s.compose(c, ch, m, &b, flagsOfBots); refused != nil {
		return *refused
	}
	s.post(ch, m)
	return ok(s.view(m, viewREST))
}

// nonce is the text of one, "" if there is none.
func (b *messageBody) nonce() (string, *reply) {
	if len(b.Nonce) == 0 || bytes.Equal(b.Nonce, []byte("null")) {
		return "", nil
	}
	var text string
	if json.Unmarshal(b.Nonce, &text) != nil {
		n, err := strconv.ParseInt(string(b.Nonce), 10, 64)
		if err != nil {
			a := invalid("NONCE_TYPE_CONVERT", "Could not interpret the value as an integer or a string.", "nonce")
			return "", &a
		}
		text = strconv.FormatInt(n, 10)
	}
	if len(text) > maxNonce {
		var f form
		f.longerThan(maxNonce, "nonce")
		return "", f.reply()
	}
	return text, nil
}

// sentWith is what the bot posted with a nonce in the past few minutes, in whatever
// channel, or nil. s.mu is held.
func (s *Server) sentWith(nonce string) *message {
	if nonce == "" {
		return nil
	}
	after := s.now().Add(-nonceFor)
	for _, ch := range s.channels {
		for _, m := range slices.Backward(ch.messages) {
			if m.Timestamp.Before(after) {
				break
			}
			if m.Author.ID == BotID && unquote(m.Nonce) == nonce {
				return m
			}
		}
	}
	return nil
}

// refer makes the message a reply.
func (s *Server) refer(ch *channel, m *message, r *messageReference) *reply {
	if r == nil {
		return nil
	}
	var f form
	switch to := ch.message(r.ID); {
	case r.Type != 0:
		f.bad("FAKE_UNKNOWN_VALUE", "fake discord: forwards are not implemented", "message_reference", "type")
	case r.ID == "":
		f.required("message_reference", "message_id")
	case r.Channel != "" && r.Channel != ch.info.ID:
		f.bad("REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL", "Cannot reply to a message in a different channel", "message_reference")
	case to == nil && r.Fail != nil && !*r.Fail:
		return nil
	case to == nil:
		f.bad("REPLIES_UNKNOWN_MESSAGE", "Unknown message", "message_reference")
	case to.isSystem():
		f.bad("REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message", "message_reference")
	case ch.denies(ReadMessageHistory):
		a := refuse(403, 160002, "Cannot reply without permission to read message history")
		return &a
	default:
		ch.replies(m, to)
	}
	return f.reply()
}

func (c *channel) replies(m, to *message) {
	m.Type = typeReply
	m.Reference = &reference{MessageID: to.ID, ChannelID: c.info.ID, GuildID: c.info.GuildID}
	m.Referenced = to
}

// compose fills a message from a body; it changes nothing if it refuses. Of an edit the
// fields that are absent stay as they were.
func (s *Server) compose(c *call, ch *channel, m *message, b *messageBody, flags int) *reply {
	var f form
	next := *m
	if c.has("content") {
		next.Content = ""
		if b.Content != nil {
			next.Content = trim(*b.Content)
		}
	}
	if units(next.Content) > maxContent {
		f.longerThan(maxContent, "content")
	}
	if c.has("flags") {
		if b.Flags&^flags != 0 {
			f.bad("BASE_TYPE_CHOICES", "Invalid message flags.", "flags")
		}
		keep := next.Flags &^ flagNoEmbeds
		next.Flags = keep | b.Flags
	}
	if c.has("components") {
		next.Components = checkComponents(&f, b.Components, next.Flags&flagComponentsV2 != 0)
	}
	if c.has("embeds") {
		next.Embeds = checkEmbeds(&f, b.Embeds)
	}
	if next.Flags&flagComponentsV2 != 0 && (next.Content != "" || len(next.Embeds) > 0) {
		f.bad("MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2", "content")
	}
	s.attach(&f, c, ch, &next, b)
	if len(b.Stickers) > 0 || len(b.Poll) > 0 {
		f.bad("FAKE_UNKNOWN_VALUE", "fake discord: stickers and polls are not implemented", "sticker_ids")
	}
	pinged := checkMentions(&f, b.Allowed)
	if a := f.reply(); a != nil {
		return a
	}
	if next.Content == "" && len(next.Embeds) == 0 && len(next.Components) == 0 && len(next.Attachments) == 0 {
		return &emptyMessage
	}
	if len(next.Attachments) > len(m.Attachments) && ch.denies(AttachFiles) {
		return &missingRight
	}
	if c.has("content") || c.has("allowed_mentions") {
		s.mention(ch, &next, pinged)
	}
	*m = next
	return nil
}

// post makes a composed message visible.
func (s *Server) post(ch *channel, m *message) {
	m.ID = s.newID()
	m.Timestamp = s.now()
	m.complete()
	ch.add(m)
	if ch.isThread() {
		ch.info.Meta.Archived = false
	}
	if m.Author.ID == BotID {
		s.show(m, false)
	}
	s.dispatchMessage("MESSAGE_CREATE", ch, m)
}

// complete turns nil lists into empty ones, which is how the API shows them.
func (m *message) complete() {
	if m.Mentions == nil {
		m.Mentions = []user{}
	}
	if m.Roles == nil {
		m.Roles = []string{}
	}
	if m.Attachments == nil {
		m.Attachments = []*attachment{}
	}
	if m.Embeds == nil {
		m.Embeds = []any{}
	}
	if m.Components == nil {
		m.Components = []component{}
	}
}

func (m *message) isSystem() bool { return m.Type == typeThreadCreated || m.Type == typeThreadStarter }

func (s *Server) editMessage(c *call) reply {
	ch, m, refused := s.messageOf(c)
	if refused != nil {
		return *refused
	}
	if m.Author.ID != BotID {
		return notYours
	}
	if ch.isThread() && ch.info.Meta.Archived {
		return threadArchived
	}
	var b messageBody
	if refused := c.decode(&b); refused != nil {
		return *refused
	}
	if refused := s.change(c, ch, m, &b); refused != nil {
		return *refused
	}
	return ok(s.view(m, viewREST))
}

// change edits a message of the bot, and tells.
func (s *Server) change(c *call, ch *channel, m *message, b *messageBody) *reply {
	if refused := s.compose(c, ch, m, b, flagsOfBots); refused != nil {
		return refused
	}
	m.complete()
	at := s.now()
	if m.Flags&flagLoading == 0 {
		m.Edited = &at // what was promised is no edit when it comes
	}
	m.Flags &^= flagLoading
	m.edits++
	s.show(m, true)
	s.dispatchMessage("MESSAGE_UPDATE", ch, m)
	return nil
}

func (s *Server) deleteMessage(c *call) reply {
	ch, m, refused := s.messageOf(c)
	switch {
	case refused != nil:
		return *refused
	case m.Author.ID == BotID:
	case ch.guild == nil:
		return notInDM
	default:
		return missingRight // the bot has no MANAGE_MESSAGES here
	}
	s.remove(ch, m)
	return noContent
}

// remove deletes a message, and tells.
func (s *Server) remove(ch *channel, m *message) {
	m.deleted = true
	if m.ephemeral != "" {
		return
	}
	s.dispatch("MESSAGE_DELETE", ch.intent(intentGuildMessages, intentDirectMessages), ch, func(*session) any {
		return struct {
			ID      string `json:"id"`
			Channel string `json:"channel_id"`
			Guild   string `json:"guild_id,omitempty"`
		}{m.ID, ch.info.ID, ch.info.GuildID}
	})
}

func (s *Server) react(c *call) reply {
	ch, m, refused := s.messageOf(c)
	if refused != nil {
		return *refused
	}
	name := c.r.PathValue("emoji")
	switch {
	case !isEmoji(name):
		return unknownEmoji
	case ch.denies(ReadMessageHistory), ch.denies(AddReactions) && m.reaction(name) == nil:
		return missingRight
	case m.reaction(name) == nil && len(m.Reactions) == maxReactions:
		return manyReactions
	}
	s.addReaction(ch, m, &s.bot, name)
	return noContent
}

func (s *Server) unreact(c *call) reply {
	ch, m, refused := s.messageOf(c)
	if refused != nil {
		return *refused
	}
	name := c.r.PathValue("emoji")
	if !isEmoji(name) {
		return unknownEmoji
	}
	s.removeReaction(ch, m, &s.bot, name)
	return noContent
}

func trim(text string) string { return strings.TrimSpace(text) }

// units is the length of a text in UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		if r == utf8.RuneError {
			n++
			continue
		}
		n += utf16.RuneLen(r)
	}
	return n
}
