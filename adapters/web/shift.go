package web

import (
	"context"
	"sync"

	"dragoman/ports"
)

// shift is one Run: the receiver, and the requests that use it.
type shift struct {
	in ports.Receiver

	mu      sync.Mutex
	over    bool
	last    int
	cancels map[int]context.CancelFunc
	guests  sync.WaitGroup
}

func newShift(in ports.Receiver) *shift {
	return &shift{in: in, cancels: make(map[int]context.CancelFunc)}
}

// join gives a context that ends with ctx and with the shift. leave must be
// called. It reports false if the shift is over.
func (s *shift) join(ctx context.Context) (joined context.Context, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, nil, false
	}
	joined, cancel := context.WithCancel(ctx)
	s.last++
	id := s.last
	s.cancels[id] = cancel
	s.guests.Add(1)
	return joined, func() {
		cancel()
		s.mu.Lock()
		delete(s.cancels, id)
		s.mu.Unlock()
		s.guests.Done()
	}, true
}

// end sends everybody home and waits until they have gone.
func (s *shift) end() {
	s.mu.Lock()
	s.over = true
	for _, cancel := range s.cancels {
		cancel()
	}
	s.mu.Unlock()
	s.guests.Wait()
}
