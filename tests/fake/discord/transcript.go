package discord

import (
	"fmt"
	"strings"
)

// Transcript is a channel as people see it now, oldest first: who said what, what hangs
// on it, and what it is an answer to. It is empty where there is no such channel yet.
func (s *Server) Transcript(channel string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	c := s.channels[channel]
	if c == nil {
		return ""
	}
	for _, m := range c.messages {
		if m.deleted || m.isSystem() {
			continue
		}
		s.line(&b, c, m)
	}
	return b.String()
}

func (s *Server) line(b *strings.Builder, c *channel, m *message) {
	if to := m.Referenced; to != nil && m.Type == typeReply {
		if to.deleted {
			b.WriteString("  ┌ original message was deleted\n")
		} else {
			fmt.Fprintf(b, "  ┌ %s: %s\n", to.Author.Username, cutAt(to.Content, 60))
		}
	}
	if m.Type == typeCommand && m.Meta != nil {
		fmt.Fprintf(b, "  ┌ %s used /%s\n", m.Meta.User.Username, m.Meta.Name)
	}
	text := m.Content
	if m.Flags&flagLoading != 0 {
		text = "(thinking…)"
	}
	fmt.Fprintf(b, "%s: %s", m.Author.Username, strings.ReplaceAll(text, "\n", "\n    "))
	if m.Edited != nil {
		b.WriteString(" (edited)")
	}
	b.WriteByte('\n')
	for _, a := range m.Attachments {
		fmt.Fprintf(b, "    [file %s, %d bytes]\n", a.Filename, a.Size)
	}
	for _, row := range rowsOf(m.Components) {
		b.WriteString("   ")
		for _, button := range row {
			fmt.Fprintf(b, " [%s]", button.Label)
		}
		b.WriteByte('\n')
	}
	for _, r := range m.Reactions {
		fmt.Fprintf(b, "    %s %d\n", r.Emoji.Name, r.Count)
	}
	if m.ephemeral != "" {
		fmt.Fprintf(b, "    (only %s sees this)\n", s.users[m.ephemeral].Username)
	}
	if t := m.Thread; t != nil && s.channels[t.ID] != nil && c.info.ID != t.ID {
		fmt.Fprintf(b, "    (thread %s)\n", *t.Name)
	}
}

func cutAt(text string, n int) string {
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}
