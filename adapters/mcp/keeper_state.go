package mcp

import (
	"time"

	"dragoman/ports"
)

// turn enters a phase in which nothing is wrong, and tells.
func (k *keeper) turn(p ports.Phase) {
	k.mu.Lock()
	k.phase, k.retryIn, k.hope = p, 0, true
	if p == ports.PhaseReady {
		k.words, k.cause = "", nil
	}
	k.announce()
	k.mu.Unlock()
	k.report()
}

// doubt says that calls are refused for a while although there is a connection.
func (k *keeper) doubt(words string, wait time.Duration) {
	k.mu.Lock()
	k.phase, k.words, k.retryIn = ports.PhaseDegraded, words, wait
	k.mu.Unlock()
	k.log.Warn("mcp_server_doubted", "err", words)
	k.report()
}

// wantLogin shows the link of a login that a call was refused for; "" takes it back.
func (k *keeper) wantLogin(url string) {
	k.mu.Lock()
	news := k.state.Login != url
	k.state.Login = url
	k.mu.Unlock()
	if news {
		k.report()
	}
}

// remark says what is wrong with a server that works; "" if nothing is.
func (k *keeper) remark(words string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.phase == ports.PhaseReady {
		k.words = words
	}
}

// take gives calls the connection.
func (k *keeper) take(c *connection) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conn = c
	k.state.Login = ""
	k.state.Transport = transportOf(c.link)
	k.state.Protocol, k.state.Peer = c.session.version, c.session.peer
	k.announce()
}

// drop takes it away again.
func (k *keeper) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conn = nil
	k.announce()
}

// letGo takes the connection away if no call used it for idle_stop. Otherwise it
// says how long that takes at least.
func (k *keeper) letGo() (left time.Duration, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users > 0 {
		return k.cfg.IdleStop, false
	}
	if left = k.cfg.IdleStop - time.Since(k.used); left > 0 {
		return left, false
	}
	k.conn = nil
	if !k.isMain() {
		k.leaving = reasonIdle
	}
	k.announce()
	return 0, true
}

// retire has the keeper end unless a call came.
func (k *keeper) retire() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users > 0 {
		return false
	}
	k.leaving = reasonIdle
	return true
}

// leave tells the keeper to end. Callers hold mu.
func (k *keeper) leave(reason string) {
	if k.leaving == "" {
		k.leaving = reason
		k.end()
	}
}

// depart is the end of the keeper.
func (k *keeper) depart() {
	k.settleWishes(errNotRun)
	k.mu.Lock()
	k.conn = nil
	close(k.gone)
	k.announce()
	if k.isMain() {
		k.mu.Unlock()
		return
	}
	delete(k.own, k.owner)
	k.release()
	k.mu.Unlock()
	k.report()
}

func (k *keeper) inUse() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.users > 0
}

// announce wakes the calls that wait for a connection. Callers hold mu.
func (k *keeper) announce() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// hear notes what the server printed last, and reports whether that is news.
func (k *keeper) hear(l link) (news bool) {
	stderr, at := l.Stderr()
	k.mu.Lock()
	defer k.mu.Unlock()
	news = at != k.heard
	k.state.Stderr, k.heard = stderr, at
	return news
}
