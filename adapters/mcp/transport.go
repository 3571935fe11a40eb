package mcp

import (
	"context"
	"log/slog"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"
)

// link is one connection to a server. Start makes it, Close ends it and waits
// for all that belongs to it; neither is called twice. SendRequest and
// SendNotification return when their context ends or the link is lost. The
// notification handler is called from the reading goroutine and must not block;
// the request handler has a goroutine of its own for each request.
type link interface {
	transport.BidirectionalInterface
	// SetPulse sets how the link asks the server for a sign of life where it
	// cannot see its end. It is called before Start.
	SetPulse(func(context.Context) error)
	// Lost is closed when the connection is over, whoever ended it.
	Lost() <-chan struct{}
	// Err says why. Only after Lost.
	Err() error
	// Stderr is what the peer printed last, and a number that changes with it.
	Stderr() ([]string, int)
}

// dialer makes the links that a config asks for, not yet started.
func dialer(deps Deps, redact *strings.Replacer) func(Config, *slog.Logger) link {
	trace := newTracer(deps.Trace, redact, deps.Log)
	return func(cfg Config, log *slog.Logger) link {
		wire := trace.conn()
		switch cfg.Transport {
		case overHTTP:
			h := newStreamable(cfg, log, deps.Login)
			h.client.Transport = wire.http(h.client.Transport)
			return h
		case overSSE:
			h := newLegacySSE(cfg, log, deps.Login)
			h.client.Transport = wire.http(h.client.Transport)
			return h
		}
		s := newStdio(cfg, log)
		s.mark, s.trace = deps.Mark, wire
		return s
	}
}
