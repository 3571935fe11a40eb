package discord

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// DefaultToken is the bot's token unless Options says otherwise.
const DefaultToken = "MTAwMDAwMDAwMDAwMDAwMDAx.Fake.token-of_the_test_bot"

// BotID is the id of the bot's account and of its application.
const BotID = "1000000000000000001"

// DefaultUsername is the bot's unless Options says otherwise.
const DefaultUsername = "dragoman-test"

// Rate is how many requests a window of time takes. The zero value sets no limit.
type Rate struct {
	Limit int
	Per   time.Duration
}

// Options of a Server; the zero value is fine.
type Options struct {
	Token    string
	Username string
	// NoMessageContent says that the privileged intent is off in the developer
	// portal: who asks for it is turned away (4014), and the content of what is
	// not said to the bot is empty everywhere.
	NoMessageContent bool
	// Heartbeat is the interval that clients are told; 41.25 s if zero.
	Heartbeat time.Duration
	// IdentifyEvery is the shortest time between two identifies, 0 for none
	// (Discord's is 5 s), and IdentifyBudget how many there may be, 1000 if zero:
	// the next one resets the token, as Discord does.
	IdentifyEvery  time.Duration
	IdentifyBudget int
	// Shards is how many sessions are recommended; 1 if zero. Who identifies with fewer
	// is turned away (4011), as Discord does from 2,500 guilds on.
	Shards int
	// AnswerFor is how long an interaction waits for an answer; 3 s if zero, as on
	// Discord: more is for tests on machines that are busy.
	AnswerFor time.Duration
	// ResumeFor is how long a session without a connection can be resumed; 2 min if zero.
	ResumeFor time.Duration
	// PerRoute bounds each route of one channel, guild or webhook by itself, Overall all
	// requests together but those of interactions. Discord's overall is 50 in 1 s.
	PerRoute Rate
	Overall  Rate
	// Watch hears what passes.
	Watch Watch
}

// Server is the fake. Safe for many goroutines.
type Server struct {
	opts Options
	http *http.Server
	mux  *http.ServeMux
	url  string
	done chan struct{} // closed by Close
	idle sync.WaitGroup

	mu       sync.Mutex
	skew     time.Duration // Advance
	last     snowflake
	bot      user
	users    map[string]*user // by id
	blocked  map[string]bool  // users who take no messages of the bot
	guilds   map[string]*guild
	channels map[string]*channel
	gate     gate
	inter    map[string]*interaction // by token
	commands map[string][]command    // by guild, "" for everywhere
	writes   int                     // of commands
	reset    bool                    // the token is void
	buckets  map[string]*bucket
	overall  bucket
	invalid  int // answers with 401, 403 and 429
	faults   map[string]*fault
	delays   map[string]time.Duration
	floods   map[string]*flood // by channel
	calls    map[string]int
	open     map[string]int
	peak     map[string]int
}

// New starts a server on a free port of 127.0.0.1. It panics if there is none.
func New(o Options) *Server {
	o.fill()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("fake discord: " + err.Error())
	}
	s := &Server{
		opts: o, url: "http://" + ln.Addr().String(), done: make(chan struct{}), mux: http.NewServeMux(),
		bot:   user{ID: BotID, Username: o.Username, Discriminator: "0", Bot: true},
		users: map[string]*user{}, blocked: map[string]bool{}, guilds: map[string]*guild{}, channels: map[string]*channel{},
		inter: map[string]*interaction{}, commands: map[string][]command{}, buckets: map[string]*bucket{},
		faults: map[string]*fault{}, delays: map[string]time.Duration{}, floods: map[string]*flood{},
		calls: map[string]int{}, open: map[string]int{}, peak: map[string]int{},
	}
	s.gate = newGate(o)
	s.users[BotID] = &s.bot
	s.mount()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.idle.Go(func() {
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			panic("fake discord: " + err.Error())
		}
	})
	return s
}

func (o *Options) fill() {
	if o.Token == "" {
		o.Token = DefaultToken
	}
	if o.Username == "" {
		o.Username = DefaultUsername
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 41250 * time.Millisecond
	}
	if o.IdentifyBudget == 0 {
		o.IdentifyBudget = 1000
	}
	if o.AnswerFor == 0 {
		o.AnswerFor = answerFor
	}
	if o.ResumeFor == 0 {
		o.ResumeFor = 2 * time.Minute
	}
}

// URL stands for https://discord.com: the API is below it at /api/v10 and /api/v9.
func (s *Server) URL() string { return s.url }

// Token is the bot's token.
func (s *Server) Token() string { return s.opts.Token }

// Username is the bot's.
func (s *Server) Username() string { return s.opts.Username }

// Mention is what people write to speak to the bot.
func (s *Server) Mention() string { return "<@" + BotID + ">" }

// Advance moves the fake's clock on: for what takes minutes on the platform. It
// wakes nothing that waits.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew += d
}

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
	s.cutAll()
	s.mu.Unlock()
	_ = s.http.Close()
	s.idle.Wait()
}

// now is the fake's time. s.mu is held.
func (s *Server) now() time.Time { return time.Now().Add(s.skew) }

// ServeHTTP answers the API, the gateway and the CDN.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		cut(w)
		return
	}
	defer s.idle.Done()
	path := r.URL.Path
	switch {
	case path == "/gateway" || path == "/gateway/":
		s.serveGateway(w, r)
		return
	case strings.HasPrefix(path, "/cdn/"):
		s.serveCDN(w, r)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v10")
	if !ok {
		rest, ok = strings.CutPrefix(r.URL.EscapedPath(), "/api/v9")
	}
	if !ok {
		noRoute.write(w)
		return
	}
	r2 := r.Clone(r.Context())
	r2.URL.RawPath = rest
	r2.URL.Path = strings.TrimPrefix(strings.TrimPrefix(path, "/api/v10"), "/api/v9")
	s.mux.ServeHTTP(w, r2)
}

// enter counts a request in, unless the server closes.
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
