package discord

import "time"

// gate is the state of the gateway, all of it under the server's lock.
type gate struct {
	sessions     map[string]*session
	links        map[*link]bool
	down         bool
	lastIdentify time.Time
	refuse       *closeWith // what every identify gets

	lostAcks, noResumes, reconnectFirst int // to come; < 0: for ever

	connects, identifies, resumes, refused, beats int // so far
}

func newGate(Options) gate { return gate{sessions: map[string]*session{}, links: map[*link]bool{}} }

// GatewayStats are counts since the start.
type GatewayStats struct {
	Connects, Identifies, Resumes, RefusedResumes, Heartbeats int
	Connected, Sessions                                       int // now
}

// Gateway says what came over the gateway.
func (s *Server) Gateway() GatewayStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &s.gate
	st := GatewayStats{g.connects, g.identifies, g.resumes, g.refused, g.beats, 0, len(g.sessions)}
	for l := range g.links {
		if l.session != nil && l.open && !l.held {
			st.Connected++
		}
	}
	return st
}

// AskReconnect sends op 7 to everybody who is connected.
func (s *Server) AskReconnect() { s.everyLink(func(l *link) { l.say(opReconnect, nil) }) }

// AskReconnectFirst answers the next times identifies and resumes with op 7, before and
// instead of any event, as Discord does when a node goes down.
func (s *Server) AskReconnectFirst(times int) { s.gateway(func(g *gate) { g.reconnectFirst = times }) }

// Invalidate sends op 9 to everybody. Unless resumable, the sessions are gone with it.
func (s *Server) Invalidate(resumable bool) {
	s.everyLink(func(l *link) {
		l.say(opInvalid, resumable)
		if n := l.session; n != nil {
			n.link, n.left, l.session = nil, s.now(), nil
			if !resumable {
				delete(s.gate.sessions, n.id)
			}
		}
	})
}

// RefuseResumes answers the next times resumes with op 9 false and forgets their
// sessions; times < 0 means all.
func (s *Server) RefuseResumes(times int) { s.gateway(func(g *gate) { g.noResumes = times }) }

// RefuseIdentifies closes with a code whoever identifies; 0 takes it back.
func (s *Server) RefuseIdentifies(code int, reason string) {
	s.gateway(func(g *gate) {
		g.refuse = nil
		if code != 0 {
			g.refuse = &closeWith{code, reason}
		}
	})
}

// LoseAcks leaves the next times heartbeats without an answer; times < 0 means all.
func (s *Server) LoseAcks(times int) { s.gateway(func(g *gate) { g.lostAcks = times }) }

// Zombify makes the connections of now deaf and dumb without closing them.
func (s *Server) Zombify() { s.everyLink(func(l *link) { l.deaf = true }) }

// NeedShards has the bot grow: it wants that many sessions from now on, and those it
// has are closed.
func (s *Server) NeedShards(count int) {
	s.gateway(func(*gate) { s.opts.Shards = count })
	s.CloseGateway(CloseShardingRequired, "Sharding required.")
}

// CloseGateway closes every connection with a code. The sessions can be resumed, but after
// those codes that say they cannot.
func (s *Server) CloseGateway(code int, reason string) {
	s.everyLink(func(l *link) {
		l.end(code, reason)
		if n := l.session; n != nil && (code == CloseBadSeq || code == CloseTimedOut || code == CloseBadToken || code >= CloseBadShard) {
			delete(s.gate.sessions, n.id)
		}
	})
}

// CutGateway breaks every connection without a word.
func (s *Server) CutGateway() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutAll()
}

// GatewayDown breaks every connection and takes no new one until GatewayUp. What happens
// meanwhile is kept for those who resume in time.
func (s *Server) GatewayDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate.down = true
	s.cutAll()
}

// GatewayUp takes connections again; unless it remembers, all sessions are gone.
func (s *Server) GatewayUp(remembers bool) {
	s.gateway(func(g *gate) {
		g.down = false
		if !remembers {
			clear(g.sessions)
		}
	})
}

func (s *Server) gateway(change func(*gate)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.gate)
}

func (s *Server) everyLink(do func(*link)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.gate.links {
		do(l)
	}
}

// cutAll breaks every connection: nothing is sent any more from now on. s.mu is held.
func (s *Server) cutAll() {
	for l := range s.gate.links {
		l.deaf, l.open = true, false
		if l.session != nil {
			l.session.left = s.now()
		}
		s.idle.Go(func() { _ = l.ws.CloseNow() })
	}
}

func (s *Server) appFlags() int {
	if s.opts.NoMessageContent {
		return 0
	}
	return appContentLimited
}

func (s *Server) getGateway(*call) reply { return ok(map[string]string{"url": s.gatewayURL()}) }

func (s *Server) getGatewayBot(*call) reply {
	left := max(0, s.opts.IdentifyBudget-s.gate.identifies)
	return ok(map[string]any{
		"url": s.gatewayURL(), "shards": max(1, s.opts.Shards),
		"session_start_limit": map[string]int{"total": s.opts.IdentifyBudget, "remaining": left, "reset_after": 14400000, "max_concurrency": 1},
	})
}
