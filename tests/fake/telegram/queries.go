package telegram

import (
	"context"
	"strconv"
)

// query is a pressed button that waits for its answer.
type query struct {
	answered bool
	expired  bool
}

func (s *Server) answerCallbackQuery(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queries[p.form["callback_query_id"]]
	if q == nil || q.answered || q.expired {
		return badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	if units(p.form["text"]) > maxToast {
		return badRequest("MESSAGE_TOO_LONG")
	}
	q.answered, s.toast = true, p.form["text"]
	return result(true)
}

// Answered is how many presses were answered, of how many.
func (s *Server) Answered() (answered, pressed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queries {
		if q.answered {
			answered++
		}
	}
	return answered, len(s.queries)
}

// ExpireQueries makes all presses so far too old to be answered.
func (s *Server) ExpireQueries() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queries {
		q.expired = true
	}
}

// Toast is what the last answered press showed to the person who pressed.
func (s *Server) Toast() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.toast
}

// newQuery makes a callback query's id. s.mu is held.
func (s *Server) newQuery() string {
	id := "9" + strconv.Itoa(100_000_000+len(s.queries))
	s.queries[id] = &query{}
	return id
}
