package discord

type interaction struct{}
type command struct{}

func (s *Server) threadRoutes() []route      { return nil }
func (s *Server) interactionRoutes() []route { return nil }
func (s *Server) commandRoutes() []route     { return nil }
func unquote(b []byte) string                { return string(b) }
