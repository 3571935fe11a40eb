package discord

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Response is a made-up answer. Without Body it is the API's error form of the rest.
type Response struct {
	Status     int
	Code       int
	Message    string
	RetryAfter float64 // seconds, of a 429
	Global     bool    // of a 429
	Body       string
}

// Answers that Discord gives, for Fail.
var (
	TooManyRequests = func(seconds float64) Response {
		return Response{Status: http.StatusTooManyRequests, Message: "You are being rate limited.", RetryAfter: seconds}
	}
	Unauthorized  = Response{Status: http.StatusUnauthorized, Message: "401: Unauthorized"}
	CannotDM      = Response{Status: http.StatusForbidden, Code: 50007, Message: "Cannot send messages to this user"}
	MissingAccess = Response{Status: http.StatusForbidden, Code: 50001, Message: "Missing Access"}
	BadGateway    = Response{Status: http.StatusBadGateway, Body: "<html><h1>502 Bad Gateway</h1></html>"}
	Overloaded    = Response{Status: http.StatusServiceUnavailable, Body: "upstream connect error or disconnect/reset before headers"}
)

type fault struct {
	times    int // < 0: always
	response *Response
	cut      bool
	hang     bool
}

// Fail makes the next times requests of a route ("PATCH /channels/{channel}") do
// nothing but answer r; times < 0 means all. It replaces what Fail, Cut and Hang
// set for the route before. It panics if there is no such route.
func (s *Server) Fail(route string, times int, r Response) {
	s.setFault(route, &fault{times: times, response: &r})
}

// Cut makes the next times requests of a route take effect and lose their answer:
// the connection is closed instead.
func (s *Server) Cut(route string, times int) { s.setFault(route, &fault{times: times, cut: true}) }

// Hang makes the next times requests of a route do nothing and get no answer
// until the caller leaves.
func (s *Server) Hang(route string, times int) { s.setFault(route, &fault{times: times, hang: true}) }

// Mend takes back what Fail, Cut, Hang and Delay set for a route.
func (s *Server) Mend(route string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.faults, route)
	delete(s.delays, route)
}

// Delay makes every answer of a route come d later; the effect is at once, as
// with a slow network on the way back.
func (s *Server) Delay(route string, d time.Duration) {
	s.known(route)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delays[route] = d
}

// Open is how many requests of a route are in progress now.
func (s *Server) Open(route string) int { return s.count(s.open, route) }

// Peak is the most requests of a route that were ever in progress at once.
func (s *Server) Peak(route string) int { return s.count(s.peak, route) }

// Calls is how many requests of a route have come in.
func (s *Server) Calls(route string) int { return s.count(s.calls, route) }

// Invalid is how many answers were 401, 403 or 429: Discord bans an address that
// gets 10,000 of them in ten minutes.
func (s *Server) Invalid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.invalid
}

func (s *Server) count(of map[string]int, route string) int {
	s.known(route)
	s.mu.Lock()
	defer s.mu.Unlock()
	return of[route]
}

// known panics for a route that is none: a test would wait for it in vain.
func (s *Server) known(route string) {
	method, path, _ := strings.Cut(route, " ")
	r, err := http.NewRequest(method, path, http.NoBody)
	if err == nil {
		if _, pattern := s.mux.Handler(r); pattern == route || route == cdnRoute {
			return
		}
	}
	panic("fake discord: no route " + route)
}

func (s *Server) setFault(route string, f *fault) {
	s.known(route)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.times == 0 {
		delete(s.faults, route)
		return
	}
	s.faults[route] = f
}

func (s *Server) takeFault(route string) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.faults[route]
	if f == nil {
		return nil
	}
	if f.times > 0 {
		f.times--
		if f.times == 0 {
			delete(s.faults, route)
		}
	}
	return f
}

func (s *Server) delay(route string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delays[route]
}

func (s *Server) begin(route string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[route]++
	s.open[route]++
	s.peak[route] = max(s.peak[route], s.open[route])
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open[route]--
	}
}

func (r *Response) write(w http.ResponseWriter, s *Server) {
	if r.Body != "" {
		w.WriteHeader(r.Status)
		_, _ = w.Write([]byte(r.Body))
		return
	}
	if r.Status == http.StatusTooManyRequests {
		a := slowDown(time.Duration(r.RetryAfter*float64(time.Second)), r.Global)
		maps.Copy(w.Header(), a.header)
		s.answer(w, a)
		return
	}
	s.answer(w, refuse(r.Status, r.Code, r.Message))
}

// bucket counts the requests of a window.
type bucket struct {
	count int
	until time.Time
}

// slowDown is a 429 (https://docs.discord.com/developers/topics/rate-limits).
func slowDown(wait time.Duration, global bool) reply {
	h := http.Header{}
	h.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	h.Set("X-RateLimit-Scope", "user")
	if global {
		h.Set("X-RateLimit-Global", "true")
		h.Set("X-RateLimit-Scope", "global")
	}
	return reply{status: http.StatusTooManyRequests, header: h, body: struct {
		Message    string  `json:"message"`
		RetryAfter float64 `json:"retry_after"`
		Global     bool    `json:"global"`
	}{"You are being rate limited.", wait.Seconds(), global}}
}

// take counts a request in; it says how many are left and, if none was, how long
// to wait.
func (b *bucket) take(r Rate, now time.Time) (left int, wait time.Duration) {
	if !now.Before(b.until) {
		b.count, b.until = 0, now.Add(r.Per)
	}
	if b.count >= r.Limit {
		return 0, b.until.Sub(now)
	}
	b.count++
	return r.Limit - b.count, 0
}

// limit counts a request against its limits: the headers of its answer, and the 429
// if it is one too many.
func (s *Server) limit(r *http.Request, rt route) (http.Header, *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.opts.Overall.Limit > 0 && !strings.Contains(rt.name, "/interactions/") {
		if _, wait := s.overall.take(s.opts.Overall, now); wait > 0 {
			a := slowDown(wait, true)
			s.limited(rt.name)
			return nil, &a
		}
	}
	if s.opts.PerRoute.Limit == 0 || strings.Contains(rt.name, "/interactions/") {
		return nil, nil
	}
	major := r.PathValue("channel") + r.PathValue("guild") + r.PathValue("token")
	b := s.buckets[rt.name+major]
	if b == nil {
		b = &bucket{}
		s.buckets[rt.name+major] = b
	}
	left, wait := b.take(s.opts.PerRoute, now)
	h := http.Header{}
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.opts.PerRoute.Limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
	h.Set("X-RateLimit-Reset", fmt.Sprintf("%.3f", float64(b.until.UnixMilli())/1000))
	h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", b.until.Sub(now).Seconds()))
	h.Set("X-RateLimit-Bucket", fmt.Sprintf("%x", len(rt.name)*7919+len(rt.fields)))
	if wait == 0 {
		return h, nil
	}
	a := slowDown(wait, false)
	maps.Copy(h, a.header)
	s.limited(rt.name)
	return h, &a
}
