package mcpfaults

import (
	"encoding/json"
	"fmt"
	"strings"
)

// modernRevision is the first revision without a handshake.
const modernRevision = "2026-07-28"

// goodModern is good for a server that speaks the modern revision alone.
func goodModern(m message) string {
	if !m.asks() {
		return ""
	}
	switch m.Method {
	case "server/discover":
		return result(m.ID, `{"resultType":"complete","supportedVersions":["`+modernRevision+`"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpfaults","version":"2"}}}`)
	case "initialize":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":[%q],"requested":%q}}}`, m.ID, modernRevision, m.Params.ProtocolVersion)
	case "tools/list", "tools/call":
		return strings.Replace(good(m), `"result":{`, `"result":{"resultType":"complete",`, 1)
	}
	return good(m)
}

// subscribed tells a listener that it is heard.
func subscribed(id json.RawMessage) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, id)
}

// moderns are faults of a server that speaks the revision without a handshake.
func moderns() []Fault {
	// modern leaves to the good modern server what take does not take.
	modern := func(name, why string, take func(*peer, message) bool) Fault {
		return Fault{Name: "modern: " + name, Why: why, Over: Stdio, say: func(p *peer, m message) bool {
			switch {
			case take(p, m):
			case m.Method == "subscriptions/listen":
				p.line(subscribed(m.ID)) // and open it stays
			default:
				p.line(goodModern(m))
			}
			return true
		}}
	}
	calls := func(result string) func(*peer, message) bool {
		return acts(func(p *peer, m message) { p.answer(m, result) })
	}
	return []Fault{
		modern("asks for input for ever", "each answer is another question", calls(
			`{"resultType":"input_required","requestState":"more","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","message":"And now?","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}}}}`)),
		modern("asks for input of no known kind", "a request that nobody can fill in", calls(
			`{"resultType":"input_required","requestState":"more","inputRequests":{"a":{"method":"mind/read","params":{}}}}`)),
		modern("asks for nothing", "input is required, and none is asked for", calls(`{"resultType":"input_required","inputRequests":{}}`)),
		modern("a result of no known type", "a later revision may have more of them", calls(`{"resultType":"hologram","content":[{"type":"text","text":"acted"}]}`)),
		modern("a task without an end", "a task that is always working ends with its call",
			func(p *peer, m message) bool {
				switch {
				case m.acts():
					p.answer(m, `{"resultType":"task","taskId":"t1","status":"working","pollIntervalMs":1}`)
				case m.Method == "tasks/get":
					p.answer(m, `{"resultType":"complete","taskId":"t1","status":"working","pollIntervalMs":0.000001}`)
				default:
					return false
				}
				return true
			}),
		modern("ends each subscription", "whoever subscribes again at once does nothing else",
			answers("subscriptions/listen", `{"resultType":"complete"}`)),
		modern("refuses each subscription", "the same with an error", refuses("subscriptions/listen", -32603, "not today")),
		modern("floods a subscription", "what was asked for may be too much", func(p *peer, m message) bool {
			if m.Method != "subscriptions/listen" {
				return false
			}
			p.line(subscribed(m.ID))
			p.until(func(int) {
				p.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID))
			})
			return true
		}),
		modern("refuses the version that it names", "trying again with what it wants never ends",
			func(p *peer, m message) bool {
				return m.asks() && p.answerRaw(m, `"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["`+modernRevision+`"],"requested":"`+modernRevision+`"}}`)
			}),
		modern("speaks a later revision alone", "there is nothing in common",
			func(p *peer, m message) bool {
				return m.asks() && p.answerRaw(m, `"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2031-01-01"],"requested":"`+modernRevision+`"}}`)
			}),
	}
}
