package discord

import (
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Telling is how a 429 says how long it lasts.
type Telling int

// Ways of telling.
const (
	TellAll    Telling = iota // the API's: in the body, and in headers
	TellBody                  // in the body alone
	TellHeader                // a proxy's before the API: in Retry-After alone, with a page of HTML
)

// flood is a time in which requests are refused.
type flood struct {
	until   time.Time
	how     Telling
	refused int
}

// Flood refuses for d whatever the bot does in a channel, or with "" in all of them
// together, as Discord does with one who was too quick. Answers to interactions are
// exempt.
func (s *Server) Flood(channel string, d time.Duration, how Telling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.floods[channel] = &flood{until: s.now().Add(d), how: how}
}

// Refused is how many requests the last Flood of a channel, or of "", has refused.
func (s *Server) Refused(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.floods[channel]; f != nil {
		return f.refused
	}
	return 0
}

// flooded is the 429 that a flood answers a request with, or nil.
func (s *Server) flooded(r *http.Request, rt route) *reply {
	if rt.open || strings.Contains(rt.name, "/gateway") {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range []string{"", r.PathValue("channel")} {
		f := s.floods[channel]
		if f == nil {
			continue
		}
		left := f.until.Sub(s.now())
		if left <= 0 {
			continue
		}
		f.refused++
		s.limited(rt.name)
		a := slowDown(left, channel == "")
		switch f.how {
		case TellAll:
			if channel != "" {
				maps.Copy(a.header, http.Header{
					"X-Ratelimit-Limit": {"5"}, "X-Ratelimit-Remaining": {"0"},
					"X-Ratelimit-Reset-After": {strconv.FormatFloat(left.Seconds(), 'f', 3, 64)},
				})
			}
		case TellBody:
			a.header = nil
		case TellHeader:
			a.header = http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(left.Seconds())))}}
			a.body = page("<html><h1>429 Too Many Requests</h1></html>")
		}
		return &a
	}
	return nil
}
