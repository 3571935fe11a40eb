package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"dragoman/ports"
)

// Source is one MCP server as a source of tools. Safe for many goroutines.
type Source struct {
	cfg  Config
	deps Deps
	log  *slog.Logger
	dial func(Config, *slog.Logger) link
	era  era
	// tasks are the calls that run as tasks.
	tasks *taskBook

	session atomic.Pointer[session]           // nil while there is no connection
	login   atomic.Pointer[unauthorizedError] // why there is none, if it is for the login
	older   atomic.Bool                       // the url was found to speak the transport before streamable HTTP
	redials chan redial

	mu      sync.Mutex
	running chan struct{} // closed when the present Run ends; nil between two
	changed chan struct{} // closed and replaced when session changes
}

// redial is a wish for a new connection; what came of it is sent once.
type redial chan error

var (
	_ ports.ToolSource  = (*Source)(nil)
	_ ports.Reconnector = (*Source)(nil)
)

// New makes the source of one server. It starts nothing. An error is
// KindInvalid and says which key of cfg is wrong.
func New(cfg Config, deps Deps) (*Source, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindInvalid, Op: "mcp config", Err: err}
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	connect := func(cfg Config, log *slog.Logger) link { return dial(cfg, log, deps.Login) }
	return &Source{cfg: cfg, deps: deps, log: deps.Log, dial: connect, tasks: newTaskBook(deps), redials: make(chan redial), changed: make(chan struct{})}, nil
}

// Run connects, registers the server's tools and keeps connected until ctx
// ends. The server's process is gone when it returns, which takes about four
// seconds at most, with a server that leaves only when killed. A second Run
// beside the first is KindConflict.
func (s *Source) Run(ctx context.Context, reg ports.Registrar) error {
	done := make(chan struct{})
	s.mu.Lock()
	if s.running != nil {
		s.mu.Unlock()
		return ports.Errorf(ports.KindConflict, "mcp run", "the source is running already")
	}
	s.running = done
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running = nil
		s.mu.Unlock()
		close(done)
	}()
	newSupervisor(s, reg).run(ctx)
	return ctx.Err()
}

// Reconnect drops the connection, makes a new one now and tells what came of
// it. Calls in flight fail with KindUnsure. If the source is not running it
// is KindUnavailable.
func (s *Source) Reconnect(ctx context.Context) error {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	ended := &lostError{reason: "the server is not being run"}
	if running == nil {
		return wrap("reconnect", ended)
	}
	wish := make(redial, 1)
	select {
	case s.redials <- wish:
	case <-running:
		return wrap("reconnect", ended)
	case <-ctx.Done():
		return wrap("reconnect", ctx.Err())
	}
	select {
	case err := <-wish:
		return wrap("reconnect", err)
	case <-running:
		return wrap("reconnect", ended)
	case <-ctx.Done():
		return wrap("reconnect", ctx.Err())
	}
}

func (s *Source) setSession(to *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.Store(to)
	close(s.changed)
	s.changed = make(chan struct{})
}

// after waits for a session that is not old, for as long as making one may take.
func (s *Source) after(ctx context.Context, old *session) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	for {
		s.mu.Lock()
		now, changed, running := s.session.Load(), s.changed, s.running
		s.mu.Unlock()
		if now != nil && now != old {
			return now, nil
		}
		select {
		case <-changed:
		case <-running: // nil between two runs, and then changed will not come either
			return nil, s.absent()
		case <-ctx.Done():
			return nil, s.absent()
		}
	}
}

// words is an error as people read it, without the secrets of the config.
func (s *Source) words(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		err = &timeoutError{within: s.cfg.Timeout, cause: err}
	}
	return clip(s.cfg.redactor().Replace(err.Error()), 2*maxErrorText)
}

// absent is why there is no session.
func (s *Source) absent() error {
	if login := s.login.Load(); login != nil {
		return login
	}
	return &lostError{reason: "the server is not connected"}
}
