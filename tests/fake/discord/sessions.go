package discord

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// Intents, https://docs.discord.com/developers/events/gateway#gateway-intents.
const (
	intentGuilds          = 1 << 0
	intentMembers         = 1 << 1
	intentPresences       = 1 << 8
	intentGuildMessages   = 1 << 9
	intentGuildReactions  = 1 << 10
	intentGuildTyping     = 1 << 11
	intentDirectMessages  = 1 << 12
	intentDirectReactions = 1 << 13
	intentDirectTyping    = 1 << 14
	intentMessageContent  = 1 << 15
	intentsKnown          = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
)

// payload is what goes over the gateway.
type payload struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int            `json:"s"`
	Type *string         `json:"t"`
}

// session is what an identify begins. It goes on while its connection is away, and
// keeps every event that it was sent, for a resume.
type session struct {
	id            string
	intents       int
	shard, shards int
	events        []payload // the one with sequence n is at n-1
	link          *link     // nil while nobody is connected
	left          time.Time // since when
}

func (n *session) append(event string, data any) {
	seq, name := len(n.events)+1, event
	n.events = append(n.events, payload{Op: opDispatch, Data: encode(data), Seq: &seq, Type: &name})
	if n.link != nil {
		n.link.stir()
	}
}

// hears says whether events of an intent in a channel's guild are for the session.
func (n *session) hears(intent int, ch *channel) bool {
	if intent != 0 && n.intents&intent == 0 {
		return false
	}
	if ch == nil || ch.guild == nil {
		return n.shard == 0
	}
	return shardOf(ch.guild.id, n.shards) == n.shard
}

// intent is the one that events of a channel need.
func (c *channel) intent(inGuild, inDM int) int {
	if c.guild != nil {
		return inGuild
	}
	return inDM
}

// dispatch tells every session that hears of it. Events of channels that the bot may not see
// are nobody's. s.mu is held.
func (s *Server) dispatch(event string, intent int, ch *channel, data func(*session) any) {
	if ch != nil && ch.denies(ViewChannel) {
		return
	}
	for _, n := range s.gate.sessions {
		if n.hears(intent, ch) {
			n.append(event, data(n))
		}
	}
}

func (s *Server) dispatchMessage(event string, ch *channel, m *message) {
	if m.ephemeral != "" {
		return
	}
	s.dispatch(event, ch.intent(intentGuildMessages, intentDirectMessages), ch, func(n *session) any {
		return s.view(m, view{content: n.intents&intentMessageContent != 0, gateway: true})
	})
}

func (s *Server) dispatchTyping(ch *channel, who *user) {
	s.dispatch("TYPING_START", ch.intent(intentGuildTyping, intentDirectTyping), ch, func(*session) any {
		data := map[string]any{"channel_id": ch.info.ID, "user_id": who.ID, "timestamp": s.now().Unix()}
		if ch.guild != nil {
			data["guild_id"], data["member"] = ch.guild.id, s.memberOf(who, true)
		}
		return data
	})
}

// Inject sends an event as it is to every session: for payloads that are partial,
// or of a kind that nobody knows.
func (s *Server) Inject(event string, data json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.gate.sessions {
		n.append(event, data)
	}
}

// begin makes a session, and sends it READY and the guilds. s.mu is held.
func (s *Server) beginSession(l *link, id identify) {
	n := &session{id: s.newSessionID(), intents: *id.Intents, shard: id.Shard[0], shards: id.Shard[1], link: l}
	l.session, l.next, l.resumed = n, 0, -1
	for id, old := range s.gate.sessions { // what nobody can resume hears of nothing any more
		if s.lapsed(old) {
			delete(s.gate.sessions, id)
		}
	}
	s.gate.sessions[n.id] = n
	var guilds []any
	mine := s.sortedGuilds()
	mine = slices.DeleteFunc(mine, func(g *guild) bool { return shardOf(g.id, n.shards) != n.shard })
	for _, g := range mine {
		guilds = append(guilds, map[string]any{"id": g.id, "unavailable": true})
	}
	if guilds == nil {
		guilds = []any{}
	}
	n.append("READY", map[string]any{
		"v": l.version, "user": s.me(), "guilds": guilds, "session_id": n.id,
		"resume_gateway_url": s.gatewayURL(), "shard": []int{n.shard, n.shards},
		"application": map[string]any{"id": BotID, "flags": s.appFlags(), "flags_new": strconv.Itoa(s.appFlags())},
	})
	if n.intents&intentGuilds == 0 {
		return
	}
	for _, g := range mine {
		n.append("GUILD_CREATE", s.guildEvent(g))
	}
}

// guildEvent is a guild with what only the gateway tells of it.
func (s *Server) guildEvent(g *guild) map[string]any {
	o := s.guildObject(g)
	for k, v := range map[string]any{
		"joined_at": g.joined, "large": false, "member_count": len(s.users), "voice_states": []any{},
		"members":  []any{s.memberOf(&s.bot, true)},
		"channels": s.channelsOf(g, false), "threads": s.channelsOf(g, true), "presences": []any{},
		"stage_instances": []any{}, "guild_scheduled_events": []any{}, "soundboard_sounds": []any{},
	} {
		o[k] = v
	}
	return o
}

func (s *Server) newSessionID() string {
	id := s.newID()
	return "fake" + id
}

// resumable is the session of a resume, or nil. s.mu is held.
func (s *Server) resumable(id string, seq int) *session {
	n := s.gate.sessions[id]
	if n == nil || n.link != nil && n.link.open || seq > len(n.events) {
		return n
	}
	if s.lapsed(n) {
		delete(s.gate.sessions, id)
		return nil
	}
	return n
}

// lapsed reports whether a session's connection is away for so long that it cannot
// be resumed. s.mu is held.
func (s *Server) lapsed(n *session) bool {
	return (n.link == nil || !n.link.open) && s.now().Sub(n.left) > s.opts.ResumeFor
}
