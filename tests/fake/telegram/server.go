package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultToken is the bot's token unless Options says otherwise.
const DefaultToken = "424242:AAFake-token_of_the_test_bot"

// BotID and the default user name of the bot.
const (
	BotID           int64 = 424242
	DefaultUsername       = "dragoman_test_bot"
)

// Options of a Server; the zero value is fine.
type Options struct {
	Token    string
	Username string
	// PerChat is the shortest time between two posts or edits in one chat, and
	// Overall the most of them in any second. Zero means no limit. Telegram's own
	// are about a second and 30.
	PerChat time.Duration
	Overall int
	// PerGroup is the most posts and edits in a group in any minute; zero means no
	// limit. Telegram's own is 20.
	PerGroup int
	// Topics gives the private chats of the bot topics.
	Topics bool
	// DraftLife is how long a draft is shown unless it is refreshed; zero is 30 seconds.
	DraftLife time.Duration
	// Privacy keeps from the bot what in a group is not said to it.
	Privacy bool
	// WebhookPause is the first pause before an update is delivered again, which
	// doubles; zero is a second. WebhookTimeout is how long an answer may take;
	// zero is a minute.
	WebhookPause   time.Duration
	WebhookTimeout time.Duration
	// Watch hears what passes.
	Watch Watch
}

// Server is the fake. Safe for many goroutines.
type Server struct {
	opts   Options
	http   *http.Server
	url    string
	client *http.Client  // for webhooks
	done   chan struct{} // closed by Close
	idle   sync.WaitGroup
	poor   atomic.Bool // see ForgetRich

	mu        sync.Mutex
	chats     map[int64]*chat
	queries   map[string]*query
	files     []*File
	albums    int
	toast     string // of the last answered press
	queue     []update
	nextID    int64 // of the next update
	allowed   map[string]bool
	offset    int64         // highest offset asked for
	poller    *poll         // the long poll in progress
	wake      chan struct{} // closed when an update arrives
	hook      *webhook      // nil: none is set
	proxy     string        // what ServeHooksAt named
	delivered []Delivery
	commands  json.RawMessage            // as they came last
	menus     map[string]json.RawMessage // commands by scope and language
	faults    map[string]*fault
	delays    map[string]time.Duration
	calls     map[string]int
	open      map[string]int
	spans     map[string][]span
	peak      map[string]int
	posts     []time.Time // of the last second, for Options.Overall
	refusals  []Refusal
}

// New starts a server on a free port of 127.0.0.1. It panics if there is none.
func New(o Options) *Server {
	if o.Token == "" {
		o.Token = DefaultToken
	}
	if o.Username == "" {
		o.Username = DefaultUsername
	}
	if o.DraftLife == 0 {
		o.DraftLife = draftLife
	}
	if o.WebhookPause == 0 {
		o.WebhookPause = hookPause
	}
	if o.WebhookTimeout == 0 {
		o.WebhookTimeout = hookTimeout
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("fake telegram: " + err.Error())
	}
	s := &Server{
		opts: o, url: "http://" + ln.Addr().String(), done: make(chan struct{}),
		chats: map[int64]*chat{}, queries: map[string]*query{}, menus: map[string]json.RawMessage{}, nextID: 700_000_001, wake: make(chan struct{}),
		faults: map[string]*fault{}, delays: map[string]time.Duration{},
		calls: map[string]int{}, open: map[string]int{}, spans: map[string][]span{}, peak: map[string]int{},
	}
	s.client = &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: hookConnections},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.idle.Go(func() {
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			panic("fake telegram: " + err.Error())
		}
	})
	return s
}

// URL is what the bot's api_url must be.
func (s *Server) URL() string { return s.url }

// Token is the bot's token.
func (s *Server) Token() string { return s.opts.Token }

// Username is the bot's, without @.
func (s *Server) Username() string { return s.opts.Username }

// Close ends every connection and waits until nothing of the server runs any more.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
		s.mu.Unlock()
		return
	default:
	}
	close(s.done)
	if s.hook != nil {
		s.hook.stop()
	}
	s.mu.Unlock()
	_ = s.http.Close()
	s.idle.Wait()
	s.client.CloseIdleConnections()
}

// reply is an answer of the Bot API: {"ok":true,"result":…}, or an error.
type reply struct {
	OK          bool        `json:"ok"`
	Result      any         `json:"result,omitempty"`
	Code        int         `json:"error_code,omitempty"`
	Description string      `json:"description,omitempty"`
	Parameters  *parameters `json:"parameters,omitempty"`
}

type parameters struct {
	RetryAfter int   `json:"retry_after,omitempty"`
	MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
}

func result(v any) reply { return reply{OK: true, Result: v} }

func refuse(code int, description string) reply { return reply{Code: code, Description: description} }

func badRequest(what string) reply { return refuse(http.StatusBadRequest, "Bad Request: "+what) }

// ServeHTTP answers /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		cut(w)
		return
	}
	defer s.idle.Done()
	if strings.HasPrefix(r.URL.Path, "/file/bot") {
		s.serveFile(w, r)
		return
	}
	token, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !strings.HasPrefix(r.URL.Path, "/bot") || !ok || token == "" {
		write(w, refuse(http.StatusNotFound, "Not Found"))
		return
	}
	if token != s.opts.Token {
		write(w, refuse(http.StatusUnauthorized, "Unauthorized"))
		return
	}
	m, ok := methods[strings.ToLower(name)]
	if !ok || s.poor.Load() && strings.Contains(m.name, "Rich") {
		write(w, refuse(http.StatusNotFound, "Not Found: method not found"))
		return
	}
	p, err := parseParams(w, r)
	switch {
	case err == errTooLarge:
		write(w, refuse(http.StatusRequestEntityTooLarge, err.Error()))
		return
	case err != nil:
		write(w, badRequest(err.Error()))
		return
	}
	if s.poor.Load() {
		delete(p.form, "rich_message")
	}
	if s.opts.Watch.Called != nil {
		s.opts.Watch.Called(m.name)
	}
	defer s.begin(m.name)()
	s.serve(w, r, m, p)
}

// enter counts a call in, unless the server closes.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return false
	default:
		s.idle.Add(1)
		return true
	}
}

// serve runs one call through the fault that waits for it, if there is one.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, m method, p params) {
	ctx := r.Context()
	f := s.takeFault(m.name)
	switch {
	case f == nil:
	case f.hang:
		s.pause(ctx, -1)
		cut(w)
		return
	case f.drop:
		cut(w)
		return
	case f.response != nil && !f.late:
		f.response.write(w)
		return
	}
	var a reply
	if name := p.unknown(m.params); name != "" {
		a = badRequest("fake telegram: " + m.name + " has no parameter " + name)
	} else {
		a = m.call(s, ctx, p)
	}
	switch {
	case f == nil:
	case f.half:
		cutHalf(w, asJSON(a))
		return
	case f.cut:
		cut(w)
		return
	case f.late:
		f.response.write(w)
		return
	}
	if d := s.delay(m.name); d > 0 {
		s.pause(ctx, d)
	}
	write(w, a)
}

// pause waits for d, or for ever if d < 0, but not longer than the caller and the server.
func (s *Server) pause(ctx context.Context, d time.Duration) {
	var tick <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		tick = t.C
	}
	select {
	case <-tick:
	case <-ctx.Done():
	case <-s.done:
	}
}

// cut closes the connection without an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = conn.Close()
}

// cutHalf closes the connection in the middle of an answer.
func cutHalf(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	cut(w)
}

func write(w http.ResponseWriter, a reply) {
	w.Header().Set("Content-Type", "application/json")
	if a.OK {
		w.WriteHeader(http.StatusOK)
	} else {
		w.WriteHeader(a.Code)
	}
	_ = json.NewEncoder(w).Encode(a)
}
