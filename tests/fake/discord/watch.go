package discord

// Watch hears what passes between the bot and its people, at the moment it does:
// for whoever measures. Each may be nil, and is called from many goroutines,
// all but Called with the server locked: they must neither block nor call it.
type Watch struct {
	// Called hears each request by its route, before anything is done for it.
	Called func(route string)
	// Shown hears each text that the bot posts or, if edited, changes a message to.
	Shown func(channel, text string, edited bool)
	// Limited hears of each request that is refused as one too many.
	Limited func(route string)
}

// show tells of a new text. s.mu is held.
func (s *Server) show(m *message, edited bool) {
	if s.opts.Watch.Shown != nil {
		s.opts.Watch.Shown(m.ChannelID, m.Content, edited)
	}
}

// limited tells of a 429. s.mu is held.
func (s *Server) limited(route string) {
	if s.opts.Watch.Limited != nil {
		s.opts.Watch.Limited(route)
	}
}
