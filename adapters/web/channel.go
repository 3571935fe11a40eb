package web

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"dragoman/ports"
)

// Deps is what the web chat keeps its state in.
type Deps struct {
	Feed    ports.Feed    // what the chats show
	Records ports.Records // sessions
	Log     *slog.Logger
	// Files reads artifacts of a chat, as ports.Artifacts; nil: the chats have none.
	Files func(ctx context.Context, chat, id string, offset, limit int64) (ports.Artifact, error)
}

// Channel is the web chat. Safe for many goroutines.
type Channel struct {
	feed     ports.Feed
	files    func(ctx context.Context, chat, id string, offset, limit int64) (ports.Artifact, error)
	log      *slog.Logger
	sessions sessions
	hub      *hub
	posts    *posts
	pages    *pages
	guests   *rate.Limiter
	logins   *rate.Limiter
	shift    atomic.Pointer[shift]
	handler  http.Handler
}

var (
	_ ports.ChannelPort = (*Channel)(nil)
	_ ports.HTTP        = (*Channel)(nil)
	_ ports.Typer       = (*Channel)(nil)
	_ ports.Drafter     = (*Channel)(nil)
	_ ports.Editor      = (*Channel)(nil)
	_ ports.Renderer    = (*Channel)(nil)
)

// New makes the channel. It does no I/O.
func New(cfg Config, deps Deps) (*Channel, error) {
	if deps.Feed == nil || deps.Records == nil || deps.Log == nil {
		return nil, ports.Errorf(ports.KindInvalid, "web new", "feed, records and log are required")
	}
	if cfg.Title == "" {
		cfg.Title = "Dragoman"
	}
	p, err := newPages(cfg.Title)
	if err != nil {
		return nil, wrap("new", err)
	}
	c := &Channel{
		feed:     deps.Feed,
		files:    deps.Files,
		log:      deps.Log,
		sessions: sessions{records: deps.Records},
		hub:      newHub(),
		posts:    newPosts(),
		pages:    p,
		guests:   rate.NewLimiter(rate.Every(6*time.Second), 10),
		logins:   rate.NewLimiter(rate.Every(2*time.Second), 30),
	}
	c.handler = c.routes()
	return c, nil
}

// Traits say that the page has buttons, no limit of length, and drafts that may
// change ten times a second.
func (c *Channel) Traits() ports.Traits {
	return ports.Traits{EditEvery: 100 * time.Millisecond, Choices: true}
}

// Run lets requests through to in until ctx ends; then it ends the streams and
// returns when the last request has left. It never fails.
func (c *Channel) Run(ctx context.Context, in ports.Receiver) error {
	s := newShift(in)
	c.shift.Store(s)
	<-ctx.Done()
	c.shift.CompareAndSwap(s, nil)
	s.end()
	return nil
}

// Handler serves the page and its API. Outside of Run it shows pages only and
// answers everything else with 503.
func (c *Channel) Handler() http.Handler { return c.handler }
