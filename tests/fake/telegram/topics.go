package telegram

import (
	"context"
	"slices"
)

// generalTopic is the id of a forum's first topic. It is asymmetric: messages in
// it carry no thread, a send must not name it, and typing may.
const generalTopic = 1

// topic of a forum, or of a private chat.
type topic struct {
	name   string
	closed bool
}

var topicColors = []int{7322096, 16766590, 13338331, 9367192, 16749490, 16478047}

// open says why nothing can be posted in a thread. s.mu is held.
func (c *chat) open(thread int) *reply {
	if thread == 0 {
		return nil
	}
	t := c.topics[thread]
	var a reply
	switch {
	case t == nil:
		a = badRequest("message thread not found")
	case t.closed && !c.admin:
		a = badRequest("TOPIC_CLOSED")
	default:
		return nil
	}
	return &a
}

// addTopic makes a topic, with the service message that it begins with. s.mu is held.
func (c *chat) addTopic(from *user, name string, color int) *message {
	if len(c.messages) == 0 {
		c.messages = append(c.messages, nil) // id 1 is the general topic
	}
	m := c.add(&message{From: from, TopicCreated: &topicCreated{name, color}})
	m.Thread, m.IsTopic = m.ID, true
	c.topics[m.ID] = &topic{name: name}
	return m
}

// dropTopic deletes a topic with all that was said in it. s.mu is held.
func (c *chat) dropTopic(id int) {
	delete(c.topics, id)
	delete(c.drafts, id)
	for i, m := range c.messages {
		if m != nil && m.IsTopic && m.Thread == id {
			c.messages[i] = nil
		}
	}
}

func (s *Server) createForumTopic(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	name, color := p.form["name"], int(p.int("icon_color"))
	if color == 0 {
		color = topicColors[0]
	}
	switch no := s.mayManageTopics(c); {
	case no != nil:
		return *no
	case units(name) < 1 || units(name) > 128:
		return badRequest("TOPIC_TITLE_INVALID")
	case !slices.Contains(topicColors, color):
		return badRequest("TOPIC_ICON_COLOR_INVALID")
	}
	m := c.addTopic(s.bot(), name, color)
	return result(map[string]any{"message_thread_id": m.ID, "name": name, "icon_color": color})
}

// mayManageTopics says why the bot must not. s.mu is held.
func (s *Server) mayManageTopics(c *chat) *reply {
	var a reply
	switch {
	case c.info.Type == "private" && !s.opts.Topics, c.info.Type != "private" && !c.info.IsForum:
		a = badRequest("the chat is not a forum")
	case c.info.Type != "private" && !c.admin:
		a = badRequest("not enough rights to create a topic")
	default:
		return nil
	}
	return &a
}

// changeTopic is editForumTopic, closeForumTopic, reopenForumTopic and deleteForumTopic.
func changeTopic(change func(s *Server, c *chat, id int, p params) *message) func(*Server, context.Context, params) reply {
	return func(s *Server, _ context.Context, p params) reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		c, no := s.find(p)
		if no != nil {
			return *no
		}
		if no := s.mayManageTopics(c); no != nil {
			return *no
		}
		id := int(p.int("message_thread_id"))
		if c.topics[id] == nil {
			return badRequest("TOPIC_ID_INVALID")
		}
		if m := change(s, c, id, p); m != nil {
			m.From, m.Thread, m.IsTopic = s.bot(), id, true
			c.add(m)
		}
		return result(true)
	}
}

var (
	editForumTopic = changeTopic(func(_ *Server, c *chat, id int, p params) *message {
		if name := p.form["name"]; name != "" {
			c.topics[id].name = name
		}
		return &message{TopicEdited: &topicEdited{p.form["name"]}}
	})
	closeForumTopic = changeTopic(func(_ *Server, c *chat, id int, _ params) *message {
		c.topics[id].closed = true
		return &message{TopicClosed: &struct{}{}}
	})
	reopenForumTopic = changeTopic(func(_ *Server, c *chat, id int, _ params) *message {
		c.topics[id].closed = false
		return &message{TopicOpened: &struct{}{}}
	})
	deleteForumTopic = changeTopic(func(_ *Server, c *chat, id int, _ params) *message {
		c.dropTopic(id)
		return nil
	})
)

var actions = []string{
	"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
	"choose_sticker", "find_location", "record_video_note", "upload_video_note",
}

func (s *Server) sendChatAction(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	if !slices.Contains(actions, p.form["action"]) {
		return badRequest("wrong parameter action in request")
	}
	thread := int(p.int("message_thread_id"))
	if thread != 0 && c.topics[thread] == nil && (thread != generalTopic || !c.info.IsForum) {
		return badRequest("message thread not found")
	}
	if no := s.inFlood(c, "sendChatAction"); no != nil {
		return *no
	}
	c.typing[thread]++
	return result(true)
}
