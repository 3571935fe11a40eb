package mcp

import (
	"context"
	"errors"
	"log/slog"
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
	never      = -1 * time.Second
	// loggedStderr is how many of the last lines on stderr a failure is logged with.
	loggedStderr = 5
)

// Why a connection ended, in the log.
const (
	reasonIdle      = "idle"
	reasonLost      = "lost"
	reasonStopped   = "stopped"
	reasonReconnect = "reconnect"
)

// errIdle ends a connection that no call used for idle_stop.
var errIdle = errors.New("no call used the connection")

// keeper has one connection to the server, or makes it: it alone connects,
// watches over the connection and ends it. Calls borrow what it has.
type keeper struct {
	*supervisor
	owner     owner
	log       *slog.Logger
	retry     *backoff.ExponentialBackOff
	heard     int             // changes with what the server prints
	connected bool            // has been, since it rested last
	login     <-chan struct{} // closed when a login was given since the last try
	waiting   []redial        // wishes that the next connection fulfils
	slots     chan struct{}   // one for each call that runs
	calls     chan struct{}   // has room for one: a call waits for a connection
	gone      chan struct{}   // closed when it has ended

	// What follows is guarded by the supervisor's mu.
	end      func() // ends it; set when it begins
	leaving  string // why it was told to end; "" if it was not
	users    int    // calls that it was claimed for
	used     time.Time
	conn     *connection   // nil while there is none
	changed  chan struct{} // closed and replaced when conn, hope or failures change
	hope     bool          // a connection will be there soon, for all one knows: it is worth waiting for
	failures int           // tries that failed
	phase    ports.Phase
	cause    error         // why there is no connection, and in words without secrets
	words    string        // what is wrong, without secrets; "" if nothing is
	retryIn  time.Duration // what was told of the next try
	retryAt  time.Time
}

func newKeeper(v *supervisor, who owner) *keeper {
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval, retry.MaxInterval, retry.Multiplier, retry.RandomizationFactor = firstRetry, lastRetry, 2, 0.2
	log := v.log
	switch {
	case who.person != "":
		log = log.With("person", who.person)
	case who != (owner{}):
		log = log.With("conversation", who.in.String())
	}
	return &keeper{
		supervisor: v, owner: who, log: log, retry: retry, slots: make(chan struct{}, v.cfg.MaxParallel), calls: make(chan struct{}, 1),
		gone: make(chan struct{}), changed: make(chan struct{}), hope: true, used: time.Now(), phase: ports.PhaseConnecting,
	}
}

func (k *keeper) isMain() bool { return k.owner == owner{} }

// run works until ctx ends, or until nobody needs this keeper any more.
func (k *keeper) run(ctx context.Context) {
	defer k.depart()
	for rest := k.mayRest(); ctx.Err() == nil; {
		if rest && !k.rest(ctx) {
			return
		}
		k.login = k.loginChanged() // before the try, or a login in between would be missed
		switch err := k.connection(ctx); {
		case ctx.Err() != nil:
			return
		case err == nil: // somebody wishes a new one now
			rest = false
		case errors.Is(err, errIdle):
			if !k.isMain() {
				return
			}
			rest = true
		default:
			rest = k.pause(ctx) && k.mayRest()
		}
	}
}

// mayRest reports whether there is no need to be connected without a call.
func (k *keeper) mayRest() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.isMain() || k.cfg.IdleStop > 0 && k.known
}

// rest waits, without a connection, until a call or a wish needs one. It is false
// when ctx ended or nobody came: then the keeper is told to end.
func (k *keeper) rest(ctx context.Context) bool {
	k.connected = false
	k.turn(ports.PhaseIdle)
	var over <-chan time.Time
	if !k.isMain() {
		t := time.NewTimer(k.cfg.IdleStop)
		defer t.Stop()
		over = t.C
	}
	for !k.inUse() {
		select {
		case <-ctx.Done():
			return false
		case <-k.calls:
		case wish := <-k.wishes():
			k.grant(wish)
			return true
		case <-over:
			if k.retire() {
				return false
			}
		}
	}
	k.turn(ports.PhaseConnecting)
	return true
}

// connection makes one connection and stays with it until it is lost, idle,
// dropped by a wish to reconnect (nil), or ctx ends.
func (k *keeper) connection(ctx context.Context) error {
	if k.connected {
		k.mu.Lock()
		k.state.Restarts++
		k.mu.Unlock()
	}
	begun := time.Now()
	l, s, tools, err := k.connect(ctx)
	defer k.hangUp(l)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		k.fail(l, err, never)
		return err
	}
	attrs := []any{"protocol", s.version, "peer", s.peer, "dur", time.Since(begun)}
	if k.isMain() {
		attrs = append(attrs, "tools", len(tools.tools))
	}
	k.log.Info("mcp_server_connected", attrs...)
	begun = time.Now()
	k.connected = true
	c := newConnection(k, s, l)
	k.take(c)
	k.hear(l)
	if k.isMain() {
		k.offerAll(ctx, tools)
	}
	k.turn(ports.PhaseReady)
	k.settleWishes(nil)
	err = c.serve(ctx)
	k.drop()
	k.log.Info("mcp_server_disconnected", "reason", k.reason(ctx, err), "dur", time.Since(begun))
	if err != nil && !errors.Is(err, errIdle) && ctx.Err() == nil {
		k.fail(l, err, time.Since(begun))
	}
	return err
}

// connect starts a link and shakes hands; everybody's lists the tools too. All
// within the time-out. Closing the link is the caller's.
func (k *keeper) connect(ctx context.Context) (link, *session, *listing, error) {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.Timeout)
	defer cancel()
	l, s, err := k.establish(ctx)
	if err != nil || !k.isMain() {
		return l, s, nil, err
	}
	tools, err := s.list(ctx, k.wanted(s))
	return l, s, tools, err
}

// offerAll registers what the server listed, and keeps it for the next start.
func (k *keeper) offerAll(ctx context.Context, tools *listing) (news bool) {
	news = k.offer(tools.tools, tools.note())
	if news && k.cfg.Start == startLazy {
		k.remember(ctx, tools.tools)
	}
	return news
}

// hangUp closes l. Nobody is told more than the log: the next try is what counts.
func (k *keeper) hangUp(l link) {
	if err := l.Close(); err != nil {
		k.log.Error("mcp_server_unkillable", "err", err)
	}
}

func (k *keeper) reason(ctx context.Context, err error) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.leaving != "":
		return k.leaving
	case ctx.Err() != nil:
		return reasonStopped
	case err == nil:
		return reasonReconnect
	case errors.Is(err, errIdle):
		return reasonIdle
	}
	return reasonLost
}

// fail notes a failed or lost connection and when the next try is. held is how
// long it worked, or never.
func (k *keeper) fail(l link, err error, held time.Duration) {
	if held >= healthy {
		k.retry.Reset()
	}
	next, words := k.retryAfter(err, held), k.Source.words(err)
	k.hear(l)
	k.mu.Lock()
	old := k.words
	k.phase, k.cause, k.words = ports.PhaseDegraded, err, words
	k.retryIn, k.retryAt = next, time.Now().Add(next)
	k.state.Login = ""
	if login := loginOf(err); login != nil {
		k.state.Login = login.url
	}
	k.hope = held >= healthy
	if held == never {
		k.failures++
	}
	k.announce()
	stderr := k.state.Stderr
	k.mu.Unlock()
	if words != old || held != never {
		attrs := []any{"kind", kindOf(err), "err", words}
		if len(stderr) > 0 {
			attrs = append(attrs, "stderr", stderr[max(0, len(stderr)-loggedStderr):])
		}
		k.log.Warn("mcp_connection_failed", attrs...)
	}
	k.settleWishes(err)
	k.report()
}

// retryAfter is when to try again after a failure. A login that worked a moment ago
// may work again: only one that is refused when connecting has to be mended.
func (k *keeper) retryAfter(err error, held time.Duration) time.Duration {
	next := k.retry.NextBackOff()
	var lost *lostError
	switch {
	case loginOf(err) != nil && held == never:
		return loginRetry
	case errors.Is(err, errNoCommand), errors.Is(err, errFlood):
		return lastRetry // somebody has to install or mend it
	case errors.As(err, &lost):
		return max(next, lost.after)
	}
	return next
}

// pause waits for the next try. It is false if somebody wishes it now.
func (k *keeper) pause(ctx context.Context) bool {
	t := time.NewTimer(k.retryIn) // this goroutine alone writes it
	defer t.Stop()
	select {
	case <-ctx.Done():
	case wish := <-k.wishes():
		k.grant(wish)
		return false
	case <-k.login:
	case <-t.C:
	}
	return true
}

// loginChanged is closed when a login was given; nil if there is none to give.
func (k *keeper) loginChanged() <-chan struct{} {
	if k.deps.Login == nil {
		return nil
	}
	return k.deps.Login.Changed()
}

// wishes are those of an admin to reconnect: everybody's keeper alone hears them.
func (k *keeper) wishes() <-chan redial {
	if k.isMain() {
		return k.redials
	}
	return nil
}

// grant takes a wish to reconnect: all that there is goes.
func (k *keeper) grant(wish redial) {
	k.waiting = append(k.waiting, wish)
	k.dropOwn()
	k.turn(ports.PhaseConnecting)
}

func (k *keeper) settleWishes(err error) {
	for _, wish := range k.waiting {
		wish <- err
	}
	k.waiting = nil
}
