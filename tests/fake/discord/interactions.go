package discord

import (
	"encoding/json"
	"strings"
	"time"
)

// An interaction must be answered within answerFor, unless Options says otherwise; its
// token is good for tokenFor
// (https://docs.discord.com/developers/interactions/receiving-and-responding).
const (
	answerFor = 3 * time.Second
	tokenFor  = 15 * time.Minute
)

// Types of an answer to an interaction.
const (
	respondMessage     = 4
	respondDefer       = 5
	respondDeferUpdate = 6
	respondUpdate      = 7
	respondModal       = 9
)

// interaction is a command or a press that waits for the bot, and its webhook after it.
type interaction struct {
	id, token string
	kind      int
	user      *user
	ch        *channel
	at        time.Time
	answered  int      // the answer's type, 0 while there is none
	original  *message // the answer, or the message that it changes
	pressed   *message
	name      string // of the command
}

// webhookFields are those of a message that comes by an interaction's token. The last is
// not documented here, but discord.js sends it, and Discord lets it pass.
var webhookFields = []string{"content", "tts", "embeds", "allowed_mentions", "components", "attachments", "flags", "poll", "enforce_nonce"}

func (s *Server) interactionRoutes() []route {
	return []route{
		{name: Callback, fields: []string{"type", "data"}, do: (*Server).callback, open: true},
		{name: FollowUp, fields: webhookFields, do: (*Server).followUp, open: true},
		{name: "GET /webhooks/{application}/{token}/messages/{message}", do: (*Server).getResponse, open: true},
		{name: EditResponse, fields: editFields, do: (*Server).editResponse, open: true},
		{name: "DELETE /webhooks/{application}/{token}/messages/{message}", do: (*Server).deleteResponse, open: true},
	}
}

// callback takes the answer to an interaction.
func (s *Server) callback(c *call) reply {
	in := s.inter[c.r.PathValue("token")]
	switch {
	case in == nil || in.id != c.r.PathValue("interaction"):
		return unknownPress
	case in.answered != 0:
		return acknowledged
	case s.now().Sub(in.at) > s.opts.AnswerFor:
		return unknownPress
	}
	var b struct {
		Type int             `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if refused := c.decode(&b); refused != nil {
		return *refused
	}
	data, refused := c.inner(b.Data, webhookFields, b.Type)
	if refused != nil {
		return *refused
	}
	switch b.Type {
	case respondMessage, respondDefer:
		refused = s.respond(data, in, b.Type)
	case respondDeferUpdate, respondUpdate:
		refused = s.update(data, in, b.Type)
	case respondModal:
		in.answered = b.Type
	default:
		var f form
		f.choices("(4, 5, 6, 7, 9)", "type")
		refused = f.reply()
	}
	if refused != nil {
		return *refused
	}
	if c.r.URL.Query().Get("with_response") != "true" {
		return noContent
	}
	return ok(s.callbackResult(in))
}

// inner is the message of a callback as a call of its own.
func (c *call) inner(data json.RawMessage, fields []string, kind int) (*call, *reply) {
	in := &call{r: c.r, body: data, files: c.files, fields: map[string]json.RawMessage{}}
	if kind == respondModal || len(data) == 0 || string(data) == "null" {
		in.body = nil
		return in, nil
	}
	if json.Unmarshal(data, &in.fields) != nil {
		a := invalid("DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType", "data")
		return nil, &a
	}
	for name := range in.fields {
		if !contains(fields, name) {
			a := invalid("FAKE_UNKNOWN_FIELD", "fake discord: the data of an answer has no field "+name, "data", name)
			return nil, &a
		}
	}
	return in, nil
}

func contains(list []string, one string) bool {
	return strings.Contains(" "+strings.Join(list, " ")+" ", " "+one+" ")
}

// respond answers by a message of its own, or by the promise of one. s.mu is held.
func (s *Server) respond(data *call, in *interaction, kind int) *reply {
	var b messageBody
	if refused := data.decode(&b); refused != nil {
		return refused
	}
	m := s.responseTo(in)
	if kind == respondDefer {
		m.Flags = flagLoading | b.Flags&flagEphemeral
	} else if refused := s.compose(data, in.ch, m, &b, flagsOfResponses); refused != nil {
		return refused
	}
	if m.Flags&flagEphemeral != 0 {
		m.ephemeral = in.user.ID
	}
	in.answered, in.original = kind, m
	s.post(in.ch, m)
	return nil
}

// responseTo is an empty message of the bot that answers an interaction. s.mu is held.
func (s *Server) responseTo(in *interaction) *message {
	m := &message{Author: &s.bot, WebhookID: BotID, Application: BotID, token: in.token, Meta: s.metaOf(in)}
	if in.kind == interactionCommand && in.answered == 0 {
		m.Type = typeCommand
	}
	if in.pressed != nil && !in.pressed.deleted {
		in.ch.replies(m, in.pressed)
	}
	return m
}

func (s *Server) metaOf(in *interaction) *interactionMeta {
	meta := &interactionMeta{ID: in.id, Type: in.kind, User: *in.user, Owners: map[string]string{"0": in.ch.info.GuildID}, Name: in.name}
	if in.ch.guild == nil {
		meta.Owners["0"] = "0"
	}
	if in.pressed != nil {
		meta.Pressed = in.pressed.ID
	}
	if in.original != nil && in.answered == respondMessage {
		meta.Origin = in.original.ID
	}
	return meta
}

// update answers a press by changing the message of the button, now or later. s.mu is held.
func (s *Server) update(data *call, in *interaction, kind int) *reply {
	if in.kind != interactionPress {
		var f form
		f.choices("(4, 5, 9)", "type")
		return f.reply()
	}
	if kind == respondUpdate {
		var b messageBody
		if refused := data.decode(&b); refused != nil {
			return refused
		}
		if refused := s.change(data, in.ch, in.pressed, &b); refused != nil {
			return refused
		}
	}
	in.answered, in.original = kind, in.pressed
	return nil
}

func (s *Server) callbackResult(in *interaction) any {
	about := map[string]any{"id": in.id, "type": in.kind}
	out := map[string]any{"interaction": about}
	if in.original == nil || in.answered == respondModal {
		return out
	}
	about["response_message_id"] = in.original.ID
	about["response_message_loading"] = in.original.Flags&flagLoading != 0
	about["response_message_ephemeral"] = in.original.ephemeral != ""
	out["resource"] = map[string]any{"type": in.answered, "message": s.view(in.original, viewREST)}
	return out
}

// webhook is the interaction of the path's token, while it is good and answered.
func (s *Server) webhook(c *call) (*interaction, *reply) {
	in := s.inter[c.r.PathValue("token")]
	switch {
	case in == nil || c.r.PathValue("application") != BotID:
		return nil, &unknownWebhook
	case s.now().Sub(in.at) > tokenFor:
		return nil, &badWebhookToken
	case in.answered == 0:
		return nil, &unknownWebhook
	}
	return in, nil
}

// response is the message of the path: @original, or one that came by this token.
func (s *Server) response(c *call) (*interaction, *message, *reply) {
	in, refused := s.webhook(c)
	if refused != nil {
		return nil, nil, refused
	}
	m := in.original
	if id := c.r.PathValue("message"); id != "@original" {
		m = in.ch.message(id)
		if m != nil && m.token != in.token && m != in.original {
			m = nil
		}
	}
	if m == nil || m.deleted {
		return nil, nil, &unknownMessage
	}
	return in, m, nil
}

func (s *Server) getResponse(c *call) reply {
	_, m, refused := s.response(c)
	if refused != nil {
		return *refused
	}
	return ok(s.view(m, viewREST))
}

func (s *Server) editResponse(c *call) reply {
	in, m, refused := s.response(c)
	if refused != nil {
		return *refused
	}
	var b messageBody
	if refused := c.decode(&b); refused != nil {
		return *refused
	}
	if refused := s.change(c, in.ch, m, &b); refused != nil {
		return *refused
	}
	return ok(s.view(m, viewREST))
}

func (s *Server) deleteResponse(c *call) reply {
	in, m, refused := s.response(c)
	if refused != nil {
		return *refused
	}
	s.remove(in.ch, m)
	return noContent
}

// followUp posts one more message by the token. The first one after a deferred answer is
// that answer.
func (s *Server) followUp(c *call) reply {
	in, refused := s.webhook(c)
	if refused != nil {
		return *refused
	}
	var b messageBody
	if refused := c.decode(&b); refused != nil {
		return *refused
	}
	if m := in.original; m != nil && !m.deleted && m.Flags&flagLoading != 0 {
		b.Flags &^= flagEphemeral // the defer has decided that
		if refused := s.change(c, in.ch, m, &b); refused != nil {
			return *refused
		}
		return ok(s.view(m, viewREST))
	}
	m := s.responseTo(in)
	if m.Type == typeDefault && in.original != nil && !in.original.deleted {
		in.ch.replies(m, in.original)
	}
	if refused := s.compose(c, in.ch, m, &b, flagsOfResponses); refused != nil {
		return *refused
	}
	if m.Flags&flagEphemeral != 0 {
		m.ephemeral = in.user.ID
	}
	s.post(in.ch, m)
	return ok(s.view(m, viewREST))
}

// Interaction is a press or a command, as the person who did it follows it.
type Interaction struct {
	s  *Server
	in *interaction
}

// Token is the one that the bot answers with.
func (i *Interaction) Token() string { return i.in.token }

// ID is the interaction's.
func (i *Interaction) ID() string { return i.in.id }

// Acknowledged says whether the bot has answered in any way.
func (i *Interaction) Acknowledged() bool {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return i.in.answered != 0
}

// Failed says whether the person was told that the interaction failed: nobody
// answered in time.
func (i *Interaction) Failed() bool {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return i.in.answered == 0 && i.s.now().Sub(i.in.at) > i.s.opts.AnswerFor
}

// Response is the message that answers now, if there is one.
func (i *Interaction) Response() (Sent, bool) {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	if i.in.original == nil || i.in.original.deleted {
		return Sent{}, false
	}
	return i.s.sent(i.in.original), true
}

// interact sends an interaction to the bot. s.mu is held.
func (s *Server) interact(in *interaction, data map[string]any) {
	in.id, in.at = s.newID(), s.now()
	in.token = "aW50ZXJhY3Rpb246" + in.id + "." + s.newID()
	s.inter[in.token] = in
	o := map[string]any{
		"id": in.id, "application_id": BotID, "type": in.kind, "token": in.token, "version": 1, "data": data,
		"channel_id": in.ch.info.ID, "channel": in.ch.info, "app_permissions": bits(everything &^ in.ch.denied), "locale": "en-US",
		"entitlements": []any{}, "attachment_size_limit": maxFile, "context": 1, "authorizing_integration_owners": map[string]string{"0": "0"},
	}
	if in.pressed != nil {
		o["message"] = s.view(in.pressed, viewREST)
	}
	if in.ch.guild == nil {
		o["user"] = in.user
	} else {
		m := s.memberOf(in.user, true)
		m.CanDo = bits(everything)
		o["member"], o["guild_id"], o["guild_locale"], o["context"] = m, in.ch.guild.id, "en-US", 0
		o["guild"] = map[string]any{"id": in.ch.guild.id, "locale": "en-US", "features": []string{}}
		o["authorizing_integration_owners"] = map[string]string{"0": in.ch.guild.id}
	}
	for _, n := range s.gate.sessions {
		if n.hears(0, in.ch) {
			n.append("INTERACTION_CREATE", o)
		}
	}
}

// unquote is a nonce as text.
func unquote(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }
