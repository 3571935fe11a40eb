package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dragoman/ports"
)

// loan is a session that a call uses until done.
type loan struct {
	session *session
	done    func(err error) // once; err is what came of the call
}

// borrow gives a session for a call, whose Name is the server's own of its tool. It waits for one that is being made and for
// room among the calls that run, for as long as ctx allows.
func (s *Source) borrow(ctx context.Context, call ports.ToolCall) (*loan, error) {
	return s.borrowAfter(ctx, call, nil)
}

// borrowAfter is borrow for a session that is not old: its server forgot it.
func (s *Source) borrowAfter(ctx context.Context, call ports.ToolCall, old *session) (*loan, error) {
	v := s.present.Load()
	if v == nil {
		return nil, errNotRun
	}
	k, err := v.claim(ctx, v.ownerOf(call))
	if err != nil {
		return nil, err
	}
	l, err := k.lend(ctx, call.Name, old)
	if err != nil {
		k.unclaim()
	}
	return l, err
}

// retain keeps the connection of a call from being stopped as idle, until
// release: its server may work for somebody who asks it only now and then.
func (s *Source) retain(ctx context.Context, call ports.ToolCall) (release func()) {
	v := s.present.Load()
	if v == nil {
		return func() {}
	}
	k, err := v.claim(ctx, v.ownerOf(call))
	if err != nil {
		return func() {}
	}
	return sync.OnceFunc(k.unclaim)
}

// lend lends the connection, when it is the call's turn. Only from then on does
// the server answer for the call. What would be refused then is refused at once.
func (k *keeper) lend(ctx context.Context, tool string, old *session) (*loan, error) {
	if c := k.current(); c != nil && c.session != old {
		if err := c.refuses(tool); err != nil {
			return nil, err
		}
	}
	select {
	case k.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, waited(ctx, fmt.Sprintf("the server is busy with %d calls (max_parallel), and none of them ended in time", cap(k.slots)))
	}
	c, err := k.await(ctx, old)
	if err != nil {
		<-k.slots
		return nil, err
	}
	settle, err := c.admit(tool)
	if err != nil {
		<-k.slots
		return nil, err
	}
	begun, once := time.Now(), sync.Once{}
	return &loan{session: c.session, done: func(err error) {
		once.Do(func() {
			settle(c.verdict(err, time.Since(begun)))
			<-k.slots
			k.unclaim()
		})
	}}, nil
}

// current is the connection that there is; nil for none.
func (k *keeper) current() *connection {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.conn
}

// await waits for a connection whose session is not old, for as long as making
// one may take. Where there is no hope of one soon, it fails at once; but a call
// that was refused by a session that is over waits for the next in any case.
func (k *keeper) await(ctx context.Context, old *session) (*connection, error) {
	late := time.NewTimer(k.cfg.Timeout)
	defer late.Stop()
	for failures := -1; ; {
		k.mu.Lock()
		now, changed, hope := k.conn, k.changed, k.hope
		if failures < 0 {
			failures = k.failures
		}
		failed := k.failures != failures
		k.mu.Unlock()
		switch {
		case now != nil && now.session != old:
			return now, nil
		case failed, !hope && old == nil:
			return nil, k.absent()
		}
		k.want()
		select {
		case <-changed:
		case <-k.gone:
			return nil, k.absent()
		case <-late.C:
			return nil, k.absent()
		case <-ctx.Done():
			return nil, waited(ctx, k.absent().Error())
		}
	}
}

// absent is why there is no connection.
func (k *keeper) absent() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch login := loginOf(k.cause); {
	case login != nil:
		return login
	case k.words != "":
		return &lostError{reason: "the server is not connected: " + k.words, after: max(0, time.Until(k.retryAt))}
	}
	return &lostError{reason: "the server is not connected"}
}

// want tells a keeper that rests of a call.
func (k *keeper) want() {
	select {
	case k.calls <- struct{}{}:
	default:
	}
}

func (k *keeper) unclaim() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.users--
	k.used = time.Now()
	if k.users == 0 && k.queue > 0 {
		k.release()
	}
}
