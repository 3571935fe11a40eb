package mcp

import (
	"context"
	"errors"
	"net/http"
)

// establish makes a connection: a link that the server speaks over, and the
// handshake on it. The link is never nil, also beside an error, and its caller
// closes it. A url whose server does not take a POST is tried over the transport
// before streamable HTTP (MCP 2025-11-25 basic/transports, "Backwards
// Compatibility"); what it is found to speak is tried first the next time.
func (s *Source) establish(ctx context.Context) (link, *session, error) {
	cfg := s.cfg
	if s.older.Load() {
		cfg.Transport = overSSE
	}
	l := s.dial(cfg, s.log)
	opened, err := s.open(ctx, l)
	if err == nil || s.cfg.Transport != overHTTP {
		return l, opened, err
	}
	if sse, ok := l.(*legacySSE); ok {
		s.older.Store(sse.found()) // it may have been replaced by a newer one
		return l, nil, err
	}
	if !mayBeOlder(err) {
		return l, nil, err
	}
	cfg.Transport = overSSE
	older := s.dial(cfg, s.log)
	opened, refused := s.open(ctx, older)
	if sse, ok := older.(*legacySSE); !ok || !sse.found() && loginOf(refused) == nil {
		older.Close()
		return l, nil, err // its words say more
	}
	s.older.Store(refused == nil)
	l.Close()
	return older, opened, refused
}

// mayBeOlder reports whether a server of the transport before streamable HTTP
// might refuse a POST like this. One that wants a login, or is busy or broken,
// is one that takes it.
func mayBeOlder(err error) bool {
	var refused *refusedError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}

// transportOf is what a link is called in a State.
func transportOf(l link) string {
	switch l.(type) {
	case *streamable:
		return overHTTP
	case *legacySSE:
		return overSSE
	}
	return overStdio
}
