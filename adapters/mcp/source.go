package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"dragoman/ports"
)

// Source is one MCP server as a source of tools. Safe for many goroutines.
type Source struct {
	cfg      Config
	deps     Deps
	log      *slog.Logger
	dial     func(Config, *slog.Logger) link
	era      era                        // what is known of the revisions it speaks
	older    atomic.Bool                // it speaks the transport before streamable HTTP
	tasks    *taskBook                  // the calls that it runs by itself
	barAfter uint32                     // calls in a row without an answer, after which further ones are refused
	barFor   time.Duration              // how long calls are refused when a server does not answer
	linkRoom int64                      // bytes that may be read of the links of one result
	present  atomic.Pointer[supervisor] // of the present Run; nil between two
}

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
	return &Source{cfg: cfg, deps: deps, log: deps.Log, dial: dialer(deps, cfg.redactor()), tasks: newTaskBook(deps), barAfter: maxUnanswered, barFor: barFor, linkRoom: linksBytes}, nil
}

// Run connects, registers the server's tools and keeps connected until ctx
// ends; with start lazy, an idle_stop or a scope it connects when a call needs
// it. Every process and connection is gone when it returns, which takes about
// four seconds at most, with servers that leave only when killed. A second Run
// beside the first is KindConflict.
func (s *Source) Run(ctx context.Context, reg ports.Registrar) error {
	v := newSupervisor(ctx, s, reg)
	if !s.present.CompareAndSwap(nil, v) {
		return ports.Errorf(ports.KindConflict, "mcp run", "the source is running already")
	}
	v.run(ctx)
	s.present.Store(nil)
	close(v.ended)
	return ctx.Err()
}

// Timeout is how long a connection and the list of the tools may take.
func (s *Source) Timeout() time.Duration { return s.cfg.Timeout }

// words is an error as people read it, without the secrets of the config.
func (s *Source) words(err error) string { return s.wordsWithin(err, s.cfg.Timeout) }

// wordsWithin is words for what had so much time.
func (s *Source) wordsWithin(err error, within time.Duration) string {
	if errors.Is(err, context.DeadlineExceeded) {
		err = &timeoutError{within: within, cause: err}
	}
	return clip(s.cfg.redactor().Replace(err.Error()), 2*maxErrorText)
}

// Reconnect drops all connections, makes a new one now and tells what came of
// it. Calls in flight fail with KindUnsure. If the source is not running it
// is KindUnavailable.
func (s *Source) Reconnect(ctx context.Context) error {
	return wrap("reconnect", s.reconnect(ctx))
}

func (s *Source) reconnect(ctx context.Context) error {
	v := s.present.Load()
	if v == nil {
		return errNotRun
	}
	wish := make(redial, 1)
	select {
	case v.redials <- wish:
	case <-v.ended:
		return errNotRun
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-wish:
		return err
	case <-v.ended:
		return errNotRun
	case <-ctx.Done():
		return ctx.Err()
	}
}
