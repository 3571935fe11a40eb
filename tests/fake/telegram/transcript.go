package telegram

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Transcript is a chat as a person in it sees it now: one paragraph for each
// message, with what it replies to, its files, buttons and reactions, and at the
// end what the bot is writing.
func (s *Server) Transcript(chatID int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chatID]
	if c == nil {
		return ""
	}
	var b strings.Builder
	for _, m := range c.messages {
		if m != nil {
			b.WriteString(c.line(m, c.edits[m.ID] > 0))
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(c.drafts)) {
		d := c.drafts[topic]
		if d.stopped && !d.keep || time.Since(d.at) > s.opts.DraftLife {
			continue
		}
		text := d.text + d.rich.markdown()
		if text == "" {
			text = "Thinking…"
		}
		fmt.Fprintf(&b, "%s is writing%s: %s\n", s.bot().FirstName, c.where(topic), indented(text))
	}
	return b.String()
}

// line is one message.
func (c *chat) line(m *message, edited bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", m.ID)
	if m.IsTopic {
		b.WriteString(c.where(m.Thread))
	}
	if m.From != nil {
		b.WriteString(" " + m.From.FirstName)
	}
	if edited {
		b.WriteString(" (edited)")
	}
	b.WriteString(":")
	if m.ReplyTo != nil && (!m.IsTopic || m.ReplyTo.ID != m.Thread) {
		fmt.Fprintf(&b, " ↩ %d", m.ReplyTo.ID)
		if m.Quote != nil {
			fmt.Fprintf(&b, " “%s”", m.Quote.Text)
		}
	}
	if f := m.file; f != nil {
		fmt.Fprintf(&b, " [%s]", strings.Join(strings.Fields(fmt.Sprintf("%s %s %d bytes", f.Kind, f.Name, f.size())), " "))
	}
	if text := m.said() + m.Rich.markdown(); text != "" {
		b.WriteString(" " + indented(text))
	}
	b.WriteString(m.service())
	if m.Markup != nil {
		for _, row := range m.Markup.Rows {
			b.WriteString("\n    ")
			for _, button := range row {
				b.WriteString("[" + button.Text + "]")
			}
		}
	}
	for _, who := range slices.Sorted(maps.Keys(m.reactions)) {
		b.WriteString("\n    " + m.reactions[who])
	}
	return b.String() + "\n"
}

// where names a topic.
func (c *chat) where(id int) string {
	t := c.topics[id]
	if t == nil {
		return ""
	}
	return " #" + t.name
}

// service is what a service message says.
func (m *message) service() string {
	switch {
	case m.TopicCreated != nil:
		return " — made the topic " + m.TopicCreated.Name
	case m.TopicEdited != nil:
		return " — called the topic " + m.TopicEdited.Name
	case m.TopicClosed != nil:
		return " — closed the topic"
	case m.TopicOpened != nil:
		return " — opened the topic again"
	case m.MigrateTo != 0:
		return fmt.Sprintf(" — the group is a supergroup now: %d", m.MigrateTo)
	case m.MigrateFrom != 0:
		return fmt.Sprintf(" — the group was %d", m.MigrateFrom)
	}
	return ""
}

// indented puts the lines behind the first under it.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }
