package mcp

import (
	"context"
	"log/slog"

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

// dial makes the link that cfg asks for, not yet started.
func dial(cfg Config, log *slog.Logger, login Login) link {
	switch cfg.Transport {
	case overHTTP:
		return newStreamable(cfg, log, login)
	case overSSE:
		return newLegacySSE(cfg, log, login)
	}
	return newStdio(cfg, log)
}
