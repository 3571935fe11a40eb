package telegram

import (
	"encoding/json"
	"net/http"
	"time"
)

// Response is a made-up answer. Without Body it is the Bot API's error form of the rest.
type Response struct {
	Code        int // HTTP status and error_code
	Description string
	RetryAfter  int   // seconds, of a 429
	MigrateTo   int64 // the supergroup that a group became
	Body        string
}

// Answers that Telegram gives, for Fail.
var (
	TooManyRequests = func(seconds int) Response {
		return Response{Code: http.StatusTooManyRequests, Description: "Too Many Requests: retry after", RetryAfter: seconds}
	}
	Blocked      = Response{Code: http.StatusForbidden, Description: "Forbidden: bot was blocked by the user"}
	ChatNotFound = Response{Code: http.StatusBadRequest, Description: "Bad Request: chat not found"}
	Unauthorized = Response{Code: http.StatusUnauthorized, Description: "Unauthorized"}
	ServerError  = Response{Code: http.StatusInternalServerError, Description: "Internal Server Error"}
	Garbage      = Response{Code: http.StatusOK, Body: `{"ok":true,"result":{"message_id":`}
	BadGateway   = Response{Code: http.StatusBadGateway, Body: "<html><h1>502 Bad Gateway</h1></html>"}
)

type fault struct {
	times    int // < 0: always
	response *Response
	late     bool // response takes the place of the answer after the effect
	cut      bool
	half     bool // cut comes in the middle of the answer
	hang     bool
	drop     bool
}

// Fail makes the next times calls of a method (as Telegram spells it) do nothing
// but answer r; times < 0 means all. It replaces what Fail, Cut, Break, Drop,
// Lose and Hang set for the method before. The method "file" is the download of a file.
func (s *Server) Fail(method string, times int, r Response) {
	s.setFault(method, &fault{times: times, response: &r})
}

// Cut makes the next times calls of a method take effect and lose their answer:
// the connection is closed instead.
func (s *Server) Cut(method string, times int) { s.setFault(method, &fault{times: times, cut: true}) }

// Break makes the next times calls of a method take effect and lose their
// answer in the middle: the status and half of the body come, then the connection is closed.
func (s *Server) Break(method string, times int) {
	s.setFault(method, &fault{times: times, cut: true, half: true})
}

// Drop makes the next times calls of a method do nothing and closes their connection.
func (s *Server) Drop(method string, times int) { s.setFault(method, &fault{times: times, drop: true}) }

// Lose makes the next times calls of a method take effect and be answered with r,
// as a proxy in between does.
func (s *Server) Lose(method string, times int, r Response) {
	s.setFault(method, &fault{times: times, response: &r, late: true})
}

// Hang makes the next times calls of a method do nothing and get no answer
// until the caller leaves.
func (s *Server) Hang(method string, times int) { s.setFault(method, &fault{times: times, hang: true}) }

// Mend takes back what was set for a method.
func (s *Server) Mend(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.faults, method)
	delete(s.delays, method)
}

// Delay makes every answer of a method come d later; the effect is at once, as
// with a slow network on the way back.
func (s *Server) Delay(method string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delays[method] = d
}

// Open is how many calls of a method are in progress now: received and not yet answered.
func (s *Server) Open(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[method]
}

// Peak is the most calls of a method that were ever in progress at once.
func (s *Server) Peak(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak[method]
}

// Calls is how many calls of a method have come in.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

func (s *Server) setFault(method string, f *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.times == 0 {
		delete(s.faults, method)
		return
	}
	s.faults[method] = f
}

func (s *Server) takeFault(method string) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.faults[method]
	if f == nil {
		return nil
	}
	if f.times > 0 {
		f.times--
		if f.times == 0 {
			delete(s.faults, method)
		}
	}
	return f
}

func (s *Server) delay(method string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delays[method]
}

// During is how many calls of a method were in progress at some moment between
// two times: received before the later one, and not answered before the earlier.
func (s *Server) During(method string, from, to time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.spans[method] {
		if !c.began.After(to) && (c.ended.IsZero() || !c.ended.Before(from)) {
			n++
		}
	}
	return n
}

// span is the time of one call, from its receipt to its answer.
type span struct{ began, ended time.Time }

func (s *Server) begin(method string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := len(s.spans[method])
	s.spans[method] = append(s.spans[method], span{began: time.Now()})
	s.calls[method]++
	s.open[method]++
	s.peak[method] = max(s.peak[method], s.open[method])
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open[method]--
		s.spans[method][i].ended = time.Now()
	}
}

func (r *Response) write(w http.ResponseWriter) {
	if r.Body != "" {
		w.WriteHeader(r.Code)
		_, _ = w.Write([]byte(r.Body))
		return
	}
	a := refuse(r.Code, r.Description)
	if r.RetryAfter > 0 || r.MigrateTo != 0 {
		a.Parameters = &parameters{RetryAfter: r.RetryAfter, MigrateTo: r.MigrateTo}
	}
	write(w, a)
}

// asJSON is v as an update carries it.
func asJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("fake telegram: " + err.Error())
	}
	return b
}
