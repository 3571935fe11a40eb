//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// strict is an MCP server of both eras that refuses what the specification lets a
// server refuse, and notes it as a fault of the client.
type strict struct {
	t        *testing.T
	versions []string                 // the revisions that it speaks
	can      string                   // its capabilities
	tools    string                   // of tools/list
	probed   func(c *strictCall) bool // answers server/discover; false: as the versions say
	call     func(c *strictCall)      // tools/call
	read     func(c *strictCall)      // resources/read
	listen   func(c *strictCall)      // subscriptions/listen

	mu     sync.Mutex
	seen   []string // methods, with what they are about
	faults []string
	asked  map[string]inputAnswer // what our requests got
	news   chan struct{}
	tasks  map[string]*strictTask
	conns  map[string]*strictConn // sessions of legacy HTTP
	serial int
}

// inputAnswer is what the client answered to a request of the server.
type inputAnswer struct {
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// strictConn is a process or a session: what the client said of itself in it.
type strictConn struct {
	name    string
	version string // "" before initialize; the latest of a request in the modern era
	ready   bool   // notifications/initialized came
	can     json.RawMessage
	ids     map[string]bool
	running map[string]context.CancelFunc
	out     func(line string) // nil: nobody listens
}

func newStrict(t *testing.T, versions ...string) *strict {
	s := &strict{t: t, versions: versions, can: `{"tools":{}}`, tools: `[{"name":"work","inputSchema":{"type":"object"}}]`,
		asked: map[string]inputAnswer{}, news: make(chan struct{}), tasks: map[string]*strictTask{}, conns: map[string]*strictConn{}}
	s.call = func(c *strictCall) { c.result(`{"content":[{"type":"text","text":"done"}]}`) }
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, f := range s.faults {
			t.Errorf("the client broke the protocol: %s", f)
		}
	})
	return s
}

func newStrictConn(name string) *strictConn {
	return &strictConn{name: name, ids: map[string]bool{}, running: map[string]context.CancelFunc{}}
}

// strictParams are the params of all methods.
type strictParams struct {
	Meta      map[string]json.RawMessage `json:"_meta"`
	Name      string                     `json:"name"`
	URI       string                     `json:"uri"`
	Arguments json.RawMessage            `json:"arguments"`
	Task      json.RawMessage            `json:"task"`
	TaskID    string                     `json:"taskId"`
	Version   string                     `json:"protocolVersion"`
	Can       json.RawMessage            `json:"capabilities"`
	Level     string                     `json:"level"`
	RequestID json.RawMessage            `json:"requestId"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
	State     *string                    `json:"requestState"`
	Wanted    map[string]bool            `json:"notifications"`
}

// strictCall is one request of the client.
type strictCall struct {
	*strict
	conn   *strictConn
	ctx    context.Context // ends when the client gives the request up
	m      incoming
	p      strictParams
	modern bool
	out    func(line string) // on the stream of the request
}

func (c *strictCall) result(result string) {
	if c.modern && !strings.Contains(result, `"resultType"`) {
		result = `{"resultType":"complete",` + strings.TrimPrefix(result, "{")
	}
	c.out(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.m.ID, strings.ReplaceAll(result, ",}", "}")))
}

func (c *strictCall) refuse(code int, message, data string) {
	if data == "" {
		data = "null"
	}
	c.out(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}`, c.m.ID, code, message, data))
}

func (c *strictCall) notify(method, params string) {
	c.out(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// fault is something that the client may not do.
func (c *strictCall) fault(format string, args ...any) {
	what := c.m.Method + ": " + fmt.Sprintf(format, args...)
	c.note(func() { c.faults = append(c.faults, what) })
	c.refuse(-32600, what, "")
}

// ask sends a request to the client and waits for its answer.
func (c *strictCall) ask(method, params string, over func(string)) inputAnswer {
	c.mu.Lock()
	c.serial++
	id := fmt.Sprintf(`"ask-%d"`, c.serial)
	c.mu.Unlock()
	over(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	var got inputAnswer
	c.until(c.ctx, func() (ok bool) { got, ok = c.asked[id]; return ok })
	return got
}

// note changes what is known, and tells those who wait.
func (s *strict) note(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	close(s.news)
	s.news = make(chan struct{})
}

// until waits until something is so, which is asked under the lock. It is false if ctx ended before.
func (s *strict) until(ctx context.Context, so func() bool) bool {
	for {
		s.mu.Lock()
		ok, news := so(), s.news
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-news:
		case <-ctx.Done():
			return false
		}
	}
}

// requests are the methods that came, those that begin with a prefix.
func (s *strict) requests(prefixes ...string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, m := range s.seen {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(m, p) }) {
			list = append(list, m)
		}
	}
	return list
}

// awaitSeen waits until a request came so often.
func (s *strict) awaitSeen(what string, times int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the server saw %s %d times", what, times), func() bool { return len(s.requests(what)) >= times })
}

// take serves one message of the client; it returns when that is answered.
func (s *strict) take(ctx context.Context, conn *strictConn, m incoming, out func(string)) {
	if m.Method == "" {
		s.note(func() { s.asked[string(m.ID)] = inputAnswer{m.Result, m.Error} })
		return
	}
	c := &strictCall{strict: s, conn: conn, m: m, out: out}
	if len(m.Params) > 0 && json.Unmarshal(m.Params, &c.p) != nil {
		c.fault("the params are malformed: %s", m.Params)
		return
	}
	s.note(func() {
		s.seen = append(s.seen, strings.TrimSpace(m.Method+" "+first(c.p.Name, c.p.TaskID, c.p.Level)))
	})
	if len(m.ID) == 0 {
		c.notified()
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.ctx = ctx
	s.mu.Lock()
	again := conn.ids[string(m.ID)]
	conn.ids[string(m.ID)] = true
	conn.running[string(m.ID)] = cancel
	s.mu.Unlock()
	if again {
		c.fault("the id %s was used before", m.ID)
		return
	}
	c.serve()
	if context.Cause(ctx) != nil {
		s.note(func() { s.seen = append(s.seen, "gave up "+m.Method) })
	}
}

func (c *strictCall) notified() {
	switch c.m.Method {
	case "notifications/initialized":
		c.mu.Lock()
		c.conn.ready = true
		c.mu.Unlock()
	case "notifications/cancelled":
		c.mu.Lock()
		cancel := c.conn.running[string(c.p.RequestID)]
		c.mu.Unlock()
		if cancel == nil {
			c.note(func() { c.faults = append(c.faults, "cancels a request that is not known") })
			return
		}
		cancel()
	}
}

// serve answers a request.
func (c *strictCall) serve() {
	if c.p.Meta[metaVersion] != nil || c.m.Method == methodDiscover {
		c.modern = c.isModern()
		if !c.modern {
			return
		}
	} else if !c.isLegacy() {
		return
	}
	switch c.m.Method {
	case methodDiscover:
		versions, _ := json.Marshal(c.versions)
		c.result(fmt.Sprintf(`{"supportedVersions":%s,"capabilities":%s,"_meta":{%q:{"name":"strict","version":"1"}},"ttlMs":0,"cacheScope":"private"}`, versions, c.can, metaServer))
	case "tools/list":
		c.result(`{"tools":` + c.strict.tools + `}`)
	case methodCall:
		c.strict.call(c)
	case methodRead:
		if c.strict.read == nil {
			c.refuse(-32601, "Method not found", "")
			return
		}
		c.strict.read(c)
	case methodListen:
		if c.strict.listen == nil || !c.modern {
			c.refuse(-32601, "Method not found", "")
			return
		}
		c.strict.listen(c)
	case "tasks/get", "tasks/update", "tasks/cancel", "tasks/result":
		c.task()
	case "ping", "logging/setLevel":
		if c.modern {
			c.fault("it is of the legacy era")
			return
		}
		c.result(`{}`)
	default:
		c.refuse(-32601, "Method not found", "")
	}
}

// isModern checks what each request has to carry since 2026-07-28.
func (c *strictCall) isModern() bool {
	version := text(c.p.Meta[metaVersion])
	c.mu.Lock()
	c.conn.version, c.conn.can = version, c.p.Meta[metaCapabilities]
	c.mu.Unlock()
	switch {
	case c.m.Method == methodDiscover && c.probed != nil && c.probed(c):
		return false
	case !slices.ContainsFunc(c.versions, func(v string) bool { return slices.Contains(modernVersions(), v) || v > newestModern }):
		c.refuse(-32601, "Method not found", "") // it is of the legacy era
		return false
	case !slices.Contains(c.versions, version):
		list, _ := json.Marshal(c.versions)
		c.refuse(codeUnsupportedVersion, "Unsupported protocol version", fmt.Sprintf(`{"supported":%s,"requested":%q}`, list, version))
		return false
	case !isObject(c.p.Meta[metaClient]) || !isObject(c.p.Meta[metaCapabilities]):
		c.fault("_meta says neither who asks nor what it can: %v", c.p.Meta)
		return false
	}
	return true
}

// isLegacy checks the handshake.
func (c *strictCall) isLegacy() bool {
	legacy := slices.ContainsFunc(c.versions, func(v string) bool { return slices.Contains(legacyVersions(), v) })
	c.mu.Lock()
	ready, begun := c.conn.ready, c.conn.version != ""
	c.mu.Unlock()
	switch {
	case !legacy:
		c.refuse(-32601, "initialize is unknown; supported: "+strings.Join(c.versions, ", "), "")
	case c.m.Method == "initialize" && begun && ready:
		c.fault("a second handshake")
	case c.m.Method == "initialize":
		c.initialize()
	case c.m.Method != "ping" && !ready:
		c.fault("it came before notifications/initialized")
	default:
		return true
	}
	return false
}

func (c *strictCall) initialize() {
	version := c.p.Version
	if !slices.Contains(c.versions, version) {
		version = slices.DeleteFunc(slices.Clone(c.versions), func(v string) bool { return !slices.Contains(legacyVersions(), v) })[0]
	}
	c.mu.Lock()
	c.conn.version, c.conn.can = version, c.p.Can
	c.mu.Unlock()
	c.result(fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"strict","version":"1"}}`, version, c.can))
}
