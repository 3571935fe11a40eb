package mcp

import (
	"context"

	"dragoman/ports"
)

// loan is a session that a call uses until done.
type loan struct {
	session *session
	done    func(err error) // once; err is what came of the call
}

// borrow gives a session for a call. It waits for one that is being made and for
// room among the calls that run, for as long as ctx allows.
func (s *Source) borrow(ctx context.Context, call ports.ToolCall) (*loan, error) {
	now := s.session.Load()
	if now == nil {
		return nil, s.absent()
	}
	return &loan{session: now, done: func(error) {}}, nil
}

// borrowAfter is borrow for a session that is not old: its server forgot it.
func (s *Source) borrowAfter(ctx context.Context, call ports.ToolCall, old *session) (*loan, error) {
	next, err := s.after(ctx, old)
	if err != nil {
		return nil, err
	}
	return &loan{session: next, done: func(error) {}}, nil
}
