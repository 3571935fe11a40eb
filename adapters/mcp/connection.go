package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/ports"
)

const (
	// settle is how long the tools must have stayed as they are before they are
	// listed again: servers announce changes one by one.
	settle = 200 * time.Millisecond
	// listPause is the least time between two lists: a server that announces a
	// change whenever it is asked does not keep us busy.
	listPause = time.Second
	// stderrEvery is how often news on stderr are looked for.
	stderrEvery = 2 * time.Second
)

// connection is a session that calls use, and how it bears up.
type connection struct {
	*keeper
	session *session
	link    link
	tools   *breakers
	barred  atomic.Bool   // all calls are refused: the server answers nothing
	doubts  chan struct{} // has room for one: a call was not answered in time
	asked   chan error    // nil, or what will come of a ping
	again   <-chan time.Time
	mute    []string // tools that were told to be so
	fault   string   // what was wrong when the tools were listed last
}

func newConnection(k *keeper, s *session, l link) *connection {
	return &connection{keeper: k, session: s, link: l, tools: newBreakers(k.barAfter, k.barFor), doubts: make(chan struct{}, 1)}
}

// serve watches over the connection. nil: somebody wishes a new one.
func (c *connection) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var relist, idle <-chan time.Time
	listed := time.Now()
	var listener sync.WaitGroup
	if c.isMain() {
		listener.Go(func() { c.session.listen(ctx) })
	}
	defer listener.Wait()
	defer cancel() // first, so that it ends
	login := c.loginChanged()
	listen := time.NewTicker(stderrEvery)
	defer listen.Stop()
	if c.cfg.IdleStop > 0 {
		idle = time.After(c.cfg.IdleStop)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.link.Lost():
			return c.link.Err()
		case wish := <-c.wishes():
			c.grant(wish)
			return nil
		case <-c.news():
			relist = time.After(max(settle, listPause-time.Since(listed)))
		case <-relist:
			relist = nil
			c.relist(ctx)
			listed = time.Now()
		case <-listen.C:
			if c.hear(c.link) {
				c.report()
			}
		case <-login: // what calls were refused for may work now
			login = c.loginChanged()
			c.wantLogin("")
		case <-idle:
			left, gone := c.letGo()
			if gone {
				return errIdle
			}
			idle = time.After(left)
		case <-c.tools.news:
			c.tellMute()
		case <-c.doubts:
			c.ask(ctx)
		case <-c.again:
			c.again = nil
			c.ask(ctx)
		case err := <-c.asked:
			if err := c.judge(ctx, err); err != nil {
				return err
			}
		}
	}
}

// news are of everybody's connection alone: what one person's server offers is
// nobody else's business.
func (c *connection) news() <-chan struct{} {
	if c.isMain() {
		return c.session.changed
	}
	return nil
}

// relist replaces the catalog if it changed: a stream that was cut off, and a
// server that announces at random, are no news. If the server cannot say what it has, what it
// last had stays.
func (c *connection) relist(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	tools, err := c.session.list(bounded, c.Source.wanted(c.session))
	switch {
	case err == nil:
		if c.offerAll(ctx, tools) {
			c.log.Info("mcp_tools_changed", "tools", len(tools.tools))
		} else {
			c.log.Debug("mcp_tools_unchanged", "tools", len(tools.tools))
		}
		c.fault = ""
	case ctx.Err() == nil && !isClosed(c.link.Lost()):
		c.fault = c.Source.words(err)
		c.log.Warn("mcp_tools_unlisted", "kind", kindOf(err), "err", c.Source.words(err))
	}
	c.remarks()
	c.report()
}

// tellMute tells which tools do not answer, when those are others than before. It
// has the server asked whether it is there at all.
func (c *connection) tellMute() {
	old := c.mute
	c.mute = c.tools.mute()
	if slices.Equal(old, c.mute) {
		return
	}
	for _, name := range c.mute {
		if !slices.Contains(old, name) {
			c.log.Warn("mcp_tool_doubted", "tool", name)
			nudge(c.doubts)
		}
	}
	for _, name := range old {
		if !slices.Contains(c.mute, name) {
			c.log.Info("mcp_tool_answers_again", "tool", name)
		}
	}
	c.remarks()
	c.report()
}

// remarks says what is wrong with a server that works.
func (c *connection) remarks() {
	parts := slices.DeleteFunc([]string{c.fault, muteWords(c.mute, c.barFor)}, func(s string) bool { return s == "" })
	c.remark(c.cfg.redactor().Replace(strings.Join(parts, "; ")))
}

// refuses is why a call of a tool need not wait for its turn; nil if it may get one.
func (c *connection) refuses(tool string) error {
	if c.barred.Load() {
		return &lostError{reason: "the server does not answer: it gets no calls for a while", after: c.barFor}
	}
	return c.tools.closed(tool)
}

// admit lets a call of a tool through if the server and the tool are trusted with
// one now. settle is to be told the verdict.
func (c *connection) admit(tool string) (settle func(verdict error), err error) {
	if err := c.refuses(tool); err != nil {
		return nil, err
	}
	return c.tools.pass(tool)
}

// verdict is what a call tells about its tool: nil if it works, whatever it
// said; the error if it did not answer; errNoVerdict if that is not known, as of
// a call that was given up before its time.
func (c *connection) verdict(err error, took time.Duration) error {
	var lost *lostError
	if login := loginOf(err); login != nil && login.url != "" {
		c.wantLogin(login.url)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && took >= c.cfg.CallTimeout/2:
		nudge(c.doubts)
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, errLineTooLong):
		return errNoVerdict
	case errors.As(err, &lost) && lost.sent && lost.after == 0:
		return err
	case errors.As(err, &lost):
		return errNoVerdict
	}
	return nil
}

// bar refuses calls for a while, and then looks again.
func (c *connection) bar() {
	c.barred.Store(true)
	c.again = time.After(c.barFor)
	c.doubt("calls and a ping were not answered; the server gets no further ones until it answers a ping", c.barFor)
}

// ask pings the server beside the serving: it may hang.
func (c *connection) ask(ctx context.Context) {
	if c.asked != nil {
		return
	}
	asked := make(chan error, 1)
	c.asked = asked
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
		asked <- c.ping(ctx)
	})
}

// ping is nil if the server answers, be it that it knows no ping: revision
// 2026-07-28 has none.
func (c *connection) ping(ctx context.Context) error {
	err := c.session.alive(ctx)
	var lost *lostError
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &lost) && lost.after == 0 {
		return err
	}
	return nil
}

// judge draws the conclusions of a ping. A server that does not answer it gets
// no calls for a while; if it then answers neither, the connection is over (the
// error), unless a call still runs: it may be busy with that.
func (c *connection) judge(ctx context.Context, err error) error {
	c.asked = nil
	switch {
	case ctx.Err() != nil, isClosed(c.link.Lost()):
	case err == nil && c.barred.Load():
		c.barred.Store(false)
		c.again = nil
		c.turn(ports.PhaseReady)
		c.remarks()
		c.report()
	case err == nil:
	case !c.barred.Load(), len(c.slots) > 0:
		c.bar()
	case c.again == nil:
		return &lostError{reason: "the server answers neither calls nor pings", cause: err}
	}
	return nil
}

// nudge sends where there is room for one.
func nudge(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
