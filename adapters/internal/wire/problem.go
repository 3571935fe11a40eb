package wire

import (
	"cmp"
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

	status int // that the code stands for; 0 = for none
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
// {"detail":…}, a code alone and, as Gemini answers, a list of one of them.
func readProblem(body []byte) Problem { return readBehind(body, mostRouters) }

// mostRouters is how many may stand between us and a provider. More are a peer's
// that wants to see how long it takes.
const mostRouters = 3

func readBehind(body []byte, routers int) Problem {
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
		Param   LooseText       `json:"param"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return Problem{}
	}
	p := Problem{Message: string(outer.Message), Type: string(outer.Type), Code: string(outer.Code), Param: string(outer.Param)}
	switch {
	case len(outer.Error) == 0 || string(outer.Error) == "null":
		if p.Message == "" {
			p.Message = string(outer.Detail)
		}
		if p.Message == "" && p.Code == "" {
			return Problem{} // all kinds of objects have a type
		}
		return p.withStatus()
	case outer.Error[0] == '"':
		p.Message = Plain(outer.Error)
		return p.withStatus()
	case outer.Error[0] == '{':
		return errorObject(outer.Error, routers)
	}
	return Problem{Message: "an error in an unknown form"}
}

// errorObject is what stands under "error". A router puts the answer of the
// provider behind it into its own (openrouter.ai/docs/api/reference/errors-and-debugging).
func errorObject(raw []byte, routers int) Problem {
	var e struct {
		Message  LooseText       `json:"message"`
		Type     LooseText       `json:"type"`
		Code     LooseText       `json:"code"`
		Param    LooseText       `json:"param"`
		Status   LooseText       `json:"status"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return Problem{Message: "an error in an unknown form"}
	}
	if e.Type == "" {
		e.Type = e.Status
	}
	p := Problem{Message: string(e.Message), Type: string(e.Type), Code: string(e.Code), Param: string(e.Param)}.withStatus()
	var behind struct {
		Provider LooseText       `json:"provider_name"`
		Raw      json.RawMessage `json:"raw"`
		Flagged  LooseText       `json:"flagged_input"`
	}
	if routers == 0 || json.Unmarshal(e.Metadata, &behind) != nil {
		return p
	}
	if behind.Flagged != "" && p.Type == "" {
		p.Type = "content_policy_violation" // else it looks like a key that may not
	}
	return p.behind(string(behind.Provider), behind.Raw, routers-1)
}

// behind has the words of the provider behind a router, which come first: they
// tell what is wrong, and the router's only that something is.
func (p Problem) behind(provider string, raw json.RawMessage, routers int) Problem {
	if len(raw) == 0 {
		return p
	}
	text := []byte(raw)
	if raw[0] == '"' {
		text = []byte(Plain(raw))
	}
	inner := readBehind(text, routers)
	if !inner.found() && raw[0] == '"' {
		inner.Message = strings.TrimSpace(string(text))
	}
	router := strings.TrimPrefix(p.Message+": "+provider, ": ")
	switch router = strings.TrimSuffix(router, ": "); {
	case inner.Message == "":
		inner.Message = router
	case router != "":
		inner.Message += " (" + router + ")"
	}
	inner.Type, inner.Code = cmp.Or(inner.Type, p.Type), cmp.Or(inner.Code, p.Code)
	inner.Param, inner.status = cmp.Or(inner.Param, p.Param), cmp.Or(p.status, inner.status)
	return inner
}

// withStatus reads the status out of a code that is one.
func (p Problem) withStatus() Problem {
	if n, err := strconv.Atoi(p.Code); err == nil && n >= 400 {
		p.status = n
	}
	return p
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
