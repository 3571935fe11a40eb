package wire

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Problem is the error object of the API, as far as anyone fills it in.
type Problem struct {
	Message string
	Type    string
	Code    string // a number at some providers
	Param   string // what of the request it is about; few tell
}

func (p Problem) found() bool { return p.Message != "" || p.Type != "" || p.Code != "" }

func (p Problem) is(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return strings.EqualFold(p.Code, n) || strings.EqualFold(p.Type, n)
	})
}

func (p Problem) says(texts []string) bool {
	message := strings.ToLower(p.Message)
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(message, t) })
}

// readProblem understands {"error":{…}}, {"error":"text"}, {"message":…},
// {"detail":…} and, as Gemini answers, a list of one of them.
func readProblem(body []byte) Problem {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message LooseText       `json:"message"`
		Detail  LooseText       `json:"detail"`
		Type    LooseText       `json:"type"`
		Code    LooseText       `json:"code"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return Problem{}
	}
	var inner struct {
		Message LooseText `json:"message"`
		Type    LooseText `json:"type"`
		Code    LooseText `json:"code"`
		Param   LooseText `json:"param"`
		Status  LooseText `json:"status"`
	}
	var text string
	switch {
	case len(outer.Error) == 0 || string(outer.Error) == "null":
		if outer.Message == "" {
			outer.Message = outer.Detail
		}
		if outer.Message == "" {
			return Problem{}
		}
		return Problem{Message: string(outer.Message), Type: string(outer.Type), Code: string(outer.Code)}
	case json.Unmarshal(outer.Error, &text) == nil:
		return Problem{Message: text, Type: string(outer.Type), Code: string(outer.Code)}
	case json.Unmarshal(outer.Error, &inner) == nil:
		if inner.Type == "" {
			inner.Type = inner.Status
		}
		return Problem{Message: string(inner.Message), Type: string(inner.Type), Code: string(inner.Code), Param: string(inner.Param)}
	}
	return Problem{Message: "an error in an unknown form"}
}

// retryAfter is the wait that an answer asks for: Retry-After-Ms, or Retry-After
// in seconds or as a date (RFC 9110, 10.2.3), reckoned by the peer's own clock
// where it told it.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return wait(ms / 1000)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return wait(s)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return wait(at.Sub(now).Seconds())
}

// wait keeps a peer's number within a day, NaN and the negative at 0.
func wait(seconds float64) time.Duration {
	const most = 24 * 60 * 60
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, most) * float64(time.Second))
}
