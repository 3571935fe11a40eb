package mcpfaults

import "strings"

// handshakes are faults of the first exchange.
func handshakes() []Fault {
	return []Fault{
		{Name: "mute", Over: Stdio, Why: "it never answers: only a time-out ends the wait", say: silent},
		{Name: "ignores discover", Over: Stdio, Why: "a server of the older era may drop what it does not know instead of refusing it; the probe must not cost its start",
			say: func(_ *peer, m message) bool { return m.Method == "server/discover" }},
		{Name: "empty answers", Over: Stdio, Why: "{} to everything looks like consent to whoever does not look inside",
			say: func(p *peer, m message) bool { p.answer(m, `{}`); return true }},
		{Name: "mirror", Over: Stdio, Why: "a program that is no server at all (cat) sends our requests back as its own",
			say: mirror},
		{Name: "unheard version", Over: Stdio, Why: "a version that nobody knows must not be spoken", say: answers("initialize", welcome("3000-01-01"))},
		{Name: "version is a number", Over: Stdio, Why: "a member of the wrong type must not be taken for an absent one", say: answers("initialize", `{"protocolVersion":2025,"capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)},
		{Name: "refuses initialize", Over: Stdio, Why: "its reason is the only help that an admin gets",
			say: refuses("initialize", -32000, "the licence expired on 2026-01-31")},
		{Name: "refuses in bad words", Over: Stdio, Why: "an error's text may steer a terminal, or be no text",
			say: func(p *peer, m message) bool {
				if m.Method != "initialize" {
					return m.asks() && m.Method == "server/discover" && p.answerRaw(m, `"error":{"code":-32601,"message":"no"}`)
				}
				return p.answerRaw(m, `"error":{"code":-32000,"message":"\u001b[2Jkaputt\u0007`+strings.Repeat("A", 100_000)+`"}`)
			}},
		{Name: "refuses tools/list", Over: Stdio, Why: "a server that connects and lists nothing is not ready",
			say: refuses("tools/list", -32603, "the database is locked")},
		{Name: "discover is garbage", Over: Stdio, Why: "an answer to the probe that makes no sense says no more than that the server is of the older era",
			say: answers("server/discover", `{"surprise":[1,2,3]}`)},
		{Name: "discover lies", Over: Stdio, Why: "it claims the newer era and knows none of its methods",
			say: discoverLies},
	}
}

func silent(*peer, message) bool { return true }

// answer gives a request the result; a notification gets none.
func (p *peer) answer(m message, raw string) {
	if m.asks() {
		p.line(result(m.ID, raw))
	}
}

// answerRaw gives a request the members.
func (p *peer) answerRaw(m message, members string) bool {
	p.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + members + `}`)
	return true
}

// answers answers one method with the result, whatever was asked.
func answers(method, raw string) func(*peer, message) bool {
	return func(p *peer, m message) bool {
		if m.Method != method {
			return false
		}
		p.answer(m, raw)
		return true
	}
}

// acts answers the call that shows the fault.
func acts(act func(*peer, message)) func(*peer, message) bool {
	return func(p *peer, m message) bool {
		if !m.acts() {
			return false
		}
		act(p, m)
		return true
	}
}

func refuses(method string, code int, words string) func(*peer, message) bool {
	return func(p *peer, m message) bool {
		if m.Method != method {
			return false
		}
		p.line(refusal(m.ID, code, words))
		return true
	}
}

func mirror(p *peer, m message) bool {
	if m.asks() {
		p.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"method":` + quote(m.Method) + `}`)
	}
	return true
}

func discoverLies(p *peer, m message) bool {
	switch m.Method {
	case "server/discover":
		p.answer(m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"mcpfaults","version":"1"}}`)
	case "tools/list":
		p.line(refusal(m.ID, -32601, "Method not found"))
	default:
		return false
	}
	return true
}
