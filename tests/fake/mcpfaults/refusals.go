package mcpfaults

import (
	"encoding/json"
	"net/http"
)

const webPage = "<!DOCTYPE html><html><head><title>Oops</title></head><body><h1>Something went wrong</h1></body></html>"

// refusals are statuses that are not 200, at once and in the middle of a session.
func refusals() []Fault {
	statuses := []struct {
		name, why string
		refuse    func(*visit)
	}{
		{"400", "a refusal has words", func(v *visit) { v.json(400, refusal(json.RawMessage("null"), -32000, "the moon is not full")) }},
		{"401", "only another login helps", func(v *visit) {
			v.w.Header().Set("WWW-Authenticate", "Bearer")
			v.json(401, `{"error":"invalid_token"}`)
		}},
		{"403", "this login will never do", func(v *visit) { v.json(403, `{"error":"forbidden"}`) }},
		{"404 with a page", "the path is wrong", func(v *visit) { v.page(404, webPage) }},
		{"405", "nothing takes a POST here", func(v *visit) { http.Error(v.w, "Method Not Allowed", http.StatusMethodNotAllowed) }},
		{"429", "the server names a time to wait", func(v *visit) {
			v.w.Header().Set("Retry-After", "2")
			http.Error(v.w, "slow down", http.StatusTooManyRequests)
		}},
		{"500", "a server in trouble", func(v *visit) { http.Error(v.w, "panic: nil map", http.StatusInternalServerError) }},
		{"502 with a page", "a proxy speaks, and not MCP", func(v *visit) { v.page(502, webPage) }},
		{"503 with a time", "the server comes back", func(v *visit) {
			v.w.Header().Set("Retry-After", "2")
			http.Error(v.w, "restarting", http.StatusServiceUnavailable)
		}},
		{"200 with a page", "a captive portal says yes to everything", func(v *visit) { v.page(200, webPage) }},
		{"redirect elsewhere", "headers with a token must not follow", func(v *visit) { http.Redirect(v.w, v.r, "http://127.0.0.1:1/mcp", http.StatusPermanentRedirect) }},
		{"redirect to itself", "the way never ends", func(v *visit) { http.Redirect(v.w, v.r, "/mcp", http.StatusTemporaryRedirect) }},
		{"closes the connection", "no status at all", func(v *visit) { v.wire().Close() }},
	}
	var faults []Fault
	for _, s := range statuses {
		faults = append(faults,
			Fault{Name: "http at once: " + s.name, Over: HTTP, Why: s.why, web: func(_ *Server, v *visit) bool { s.refuse(v); return true }},
			Fault{Name: "http at a call: " + s.name, Over: HTTP, Why: s.why, web: onAct(func(_ *Server, v *visit) { s.refuse(v) })})
	}
	return faults
}

func onAct(answer func(*Server, *visit)) func(*Server, *visit) bool {
	return func(s *Server, v *visit) bool {
		if !v.acts() {
			return false
		}
		answer(s, v)
		return true
	}
}

// sessions are faults of a session that ends when act is called first. All of
// these servers are well in the session that follows.
func sessions() []Fault {
	forgets := []struct {
		name, why string
		refuse    func(*visit)
	}{
		{"404", "this is how it should be", func(v *visit) {
			v.json(404, refusal(json.RawMessage("null"), -32001, "Session not found"))
		}},
		{"400 with words", "this is how many do it", func(v *visit) {
			v.json(400, refusal(json.RawMessage("null"), -32000, "Bad Request: No valid session ID provided"))
		}},
		{"-32600", "and this", func(v *visit) {
			v.json(400, refusal(json.RawMessage("null"), -32600, "Session terminated"))
		}},
		{"-32600 with 200", "an error in an answer may also be a tool that speaks", func(v *visit) {
			v.json(200, refusal(v.ID, -32600, "session expired"))
		}},
		{"-32001 with 404 and a page", "a proxy before a server that is not there any more", func(v *visit) { v.page(404, webPage) }},
	}
	var faults []Fault
	for _, f := range forgets {
		faults = append(faults, Fault{Name: "session ends by " + f.name, Over: HTTP, Why: f.why, web: func(s *Server, v *visit) bool {
			id := v.r.Header.Get(sessionHeader)
			if v.acts() && s.called() == 1 {
				s.forget(id)
			}
			if id == "" || s.knows(id) {
				return false
			}
			f.refuse(v)
			return true
		}})
	}
	return append(faults,
		Fault{Name: "session id without end", Over: HTTP, Why: "it would have to be sent back each time", web: func(_ *Server, v *visit) bool {
			if v.message.Method == "initialize" {
				long := make([]byte, 100<<10)
				for i := range long {
					long[i] = 'i'
				}
				v.w.Header().Set(sessionHeader, string(long))
				v.json(200, good(v.message))
			}
			return v.message.Method == "initialize"
		}})
}
