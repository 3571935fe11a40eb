package mcpfaults

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// huge is more than any limit for a message, and than a gateway may use for one.
const huge = 300 << 20

// lines are faults of the messages as such: what JSON-RPC and its framing forbid.
func lines() []Fault {
	return []Fault{
		{Name: "noise", Over: Stdio, Why: "many servers print a banner and their log where messages go",
			begin: func(p *peer) {
				p.raw("Welcome to the server!\n\n[1]\n123\nnull\n{\"level\":\"info\",\"msg\":\"ready\"}\n\x00\xff\xfe\x80binary\n\"x\"\n\r\n")
			},
			say: func(p *peer, m message) bool {
				p.raw("[INFO] handling " + m.Method + "\n")
				return false
			}},
		{Name: "pauses in a line", Over: Stdio, Why: "half a message is no message, and no reason to give up",
			say: inHalves},
		{Name: "half a line", Over: Stdio, Why: "a message that never ends costs its call and what is glued to it, not the server",
			say: acts(func(p *peer, m message) { p.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[`) })},
		{Name: "huge line", Over: Stdio, Why: "the peer must not decide how much memory it gets",
			say: acts(func(p *peer, m message) {
				p.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[{"type":"text","text":"`)
				p.pour(huge)
				p.raw("\"}]}}\n")
			})},
		{Name: "huge list", Over: Stdio, Why: "the same before anything else was said",
			say: func(p *peer, m message) bool {
				if m.Method != "tools/list" {
					return false
				}
				p.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"tools":[{"name":"`)
				p.pour(huge)
				p.raw("\"}]}}\n")
				return true
			}},
		{Name: "wrong ids", Over: Stdio, Why: "an answer to another question must not be taken for ours",
			say: func(p *peer, m message) bool {
				p.answer(message{ID: json.RawMessage("987654"), Method: m.Method}, `{}`)
				return true
			}},
		{Name: "wrong id of a call", Over: Stdio, Why: "the same when all went well before",
			say: acts(func(p *peer, _ message) { p.line(result(json.RawMessage("987654"), acted)) })},
		{Name: "ids as text", Over: Stdio, Why: "seen in the wild, and harmless",
			say: func(p *peer, m message) bool {
				if m.asks() {
					m.ID = json.RawMessage(quote(string(m.ID)))
				}
				p.line(good(m))
				return true
			}},
		{Name: "double answers", Over: Stdio, Why: "the second answer has no owner",
			say: func(p *peer, m message) bool { p.line(good(m)); return false }},
		{Name: "answers nobody asked for", Over: Stdio, Why: "an answer to a request that was never made must wake nobody",
			say: func(p *peer, _ message) bool {
				p.raw(`{"jsonrpc":"2.0","id":7654321,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"x-1","error":{"code":1,"message":"?"}}` + "\n" +
					`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}` + "\n")
				return false
			}},
		{Name: "answers after the end", Over: Stdio, Why: "an answer to a call that was given up comes too late",
			say: func() func(*peer, message) bool {
				var late json.RawMessage
				return func(p *peer, m message) bool {
					switch {
					case m.acts():
						late = m.ID
					case m.Method == "notifications/cancelled" && string(m.Params.RequestID) == string(late):
						p.line(result(late, acted))
						p.line(refusal(late, -32800, "Request cancelled"))
					default:
						return false
					}
					return true
				}
			}()},
		{Name: "batches", Over: Stdio, Why: "one revision had them, and servers kept them",
			say: func(p *peer, m message) bool {
				if text := good(m); text != "" {
					p.line(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}},17,` + text + `]`)
				}
				return true
			}},
		{Name: "neither result nor error", Over: Stdio, Why: "an answer without either answers nothing",
			say: acts(func(p *peer, m message) { p.answerRaw(m, `"outcome":"fine"`) })},
		{Name: "error is a text", Over: Stdio, Why: "the words are worth keeping although the form is wrong",
			say: acts(func(p *peer, m message) { p.answerRaw(m, `"error":"the printer is on fire"`) })},
		{Name: "fails for ever", Over: Stdio, Why: "an error object is an answer: the server is fine",
			say: acts(func(p *peer, m message) { p.line(refusal(m.ID, -32603, "the printer is on fire")) })},
	}
}

func inHalves(p *peer, m message) bool {
	text := good(m)
	if text == "" {
		return true
	}
	p.raw(text[:len(text)/2])
	p.pause(150 * time.Millisecond)
	p.raw(text[len(text)/2:] + "\n")
	return true
}

// floods are faults of too much.
func floods() []Fault {
	return []Fault{
		{Name: "floods stdout", Over: Stdio, Why: "what is no message is read and thrown away, but not for ever",
			begin: func(p *peer) {
				p.until(func(int) { p.raw(strings.Repeat("0123456789 still starting\n", 100)) })
			}, say: silent},
		{Name: "floods notifications", Over: Stdio, Why: "valid messages that mean nothing must not starve the answers between them",
			say: onceReady(func(p *peer) {
				p.until(func(n int) {
					p.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/whatever","params":{"n":%d}}`, n))
				})
			})},
		{Name: "floods log messages", Over: Stdio, Why: "a log that is passed on must be bounded",
			say: onceReady(func(p *peer) {
				p.until(func(n int) {
					p.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"x","data":{"n":%d,"text":%q}}}`, n, strings.Repeat("log ", 200)))
				})
			})},
		{Name: "floods progress", Over: Stdio, Why: "progress of nobody's call must cost nothing",
			say: onceReady(func(p *peer) {
				p.until(func(n int) {
					p.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t%d","progress":%d}}`, n, n))
				})
			})},
		{Name: "floods list_changed", Over: Stdio, Why: "a server that always has news would have its tools listed without end",
			say: onceReady(func(p *peer) {
				p.until(func(int) { p.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) })
			})},
		{Name: "floods stderr", Over: Stdio, Why: "nobody may be stuck in a full pipe, and nobody keeps it all",
			begin: func(p *peer) {
				p.until(func(int) { fmt.Fprint(os.Stderr, strings.Repeat("a stack trace, line by line\n", 100)) })
			}},
		{Name: "one line of stderr without end", Over: Stdio, Why: "the same for a reader of lines",
			begin: func(p *peer) {
				p.until(func(int) { fmt.Fprint(os.Stderr, strings.Repeat("no end ", 1000)) })
			}},
		{Name: "floods requests", Over: Stdio, Why: "sampling, forms, roots and nonsense, asked without end: each answer costs, and the answers may not be read",
			say: onceReady(func(p *peer) {
				methods := []string{"sampling/createMessage", "elicitation/create", "roots/list", "ping", "no/such/method"}
				p.until(func(n int) {
					p.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask-%d","method":%q,"params":{"message":"?","messages":[],"maxTokens":1,"requestedSchema":{"type":"object","properties":{}}}}`, n, methods[n%len(methods)]))
				})
			})},
		{Name: "asks without listening", Over: Stdio, Why: "answers to a peer that does not read fill a pipe: whoever waits there is stuck",
			say: onceReady(func(p *peer) {
				for n := range 20_000 {
					p.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask-%d","method":"ping"}`, n))
				}
				p.pause(longest)
			})},
		{Name: "progresses for ever", Over: Stdio, Why: "a call that is always nearly done must end at its limit all the same",
			say: acts(func(p *peer, m message) {
				p.until(func(n int) {
					p.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":"nearly"}}`, token(m), n))
				})
			})},
		{Name: "huge progress", Over: Stdio, Why: "what a person is shown is bounded, and the call goes on",
			say: acts(func(p *peer, m message) {
				for n := range 5 {
					p.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":"many","message":%s}}`, token(m), n, quote(strings.Repeat("word ", 200_000))))
				}
				p.answer(m, acted)
			})},
	}
}

// onceReady begins when the tools were listed for the first time, beside good answers.
func onceReady(begin func(*peer)) func(*peer, message) bool {
	return func(p *peer, m message) bool {
		if m.Method != "tools/list" || p.lists > 1 {
			return false
		}
		p.line(good(m))
		begin(p)
		return true
	}
}

// token is the progress token of the call; one of nobody's if it brought none.
func token(m message) string {
	if len(m.Params.Meta.Progress) == 0 {
		return `"nobody"`
	}
	return string(m.Params.Meta.Progress)
}
