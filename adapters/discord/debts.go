package discord

import (
	"maps"
	"slices"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	// historyPatience is how long a history may hold up what comes in; one that cannot
	// be read by then is owed, and tried again.
	historyPatience = 10 * time.Second
	settleEvery     = 15 * time.Second
	// probePatience is the same once one could not be read: it is not that room alone.
	probePatience = 3 * time.Second
	// hopeless is how many in a row could not be read when the others are owed untried.
	hopeless = backfillers
	// orderPatience is how long what is said in a room waits for a history that is owed,
	// so that all is answered in order. Then it is better to answer at all.
	orderPatience = 3 * time.Minute
	// maxHeld bounds what waits for that, in all rooms together.
	maxHeld = 4096
)

// gap is where reading begins in a room: the last message of it that is stored.
type gap func(room string) uint64

// debt is a history that could not be read.
type debt struct {
	room  room
	after uint64          // the last message that is stored
	since time.Time       // when it could not be read first
	held  []ports.Message // said since, in their order
}

// orders reports whether what is said waits for the history.
func (d debt) orders() bool { return time.Since(d.since) < orderPatience }

// debts are the histories that could not be read. The zero value has none. Safe for
// many goroutines.
type debts struct {
	mu     sync.Mutex
	owed   map[string]debt // by room
	failed int             // in a row
	tried  time.Time       // when the last of these was
	held   int
}

// any reports whether there are some, has whether one is of a room.
func (s *debts) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.owed) > 0
}

func (s *debts) has(room string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.owed[room]
	return is
}

func (s *debts) owe(d debt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owed == nil {
		s.owed = map[string]debt{}
	}
	s.owed[d.room.ID] = d
	s.held += len(d.held)
}

// redeem takes a debt out of what is owed, or makes a new one.
func (s *debts) redeem(r room, after gap) debt {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, is := s.owed[r.ID]
	if !is {
		return debt{room: r, after: after(r.ID), since: time.Now()}
	}
	delete(s.owed, r.ID)
	s.held -= len(d.held)
	return d
}

// due takes out all that is owed when it is time to read it.
func (s *debts) due() []debt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.owed) == 0 || time.Since(s.tried) < settleEvery {
		return nil
	}
	all := slices.Collect(maps.Values(s.owed))
	clear(s.owed)
	s.held = 0
	return all
}

// hold keeps a message until the older ones of its room are read; false if there is
// no use in that, or no room.
func (s *debts) hold(room string, m ports.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, is := s.owed[room]
	if !is || !d.orders() || s.held >= maxHeld {
		return false
	}
	d.held = append(d.held, m)
	s.owed[room] = d
	s.held++
	return true
}

// replace puts another form of a message in its place where it is held, or takes it
// out if there is none; false if it is not held.
func (s *debts) replace(room string, id ports.MessageID, by ...ports.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.owed[room].held
	i := slices.IndexFunc(held, func(m ports.Message) bool { return m.ID == id })
	if i < 0 {
		return false
	}
	d := s.owed[room]
	d.held = slices.Replace(held, i, i+1, by...)
	s.owed[room] = d
	s.held += len(by) - 1
	return true
}

// release gives what is held of a room, which waits no longer.
func (s *debts) release(room string) []ports.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, is := s.owed[room]
	if !is || len(d.held) == 0 {
		return nil
	}
	held := d.held
	d.held = nil
	s.owed[room] = d
	s.held -= len(held)
	return held
}

// note keeps whether a history could be read.
func (s *debts) note(ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.failed = 0
		return
	}
	s.failed++
	s.tried = time.Now()
}

// patience is how long to try the next one; 0 where too many failed just now.
func (s *debts) patience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed == 0:
		return historyPatience
	case s.failed >= hopeless && time.Since(s.tried) < settleEvery:
		return 0
	}
	return probePatience
}
