package telegram

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

func (s *Server) editMessageText(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, no := s.editable(p)
	if no != nil {
		return *no
	}
	if m.file != nil {
		return badRequest("there is no text in the message to edit")
	}
	what, no := content(p)
	if no != nil {
		return *no
	}
	return s.change(c, "editMessageText", m, what)
}

func (s *Server) editMessageCaption(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, no := s.editable(p)
	if no != nil {
		return *no
	}
	if m.file == nil {
		return badRequest("there is no caption in the message to edit")
	}
	what, no := caption(p)
	if no != nil {
		return *no
	}
	return s.change(c, "editMessageCaption", m, what)
}

func (s *Server) editMessageReplyMarkup(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, no := s.editable(p)
	if no != nil {
		return *no
	}
	keys, no := keyboard(p.form["reply_markup"])
	if no != nil {
		return *no
	}
	return s.change(c, "editMessageReplyMarkup", m, said{text: m.said(), formats: m.formats, keys: keys, preview: m.preview, rich: m.Rich})
}

// editable is the bot's own message that a call names. s.mu is held.
func (s *Server) editable(p params) (*chat, *message, *reply) {
	c, no := s.find(p)
	if no != nil {
		return nil, nil, no
	}
	m := c.message(p.int("message_id"))
	var a reply
	switch {
	case m == nil:
		a = badRequest("message to edit not found")
	case m.From == nil || m.From.ID != BotID:
		a = badRequest("message can't be edited")
	default:
		return c, m, nil
	}
	return nil, nil, &a
}

// change replaces a message; the same again is refused, as Telegram does. s.mu is held.
func (s *Server) change(c *chat, method string, m *message, what said) reply {
	if m.said() == what.text && m.Rich.markdown() == what.rich.markdown() && slices.Equal(m.formats, what.formats) && slices.Equal(asJSON(m.Markup), asJSON(what.keys)) {
		return badRequest("message is not modified: specified new message content and reply markup are exactly the same " +
			"as a current content and reply markup of the message")
	}
	if no := s.limit(c, method, 1); no != nil {
		return *no
	}
	// A copy: an update or an answer that was made before keeps what it said.
	next := *m
	next.say(what)
	next.EditDate = time.Now().Unix()
	c.messages[m.ID-1] = &next
	c.edits[m.ID]++
	s.show(c, &next, true)
	return result(next)
}

// deletable is how old a message may be that a bot deletes.
const deletable = 48 * time.Hour

func (s *Server) deleteMessage(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	m := c.message(p.int("message_id"))
	switch {
	case m == nil:
		return badRequest("message to delete not found")
	case !c.deletable(m):
		return badRequest("message can't be deleted")
	}
	c.messages[m.ID-1] = nil
	return result(true)
}

func (s *Server) deleteMessages(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	var ids []int64
	if json.Unmarshal([]byte(p.form["message_ids"]), &ids) != nil || len(ids) < 1 || len(ids) > 100 {
		return badRequest("message_ids must be 1-100 identifiers")
	}
	for _, id := range ids { // those that are not there are passed over
		if m := c.message(id); m != nil && c.deletable(m) {
			c.messages[m.ID-1] = nil
		}
	}
	return result(true)
}

// deletable says whether the bot may delete a message. s.mu is held.
func (c *chat) deletable(m *message) bool {
	old := time.Since(time.Unix(m.Date, 0)) > deletable
	mine := m.From != nil && m.From.ID == BotID
	return !old && (mine || c.info.Type == "private" || c.admin)
}
