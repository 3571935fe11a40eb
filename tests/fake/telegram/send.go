package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

func (s *Server) sendMessage(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	what, no := content(p)
	if no != nil {
		return *no
	}
	m := &message{}
	m.say(what)
	if no := s.post(c, p, m); no != nil {
		return *no
	}
	return result(*m)
}

// sendFile is sendPhoto, sendVoice and so on.
func sendFile(kind string) func(*Server, context.Context, params) reply {
	return func(s *Server, _ context.Context, p params) reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		c, no := s.find(p)
		if no != nil {
			return *no
		}
		what, no := caption(p)
		if no != nil {
			return *no
		}
		f, no := s.input(p, kind, p.form[kind], kind)
		if no != nil {
			return *no
		}
		m := &message{media: s.mediaOf(f)}
		m.say(what)
		if no := s.post(c, p, m); no != nil {
			return *no
		}
		return result(*m)
	}
}

func (s *Server) sendMediaGroup(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	ms, no := s.album(p)
	if no != nil {
		return *no
	}
	if no := s.post(c, p, ms...); no != nil {
		return *no
	}
	return result(ms)
}

// album reads the media of sendMediaGroup. s.mu is held.
func (s *Server) album(p params) ([]*message, *reply) {
	no := func(what string) ([]*message, *reply) {
		a := badRequest(what)
		return nil, &a
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(p.form["media"]), &items); err != nil {
		return no("can't parse media JSON object")
	}
	if len(items) < 2 || len(items) > 10 {
		return no("Wrong number of messages in the album: must be 2-10")
	}
	s.albums++
	id := fmt.Sprint(13_000_000_000_000_000 + s.albums)
	var ms []*message
	for _, item := range items {
		fields := params{map[string]string{}, p.uploads}
		if raw, err := json.Marshal(item); err != nil || fields.addJSON(raw) != nil {
			return no("can't parse InputMedia")
		}
		kind := fields.form["type"]
		known := []string{"type", "media", "thumbnail", "caption", "parse_mode", "caption_entities", "show_caption_above_media",
			"has_spoiler", "width", "height", "duration", "performer", "title", "supports_streaming", "disable_content_type_detection"}
		for name := range fields.form {
			if !slices.Contains(known, name) {
				return no("fake telegram: InputMedia has no field " + name)
			}
		}
		if !slices.Contains([]string{"photo", "video", "document", "audio"}, kind) {
			return no("can't parse InputMedia: type must be one of photo, video, document, audio")
		}
		if len(ms) > 0 && !together(ms[0].file.Kind, kind) {
			return no("document and audio can't be mixed with other types in an album")
		}
		what, fault := caption(fields)
		if fault != nil {
			return nil, fault
		}
		f, fault := s.input(fields, kind, fields.form["media"], "")
		if fault != nil {
			return nil, fault
		}
		m := &message{media: s.mediaOf(f), Album: id}
		m.say(what)
		ms = append(ms, m)
	}
	return ms, nil
}

// together says whether two kinds may be in one album.
func together(a, b string) bool {
	visual := []string{"photo", "video"}
	return a == b || slices.Contains(visual, a) && slices.Contains(visual, b)
}

// post puts the bot's messages into a chat, all or none. s.mu is held.
func (s *Server) post(c *chat, p params, ms ...*message) *reply {
	thread := int(p.int("message_thread_id"))
	if no := c.open(thread); no != nil {
		return no
	}
	target, quote, no := replyTarget(c, p.form["reply_parameters"])
	if no != nil {
		return no
	}
	if no := s.limit(c, "sendMessage", len(ms)); no != nil {
		return no
	}
	for _, m := range ms {
		m.From, m.ReplyTo, m.Quote = s.bot(), target, quote
		c.place(m, thread)
		c.add(m)
		delete(c.drafts, m.Thread)
		s.show(c, m, false)
	}
	return nil
}

// place gives a message its thread: the topic that was asked for, else that of
// the message it replies to. In a group without topics the replies to one
// message are a thread as well, which is no topic.
func (c *chat) place(m *message, topic int) {
	switch to := m.ReplyTo; {
	case topic > generalTopic:
		m.Thread, m.IsTopic = topic, true
	case to != nil && to.IsTopic:
		m.Thread, m.IsTopic = to.Thread, true
	case to != nil && c.info.Type == "supergroup" && !c.info.IsForum:
		if m.Thread = to.Thread; m.Thread == 0 {
			m.Thread = to.ID
		}
	}
}

// say gives a message its content; what Telegram's server marks by itself comes
// behind what the bot asked for.
func (m *message) say(what said) {
	m.Markup, m.preview, m.formats = what.keys, what.preview, what.formats
	m.Preview = nil
	if !what.preview {
		m.Preview = &previewOptions{Off: true}
	}
	marks := slices.Concat(what.formats, entitiesOf(what.text))
	if m.file != nil {
		m.Caption, m.CaptionEntities, m.Preview = what.text, marks, nil
		return
	}
	if m.Rich = what.rich; m.Rich != nil {
		m.Preview = nil
	}
	m.Text, m.Entities = what.text, marks
}

// replyTarget is the message that reply_parameters name, and the part of it.
func replyTarget(c *chat, list string) (*message, *quote, *reply) {
	no := func(what string) (*message, *quote, *reply) {
		a := badRequest(what)
		return nil, nil, &a
	}
	if list == "" {
		return nil, nil, nil
	}
	var r struct {
		ID    int64  `json:"message_id"`
		Chat  int64  `json:"chat_id"`
		Loose bool   `json:"allow_sending_without_reply"`
		Quote string `json:"quote"`
		At    int    `json:"quote_position"`
	}
	if err := strict(list, &r); err != nil {
		return no("can't parse reply parameters JSON object: " + err.Error())
	}
	if r.Chat != 0 && r.Chat != c.info.ID {
		return no("fake telegram: replies go to the same chat only")
	}
	m := c.message(r.ID)
	switch {
	case m == nil && !r.Loose:
		return no("message to be replied not found")
	case m == nil:
		return nil, nil, nil
	case r.Quote == "":
		return m.quoted(), nil, nil
	case units(r.Quote) > maxCaption:
		return no("QUOTE_TEXT_INVALID")
	}
	at := strings.Index(m.said(), r.Quote)
	if at < 0 {
		return no("QUOTE_TEXT_INVALID")
	}
	return m.quoted(), &quote{r.Quote, units(m.said()[:at]), true}, nil
}
