package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxRequest bounds a body, files included; maxFile one file of it.
const (
	maxRequest = 25 << 20
	maxFile    = 10 << 20
	maxFiles   = 10
)

// route is one request of the API, with the fields that its body has there.
type route struct {
	name   string // method and path, for Fail and Calls
	fields []string
	do     func(*Server, *call) reply
	open   bool // needs no bot token: the path has one of its own
}

// call is one request. Objects are as they came.
type call struct {
	r      *http.Request
	fields map[string]json.RawMessage
	body   []byte // JSON
	files  map[int]upload
}

// upload is a file of a multipart body.
type upload struct {
	name, kind string
	content    []byte
}

var messageFields = []string{
	"content", "nonce", "tts", "embeds", "allowed_mentions", "message_reference", "components", "sticker_ids", "attachments",
	"flags", "enforce_nonce", "poll",
}

// The two last are not documented here, but discord.js sends them, and Discord lets them pass.
var editFields = []string{"content", "embeds", "flags", "allowed_mentions", "components", "attachments", "tts", "enforce_nonce"}

// mount makes the routes known.
func (s *Server) mount() {
	for _, r := range slices.Concat(s.routes(), s.threadRoutes(), s.interactionRoutes(), s.commandRoutes()) {
		s.mux.HandleFunc(r.name, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r) })
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { noRoute.write(w) })
}

func (s *Server) routes() []route {
	return []route{
		{name: "GET /gateway", do: (*Server).getGateway, open: true},
		{name: "GET /gateway/bot", do: (*Server).getGatewayBot},
		{name: "GET /users/@me", do: func(s *Server, _ *call) reply { return ok(s.me()) }},
		{name: "GET /users/{user}", do: (*Server).getUser},
		{name: "GET /users/@me/guilds", do: (*Server).getGuilds},
		{name: OpenDM, fields: []string{"recipient_id"}, do: (*Server).openDM},
		{name: "GET /guilds/{guild}", do: (*Server).getGuild},
		{name: "GET /guilds/{guild}/channels", do: (*Server).getGuildChannels},
		{name: "GET /channels/{channel}", do: (*Server).getChannel},
		{name: "POST /channels/{channel}/typing", do: (*Server).typing},
		{name: CreateMessage, fields: messageFields, do: (*Server).createMessage},
		{name: ListMessages, do: (*Server).listMessages},
		{name: "GET /channels/{channel}/messages/{message}", do: (*Server).getMessage},
		{name: EditMessage, fields: editFields, do: (*Server).editMessage},
		{name: "DELETE /channels/{channel}/messages/{message}", do: (*Server).deleteMessage},
		{name: "PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me", do: (*Server).react},
		{name: "DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me", do: (*Server).unreact},
	}
}

// Names of routes that tests break most.
const (
	CreateMessage = "POST /channels/{channel}/messages"
	ListMessages  = "GET /channels/{channel}/messages"
	EditMessage   = "PATCH /channels/{channel}/messages/{message}"
	Typing        = "POST /channels/{channel}/typing"
	Callback      = "POST /interactions/{interaction}/{token}/callback"
	FollowUp      = "POST /webhooks/{application}/{token}"
	EditResponse  = "PATCH /webhooks/{application}/{token}/messages/{message}"
	PutCommands   = "PUT /applications/{application}/commands"
	ActiveThreads = "GET /guilds/{guild}/threads/active"
	StartThread   = "POST /channels/{channel}/messages/{message}/threads"
	OpenDM        = "POST /users/@me/channels"
	GatewayBot    = "GET /gateway/bot"
)

// serve runs one request through its checks and the fault that waits for it, if
// there is one.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, rt route) {
	if s.opts.Watch.Called != nil {
		s.opts.Watch.Called(rt.name)
	}
	defer s.begin(rt.name)()
	if a := s.admit(r, rt); a != nil {
		s.answer(w, *a)
		return
	}
	f := s.takeFault(rt.name)
	switch {
	case f == nil:
	case f.hang:
		s.pause(r.Context(), -1)
		cut(w)
		return
	case f.response != nil:
		f.response.write(w, s)
		return
	}
	if a := s.flooded(r, rt); a != nil {
		s.answer(w, *a)
		return
	}
	header, limited := s.limit(r, rt)
	for k, v := range header {
		w.Header()[k] = v
	}
	if limited != nil {
		s.answer(w, *limited)
		return
	}
	a := s.perform(w, r, rt)
	if f != nil && f.cut {
		cut(w)
		return
	}
	if d := s.delay(rt.name); d > 0 {
		s.pause(r.Context(), d)
	}
	s.answer(w, a)
}

// admit is why a request is turned away before anything else, or nil.
func (s *Server) admit(r *http.Request, rt route) *reply {
	if !strings.HasPrefix(r.Header.Get("User-Agent"), "DiscordBot (") {
		return &badAgent
	}
	if rt.open {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reset || r.Header.Get("Authorization") != "Bot "+s.opts.Token {
		return &unauthorized
	}
	return nil
}

func (s *Server) perform(w http.ResponseWriter, r *http.Request, rt route) reply {
	c, refused := parse(w, r)
	if refused != nil {
		return *refused
	}
	for name := range c.fields {
		if !slices.Contains(rt.fields, name) {
			return invalid("FAKE_UNKNOWN_FIELD", "fake discord: "+rt.name+" has no field "+name, name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := rt.do(s, c)
	if a.body != nil {
		a.body = encode(a.body) // now: what it points to may change when the lock is gone
	}
	return a
}

// answer writes a reply and counts it, if Discord would hold it against the bot.
func (s *Server) answer(w http.ResponseWriter, a reply) {
	switch a.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		s.mu.Lock()
		s.invalid++
		s.mu.Unlock()
	}
	a.write(w)
}

// parse reads a body that is JSON, or multipart with payload_json and files[n].
func parse(w http.ResponseWriter, r *http.Request) (*call, *reply) {
	c := &call{r: r, files: map[int]upload{}}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var tooMuch *http.MaxBytesError
	if errors.As(err, &tooMuch) {
		return nil, &tooLarge
	}
	if err != nil || len(body) == 0 {
		return c, nil
	}
	kind, arg, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return nil, &badType
	case kind == "application/json":
		c.body = body
	case kind == "multipart/form-data":
		if refused := c.readForm(body, arg["boundary"]); refused != nil {
			return nil, refused
		}
	default:
		return nil, &badType
	}
	if len(bytes.TrimSpace(c.body)) == 0 || c.body[0] != '{' {
		return c, nil // a list, or nothing: the route knows
	}
	if json.Unmarshal(c.body, &c.fields) != nil {
		return nil, &badJSON
	}
	return c, nil
}

var fileField = regexp.MustCompile(`^files\[(\d{1,2})\]$`)

func (c *call) readForm(body []byte, boundary string) *reply {
	form, err := multipart.NewReader(bytes.NewReader(body), boundary).ReadForm(maxRequest)
	if err != nil {
		return &badType
	}
	defer func() { _ = form.RemoveAll() }()
	for name, values := range form.Value {
		if name != "payload_json" {
			a := invalid("FAKE_UNKNOWN_FIELD", "fake discord: a form has payload_json and files[n] only", name)
			return &a
		}
		c.body = []byte(values[0])
	}
	for name, files := range form.File {
		n := fileField.FindStringSubmatch(name)
		if n == nil || len(files) != 1 {
			a := invalid("FAKE_UNKNOWN_FIELD", "fake discord: a form has payload_json and files[n] only", name)
			return &a
		}
		f, err := files[0].Open()
		if err != nil {
			return &badType
		}
		content, err := io.ReadAll(f)
		_ = f.Close()
		if err != nil {
			return &badType
		}
		if len(content) > maxFile {
			return &tooLarge
		}
		i, _ := strconv.Atoi(n[1])
		c.files[i] = upload{name: files[0].Filename, kind: files[0].Header.Get("Content-Type"), content: content}
	}
	return nil
}

// decode reads the body into v; what does not fit is a fault of its field.
func (c *call) decode(v any) *reply {
	if len(c.body) == 0 {
		return nil
	}
	err := json.Unmarshal(c.body, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		var path []any
		for p := range strings.SplitSeq(wrong.Field, ".") {
			path = append(path, p)
		}
		a := invalid("MODEL_TYPE_CONVERT", "Could not interpret the value as "+wrong.Type.String()+".", path...)
		return &a
	}
	return &badJSON
}

func (c *call) has(field string) bool { _, has := c.fields[field]; return has }

// channel is the one of the path, if the bot may look into it. s.mu is held.
func (s *Server) channelOf(c *call) (*channel, *reply) {
	ch := s.channels[c.r.PathValue("channel")]
	if ch == nil {
		return nil, &unknownChannel
	}
	if ch.denies(ViewChannel) {
		return nil, &missingAccess
	}
	return ch, nil
}

// messageOf is the one of the path. s.mu is held.
func (s *Server) messageOf(c *call) (*channel, *message, *reply) {
	ch, refused := s.channelOf(c)
	if refused != nil {
		return nil, nil, refused
	}
	m := ch.message(c.r.PathValue("message"))
	if m == nil || m.ephemeral != "" {
		return nil, nil, &unknownMessage
	}
	return ch, m, nil
}
