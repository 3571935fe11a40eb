package mcp

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"dragoman/ports"
)

const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 30 * time.Second
	// healthy is how long a connection must have held for the next loss to
	// count as the first.
	healthy = 30 * time.Second
	// loginRetry is how often a server that wants another login is asked again:
	// its admin may have mended it.
	loginRetry = 5 * time.Minute
	// settle is how long the tools must have stayed as they are before they are
	// listed again: servers announce changes one by one.
	settle = 200 * time.Millisecond
	// listPause is the least time between two lists: a server that announces a
	// change whenever it is asked does not keep us busy.
	listPause = time.Second
	// stderrEvery is how often news on stderr are looked for.
	stderrEvery = 2 * time.Second
	// loggedStderr is how many of the last lines on stderr a failure is logged with.
	loggedStderr = 5
)

// supervisor is one Run of a Source: it alone connects, registers and reports.
type supervisor struct {
	*Source
	reg       ports.Registrar
	retry     *backoff.ExponentialBackOff
	state     ports.State
	connected bool // has been, in this Run
	offered   []definition
	stderrAt  int
	waiting   []redial
}

func newSupervisor(s *Source, reg ports.Registrar) *supervisor {
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval, retry.MaxInterval, retry.Multiplier, retry.RandomizationFactor = firstRetry, lastRetry, 2, 0.2
	return &supervisor{Source: s, reg: reg, retry: retry, state: ports.State{Transport: s.cfg.Transport}}
}

func (v *supervisor) run(ctx context.Context) {
	v.report(ports.PhaseConnecting)
	for ctx.Err() == nil {
		login := v.loginChanged() // asked for before the try, or a login in between would be missed
		err := v.connection(ctx)
		if ctx.Err() != nil {
			break
		}
		if len(v.waiting) == 0 {
			v.pause(ctx, err, login)
		}
	}
	v.state.RetryIn = 0
	v.report(ports.PhaseStopped)
}

// connection makes one connection and stays with it until it is lost, dropped
// by a wish to reconnect (nil), or ctx ends.
func (v *supervisor) connection(ctx context.Context) error {
	if v.connected {
		v.state.Restarts++
	}
	begun := time.Now()
	l, s, tools, err := v.connect(ctx)
	defer v.hangUp(l)
	v.state.Transport = transportOf(l)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		v.degraded(l, err, 0)
		return err
	}
	v.log.Info("mcp_server_connected", "tools", len(tools.tools), "protocol", s.version, "peer", s.peer, "dur", time.Since(begun))
	v.connected = true
	v.state.Protocol, v.state.Peer = s.version, s.peer
	v.login.Store(nil)
	v.state.Login = ""
	v.setSession(s)
	v.offer(l, tools)
	v.settleWishes(nil)
	err = v.serve(ctx, s, l)
	v.setSession(nil)
	if err != nil && ctx.Err() == nil {
		v.degraded(l, err, time.Since(begun))
	}
	return err
}

// connect makes a link, shakes hands and lists the tools, within the time-out.
// The link is there beside an error too.
func (v *supervisor) connect(ctx context.Context) (link, *session, *listing, error) {
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Timeout)
	defer cancel()
	l, s, err := v.establish(ctx)
	if err != nil {
		return l, nil, nil, err
	}
	tools, err := s.list(ctx, v.wanted(s))
	return l, s, tools, err
}

// hangUp closes l. Nobody is told more than the log: the next try is what counts.
func (v *supervisor) hangUp(l link) {
	if err := l.Close(); err != nil {
		v.log.Error("mcp_server_unkillable", "err", err)
	}
}

// offer registers the tools and says that they are ready, in this order.
func (v *supervisor) offer(l link, tools *listing) {
	catalog := ports.Catalog{Tools: make([]ports.ToolPort, 0, len(tools.tools))}
	for _, d := range tools.tools {
		catalog.Tools = append(catalog.Tools, &tool{source: v.Source, def: d})
	}
	v.reg.Register(catalog)
	v.offered = tools.tools
	v.state.RetryIn = 0
	v.state.Err = v.cfg.redactor().Replace(tools.note())
	if v.state.Err != "" {
		v.log.Warn("mcp_tools_dropped", "err", v.state.Err)
	}
	v.hear(l)
	v.report(ports.PhaseReady)
}

// serve watches over a connection that works. nil: somebody wishes a new one.
func (v *supervisor) serve(ctx context.Context, s *session, l link) error {
	listening, stop := context.WithCancel(ctx)
	var listener sync.WaitGroup
	listener.Go(func() { s.listen(listening) })
	defer listener.Wait()
	defer stop()
	var relist <-chan time.Time
	listed := time.Now()
	listen := time.NewTicker(stderrEvery)
	defer listen.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.Lost():
			return l.Err()
		case wish := <-v.redials:
			v.waiting = append(v.waiting, wish)
			v.report(ports.PhaseConnecting)
			return nil
		case <-s.changed:
			relist = time.After(max(settle, listPause-time.Since(listed)))
		case <-relist:
			relist = nil
			v.relist(ctx, s, l)
			listed = time.Now()
		case <-listen.C:
			if _, at := l.Stderr(); at != v.stderrAt {
				v.hear(l)
				v.report(ports.PhaseReady)
			}
		}
	}
}

// relist replaces the catalog if it changed: a stream that was cut off, and a
// server that announces at random, are no news. If the server cannot say what it has, what it
// last had stays.
func (v *supervisor) relist(ctx context.Context, s *session, l link) {
	bounded, cancel := context.WithTimeout(ctx, v.cfg.Timeout)
	defer cancel()
	tools, err := s.list(bounded, v.wanted(s))
	switch {
	case err == nil && v.state.Err == v.cfg.redactor().Replace(tools.note()) && reflect.DeepEqual(tools.tools, v.offered):
		v.log.Debug("mcp_tools_unchanged", "tools", len(tools.tools))
	case err == nil:
		v.log.Info("mcp_tools_changed", "tools", len(tools.tools))
		v.offer(l, tools)
	case ctx.Err() == nil && !isClosed(l.Lost()):
		v.state.Err = v.words(err)
		v.log.Warn("mcp_tools_unlisted", "kind", kindOf(err), "err", v.state.Err)
		v.report(ports.PhaseReady)
	}
}

// degraded notes a failed or lost connection and when the next try is. held is
// how long it worked.
func (v *supervisor) degraded(l link, err error, held time.Duration) {
	if held >= healthy {
		v.retry.Reset()
	}
	v.state.RetryIn = v.retryIn(err)
	v.login.Store(loginOf(err))
	v.state.Login = ""
	if login := loginOf(err); login != nil {
		v.state.Login = login.url
	}
	v.hear(l)
	words := v.words(err)
	if words != v.state.Err || held > 0 {
		v.logFailure(err, words)
	}
	v.state.Err = words
	v.settleWishes(err)
	v.report(ports.PhaseDegraded)
}

// retryIn is when to try again after a failure.
func (v *supervisor) retryIn(err error) time.Duration {
	next := v.retry.NextBackOff()
	var lost *lostError
	switch {
	case loginOf(err) != nil:
		return loginRetry
	case errors.Is(err, errNoCommand), errors.Is(err, errFlood):
		return lastRetry // somebody has to install or mend it
	case errors.As(err, &lost):
		return max(next, lost.after)
	}
	return next
}

// logFailure says why the connection failed, with what the server said last.
func (v *supervisor) logFailure(err error, words string) {
	attrs := []any{"kind", kindOf(err), "err", words}
	if said := v.state.Stderr; len(said) > 0 {
		attrs = append(attrs, "stderr", said[max(0, len(said)-loggedStderr):])
	}
	v.log.Warn("mcp_connection_failed", attrs...)
}

// loginChanged is closed when a login was given; nil if there is none to give.
func (v *supervisor) loginChanged() <-chan struct{} {
	if v.deps.Login == nil {
		return nil
	}
	return v.deps.Login.Changed()
}

// pause waits for the next try, for somebody who wishes it now, or for a login.
func (v *supervisor) pause(ctx context.Context, err error, login <-chan struct{}) {
	if err == nil {
		return
	}
	t := time.NewTimer(v.state.RetryIn)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return
	case wish := <-v.redials:
		v.waiting = append(v.waiting, wish)
		v.report(ports.PhaseConnecting)
	case <-login:
	case <-t.C:
	}
}

func (v *supervisor) settleWishes(err error) {
	for _, wish := range v.waiting {
		wish <- err
	}
	v.waiting = nil
}

func (v *supervisor) hear(l link) {
	v.state.Stderr, v.stderrAt = l.Stderr()
}

func (v *supervisor) report(p ports.Phase) {
	v.state.Phase = p
	out := v.state
	out.Stderr = slices.Clone(v.state.Stderr)
	v.reg.State(out)
}
