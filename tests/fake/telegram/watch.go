package telegram

// Watch hears what passes between the bot and its people, at the moment it does:
// for whoever measures. Each may be nil, and is called from many goroutines,
// the three last with the server locked: they must neither block nor call it.
type Watch struct {
	// Called hears each call of a method, before anything is done for it.
	Called func(method string)
	// Handed hears of each update of a chat that leaves in an answer of getUpdates.
	Handed func(chat int64)
	// Shown hears each text that the bot posts or, if edited, changes a message to.
	Shown func(chat int64, text string, edited bool)
	// Limited hears of each post or edit that is refused as one too many.
	Limited func(chat int64)
}

// handOut tells of updates that leave. s.mu is held.
func (s *Server) handOut(list []update) {
	if s.opts.Watch.Handed == nil {
		return
	}
	for _, u := range list {
		if u.chat != 0 {
			s.opts.Watch.Handed(u.chat)
		}
	}
}

// show tells of a new text. s.mu is held.
func (s *Server) show(c *chat, m *message, edited bool) {
	if s.opts.Watch.Shown != nil {
		s.opts.Watch.Shown(c.info.ID, m.said(), edited)
	}
}

// refused tells of a 429. s.mu is held.
func (s *Server) refused(c *chat) {
	if s.opts.Watch.Limited != nil {
		s.opts.Watch.Limited(c.info.ID)
	}
}
