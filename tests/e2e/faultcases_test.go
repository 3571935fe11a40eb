package e2e

// faultCase is what a gateway is to make of a server with a fault.
type faultCase struct {
	// says is what `dragoman servers --json` tells of the server, sooner or later.
	// "" is a fault that is borne in silence: the server ends up ready without an error.
	says string
	// act is the outcome of calling the tool that shows the fault; "" where there
	// is no tool to call, because the server is not connected or offers none.
	act   string
	text  string // is in the call's text
	args  string // of the call; absent: {}
	heavy bool   // it costs the gateway as much memory as one message may
	// gone: until it is mended, the server's other tool does not work either.
	gone bool
	// told: only the word of an admin makes the gateway try again soon.
	told bool
}

// down is a server that does not get ready, for the reason that it says.
func down(says string) faultCase { return faultCase{says: says} }

// fine is a server whose fault does not matter.
func fine() faultCase { return faultCase{act: "ok", text: "acted"} }

// partly is a server that works, with what was left out of its list named.
func partly(says string) faultCase { return faultCase{says: says, act: "ok", text: "acted"} }

// fails is a server of which only the call fails.
func fails(act string) faultCase { return faultCase{act: act} }

// loses is a call that costs the connection, which comes back by itself.
func loses(act, says string) faultCase { return faultCase{act: act, says: says} }

// heavy is c, and costs the gateway as much memory as one message may. On a busy
// machine so much may take longer than its call.
func heavy(c faultCase) faultCase {
	c.heavy = true
	if c.act != "" {
		c.act += "|" + timedOut
	}
	return c
}

const (
	timedOut  = "timeout"
	lostIt    = "transport_error"
	nonsense  = "protocol_error"
	tooLong   = "more than 16777216 bytes (max_message_bytes)"
	forgotten = "no longer knows the session"
)

// faultCases are all faults that there are, by name.
var faultCases = map[string]faultCase{
	"mute":                                      down("no answer to initialize: timeout 4s"),
	"ignores discover":                          fine(),
	"empty answers":                             down("names no protocol version; this does not look like an MCP server"),
	"mirror":                                    down("initialize"),
	"unheard version":                           down("the server speaks MCP 3000-01-01; supported are"),
	"version is a number":                       down("the answer to initialize is malformed"),
	"refuses initialize":                        down("the licence expired on 2026-01-31"),
	"refuses in bad words":                      down("[2Jkaputt AAAA"),
	"refuses tools/list":                        down("the database is locked"),
	"discover is garbage":                       fine(),
	"discover lies":                             {told: true},
	"modern: asks for input for ever":           fails("tool_error|protocol_error"),
	"modern: asks for input of no known kind":   fails("tool_error|protocol_error"),
	"modern: asks for nothing":                  fails("tool_error|protocol_error"),
	"modern: a result of no known type":         fails(nonsense),
	"modern: a task without an end":             fails(timedOut),
	"modern: ends each subscription":            fine(),
	"modern: refuses each subscription":         fine(),
	"modern: floods a subscription":             fine(),
	"modern: refuses the version that it names": down("the server speaks MCP|Unsupported protocol version"),
	"modern: speaks a later revision alone":     down("the server speaks MCP 2031-01-01; supported are"),

	"noise":                    fine(),
	"pauses in a line":         fine(),
	"half a line":              fails(timedOut),
	"huge line":                heavy(fails(lostIt + "|" + nonsense)),
	"huge list":                heavy(down(tooLong + "|tools/list: timeout")),
	"wrong ids":                down("no answer to initialize"),
	"wrong id of a call":       fails(timedOut),
	"ids as text":              fine(),
	"double answers":           fine(),
	"answers nobody asked for": fine(),
	"answers after the end":    fails(timedOut),
	"batches":                  fine(),
	"neither result nor error": fails(nonsense),
	"error is a text":          fails(nonsense),
	"fails for ever":           fails(nonsense),

	"floods stdout":                  {says: "lines that are no messages", told: true},
	"floods notifications":           fine(),
	"floods log messages":            fine(),
	"floods progress":                fine(),
	"floods list_changed":            fine(),
	"floods stderr":                  fine(),
	"one line of stderr without end": fine(),
	"floods requests":                fine(),
	"asks without listening":         {act: timedOut + "|" + lostIt, gone: true}, // it may be given up before the call
	"progresses for ever":            fails(timedOut),
	"huge progress":                  fine(),

	"no such method":             {told: true},
	"no tools member":            down("the answer to tools/list has no tools"),
	"tools is an object":         down("the answer to tools/list is malformed"),
	"repeats a cursor":           partly("tools/list repeats a cursor"),
	"endless pages":              partly("tools/list has more than 100 pages"),
	"endless empty pages":        partly("tools/list has more than 100 pages"),
	"cursor is a number":         partly("tools/list has a cursor that is no string"),
	"too many tools":             partly("tools/list gives more than 1000 tools"),
	"two tools of one name":      partly("echo: there are two of that name"),
	"other tools each time":      fine(),
	"names that steer":           partly("its name has control characters"),
	"vanished tool":              fails("tool_not_found"),
	"tool: no name":              partly("1 malformed tools left out: tool 3: it has no name"),
	"tool: a number for a name":  partly("tool 3: it has no name"),
	"tool: a name without end":   partly("its name is longer than 256 bytes"),
	"tool: true for a schema":    partly("odd: its inputSchema is no object"),
	"tool: a list for a schema":  partly("odd: its inputSchema is no object"),
	"tool: a list of properties": partly("odd: properties in its inputSchema is no object"),
	"tool: required is a text":   partly("odd: required in its inputSchema is no list of names"),
	"tool: a schema for a text":  partly("odd: its inputSchema is not for an object"),
	"tool: a text for a tool":    partly("tool 3: it is no object"),
	"tool: null for a tool":      partly("tool 3: it has no name"),
	"tool: a list for a tool":    partly("tool 3: it is no object"),
	"tools that can be mended":   fine(),

	"deep schema":                fine(),
	"deeper than JSON":           down("tools/list"),
	"wide schema":                fine(),
	"exponential schema":         fine(),
	"circular schema":            fine(),
	"schema elsewhere":           fine(),
	"schema of no known dialect": fine(),

	"result: unknown content":           {act: "ok", text: "hologram"},
	"result: failed without content":    fails("tool_error|protocol_error"),
	"result: failed with empty content": fails("tool_error"),
	"result: nothing at all":            fails(nonsense),
	"result: structured alone":          {act: "ok", text: `{"acted":true}`},
	"result: a text for a result":       fails(nonsense),
	"result: content is a text":         fine(),
	"result: content is null":           fails(nonsense),
	"result: blocks of nonsense":        {act: "ok", text: "not valid base64"},
	"result: bad base64":                {act: "ok", text: "not valid base64"},
	"result: no UTF-8":                  fine(),
	"result: a task nobody asked for":   fails(nonsense + "|" + lostIt + "|tool_not_found"),
	"result: many blocks":               {act: "ok", text: "left out"},
	"result: deep result":               {act: "ok", text: "[[[[["},
	"result: never":                     fails(timedOut),

	"dies at start":                          down("the process ended: exit status 3"),
	"killed at start":                        down("the process ended: signal: killed"),
	"ends at start":                          down("the process ended: exit status 0"),
	"dies when ready":                        {says: "the process ended: exit status 4", gone: true},
	"dies in a call":                         loses(lostIt, "the process ended: exit status 5"),
	"dies in the middle of an answer":        loses(lostIt, "the process ended: exit status 6"),
	"dies after each call":                   {act: "ok", text: "acted", says: "the process ended: exit status 7"},
	"stops reading":                          {act: timedOut, gone: true, args: "long", says: "the server did not read its input for 3s"},
	"closes its input":                       {act: lostIt, says: "the server closed its input", gone: true},
	"closes its output":                      {says: "the server closed its output", gone: true},
	"ignores every wish to leave":            fine(),
	"leaves a child in its group":            fine(),
	"dies and leaves a child":                loses(lostIt, "the process ended: exit status 8"),
	"leaves a child in a session of its own": fine(),

	"http at once: 400":                          down("the moon is not full"),
	"http at once: 401":                          {says: "the server wants a login", told: true},
	"http at once: 403":                          {says: "the server refuses access (403 Forbidden)", told: true},
	"http at once: 404 with a page":              down("there is no MCP server at this path"),
	"http at once: 405":                          down("405"),
	"http at once: 429":                          down("the server asks to wait 2s (429 Too Many Requests)"),
	"http at once: 500":                          down("answers 500 Internal Server Error"),
	"http at once: 502 with a page":              down("answers 502 Bad Gateway, with a web page"),
	"http at once: 503 with a time":              down("the server asks to wait 2s (503 Service Unavailable)"),
	"http at once: 200 with a page":              down("answers with text/html and not with MCP: is the url right?"),
	"http at once: redirect elsewhere":           down("the server redirects to http://127.0.0.1:1"),
	"http at once: redirect to itself":           down("the server redirects"),
	"http at once: closes the connection":        down("closed the connection"),
	"http at a call: 400":                        fails(nonsense),
	"http at a call: 401":                        fails(lostIt),
	"http at a call: 403":                        fails(lostIt),
	"http at a call: 404 with a page":            fails(nonsense),
	"http at a call: 405":                        fails(nonsense),
	"http at a call: 429":                        fails(lostIt),
	"http at a call: 500":                        fails(lostIt),
	"http at a call: 502 with a page":            fails(lostIt),
	"http at a call: 503 with a time":            fails(lostIt),
	"http at a call: 200 with a page":            fails(nonsense),
	"http at a call: redirect elsewhere":         fails(nonsense),
	"http at a call: redirect to itself":         fails(nonsense),
	"http at a call: closes the connection":      fails(lostIt),
	"session ends by 404":                        {act: "ok", text: "acted", says: forgotten},
	"session ends by 400 with words":             {act: "ok", text: "acted", says: forgotten},
	"session ends by -32600":                     {act: "ok", text: "acted", says: forgotten},
	"session ends by -32600 with 200":            {act: "ok", text: "acted", says: forgotten},
	"session ends by -32001 with 404 and a page": {act: "ok", text: "acted", says: forgotten},
	"session id without end":                     down("the server's session id cannot be sent back (102400 bytes)"),

	"gzip bomb":                 heavy(fails(nonsense)),
	"endless body":              heavy(fails(nonsense)),
	"endless refusal":           fails(lostIt),
	"slow headers":              fails(timedOut),
	"slow body":                 fails(timedOut),
	"endless headers":           fails(lostIt),
	"fewer bytes than promised": fails(lostIt),
	"a length without end":      fails(nonsense),
	"plain text":                fails(nonsense),
	"taken, no answer":          fails(nonsense),
	"another's answer":          fails(nonsense),
	"not HTTP":                  down("malformed HTTP response"),

	"stream cut at every byte":             fails(lostIt),
	"comments for ever":                    fails(timedOut),
	"a flood of comments":                  fails(timedOut + "|" + nonsense),
	"an endless event":                     heavy(fails(nonsense)),
	"an event of endless lines":            heavy(fails(nonsense)),
	"events of other kinds":                fine(),
	"a stream that ends without an answer": fails(lostIt),
	"resumes in vain":                      fails(timedOut),
	"floods the listening stream":          fine(),
	"asks on every stream":                 fine(),

	"sse: messages elsewhere":      down("the server wants its messages at http://127.0.0.1:1"),
	"sse: messages nowhere":        down("timeout 4s"),
	"sse: an address that is none": down("does not say where it takes messages"),
	"sse: an address without end":  heavy(down("bytes")),
	"sse: the stream ends":         down("ended the stream"),
	"sse: takes no message":        down("500 Internal Server Error"),
	"sse: never answers a call":    fails(timedOut),
	"sse: ends in a call":          loses(lostIt, "ended the stream"),
	"sse: an endless answer":       heavy(loses(lostIt, tooLong)),
}
