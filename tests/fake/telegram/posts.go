package telegram

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"time"
)

// Post is a message that a person writes.
type Post struct {
	Group   *Group // nil: the private chat with the bot
	Topic   int    // of the group or of the private chat; 0 = none, or the general one
	ReplyTo int
	Quote   string // the part of what it replies to that the person marked
	Text    string // or the caption
	Rich    string // Markdown of a rich message that the person passes on, in the place of a text
	File    *File  // made by Photo, Voice, Audio, Video or Document
}

// Photo is a picture of some size.
func Photo(width, height int) *File {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.White, color.Black})); err != nil {
		panic("fake telegram: " + err.Error())
	}
	return &File{Kind: "photo", Width: width, Height: height, Data: b.Bytes()}
}

// Voice is a voice message of some length; nobody can hear it.
func Voice(seconds int) *File {
	return &File{Kind: "voice", MIME: "audio/ogg", Seconds: seconds, Data: []byte("OggS" + strings.Repeat("~", 1000*seconds))}
}

// Audio is a piece of music; nobody can hear it.
func Audio(name string, seconds int) *File {
	return &File{Kind: "audio", Name: name, MIME: "audio/mpeg", Seconds: seconds, Data: []byte("ID3" + strings.Repeat("~", 1000*seconds))}
}

// Video is one that nobody can see.
func Video(name string, seconds int) *File {
	data := "\x00\x00\x00\x18ftypmp42" + strings.Repeat("~", 1000*seconds)
	return &File{Kind: "video", Name: name, MIME: "video/mp4", Seconds: seconds, Width: 640, Height: 360, Data: []byte(data)}
}

// Document is any file.
func Document(name, mime string, data []byte) *File {
	return &File{Kind: "document", Name: name, MIME: mime, Data: data}
}

// Post writes a message. It returns the message's id.
func (u *User) Post(p Post) int {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	return u.write(p, "")
}

// Album sends files together: messages of their own that come one after the
// other. What p says goes with the first.
func (u *User) Album(p Post, files ...*File) []int {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.s.albums++
	id := fmt.Sprint(13_000_000_000_000_000 + u.s.albums)
	var ids []int
	for _, f := range files {
		p.File = f
		ids = append(ids, u.write(p, id))
		p.Text = ""
	}
	return ids
}

// Paste writes a text of any length as Telegram's apps do: in several messages at
// once where it is too long for one.
func (u *User) Paste(p Post) []int {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	var ids []int
	text := p.Text
	for {
		p.Text = text
		if units(text) > maxText {
			n, end := 0, 0
			for at, r := range text {
				if n += units(string(r)); n > maxText {
					end = at
					break
				}
			}
			p.Text = text[:end]
		}
		ids = append(ids, u.write(p, ""))
		if text = text[len(p.Text):]; text == "" {
			return ids
		}
	}
}

// Edit changes the text or the caption of one's own message in the private chat.
// The same text again is what the bot hears when a link unfolds.
func (u *User) Edit(messageID int, text string) { u.edit(u.user.ID, messageID, text) }

// EditIn does that in a group.
func (u *User) EditIn(g *Group, messageID int, text string) { u.edit(g.id, messageID, text) }

// Say writes to the bot in private. It returns the message's id.
func (u *User) Say(text string) int { return u.Post(Post{Text: text}) }

// Reply answers a message of the private chat.
func (u *User) Reply(to int, text string) int { return u.Post(Post{ReplyTo: to, Text: text}) }

// SayIn writes in a group.
func (u *User) SayIn(g *Group, text string) int { return u.Post(Post{Group: g, Text: text}) }

// SayInTopic writes in a topic of a group. As in Telegram the message looks like
// a reply to the message that made the topic.
func (u *User) SayInTopic(g *Group, topic int, text string) int {
	return u.Post(Post{Group: g, Topic: topic, Text: text})
}

// ReplyIn answers a message of a group.
func (u *User) ReplyIn(g *Group, to int, text string) int {
	return u.Post(Post{Group: g, ReplyTo: to, Text: text})
}

// SendPhoto sends one in private, with a caption or none.
func (u *User) SendPhoto(caption string) int {
	return u.Post(Post{Text: caption, File: Photo(1280, 853)})
}

// SendVoice sends a voice message in private.
func (u *User) SendVoice() int { return u.Post(Post{File: Voice(3)}) }

// NewTopic makes a topic in the private chat, where Options.Topics allows it. It
// returns its thread id.
func (u *User) NewTopic(name string) int {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	if !u.s.opts.Topics {
		panic("fake telegram: the private chats have no topics")
	}
	c := u.s.chats[u.user.ID]
	c.started = true
	from := u.user
	m := c.addTopic(&from, name, topicColors[0])
	u.s.push(c.info.ID, "message", asJSON(m))
	return m.ID
}

// DeleteTopic deletes a topic of the private chat. The bot is not told.
func (u *User) DeleteTopic(id int) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.s.chats[u.user.ID].dropTopic(id)
}

// write adds a person's message to a chat and tells the bot. s.mu is held.
func (u *User) write(p Post, album string) int {
	c := u.s.chats[u.user.ID]
	if p.Group != nil {
		c = u.s.chats[p.Group.id]
	}
	from := u.user
	m := &message{From: &from, Album: album}
	c.started = true
	if to := c.message(int64(p.ReplyTo)); to != nil {
		m.ReplyTo = to.quoted()
		if p.Quote != "" {
			m.Quote = &quote{p.Quote, units(to.said()[:max(strings.Index(to.said(), p.Quote), 0)]), true}
		}
	}
	c.place(m, p.Topic)
	if root := c.message(int64(p.Topic)); root != nil && m.ReplyTo == nil && c.info.Type != "private" {
		m.ReplyTo = root.quoted()
	}
	if p.File != nil {
		m.media = u.s.mediaOf(u.s.keep(p.File.Kind, *p.File))
	}
	what := said{text: p.Text, preview: true}
	if p.Rich != "" {
		var no *reply
		if what.rich, no = richContent(string(asJSON(map[string]string{"markdown": p.Rich}))); no != nil {
			panic("fake telegram: " + no.Description)
		}
	}
	m.say(what)
	c.add(m)
	u.tell(c, "message", m)
	return m.ID
}

// tell delivers a person's message unless the bot must not see it. s.mu is held.
func (u *User) tell(c *chat, kind string, m *message) {
	if c.info.Type == "private" || c.admin || !u.s.opts.Privacy || u.s.concerns(m) {
		u.s.push(c.info.ID, kind, asJSON(m))
	}
}

// concerns says whether a group message reaches a bot in privacy mode
// (https://core.telegram.org/bots/features#privacy-mode).
func (s *Server) concerns(m *message) bool {
	return strings.HasPrefix(m.said(), "/") ||
		m.ReplyTo != nil && m.ReplyTo.From != nil && m.ReplyTo.From.ID == BotID ||
		strings.Contains(strings.ToLower(m.said()), "@"+strings.ToLower(s.opts.Username))
}

func (u *User) edit(chatID int64, messageID int, text string) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	c := u.s.chats[chatID]
	m := c.message(int64(messageID))
	if m == nil || m.From == nil || m.From.ID != u.user.ID {
		panic(fmt.Sprintf("fake telegram: message %d of chat %d is not %s's", messageID, chatID, u.user.FirstName))
	}
	next := *m
	next.say(said{text: text, keys: m.Markup, preview: true})
	next.EditDate = time.Now().Unix()
	c.messages[m.ID-1] = &next
	c.edits[m.ID]++
	u.tell(c, "edited_message", &next)
}
