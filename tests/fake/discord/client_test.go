package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

// TestMain lets what has ended leave, before it is held to have left nothing.
func TestMain(m *testing.M) {
	code := m.Run()
	for end := time.Now().Add(30 * time.Second); code == 0 && time.Now().Before(end); {
		if goleak.Find() == nil { // which waits for half a second
			break
		}
	}
	goleak.VerifyTestMain(ended(code))
}

// ended is how the tests went.
type ended int

func (e ended) Run() int { return int(e) }

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s := New(o)
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s
}

// got is an answer as a client sees it.
type got struct {
	status int
	header http.Header
	body   []byte
	Code   int    `json:"code"`
	ID     string `json:"id"`
}

// is says whether the answer is an error with this status and code.
func (g got) is(status, code int) bool { return g.status == status && g.Code == code }

// fault says whether the answer is a 50035 that blames a field, by its path, with a code.
func (g got) fault(path, code string) bool {
	var at struct {
		Errors map[string]any `json:"errors"`
	}
	if !g.is(http.StatusBadRequest, 50035) || json.Unmarshal(g.body, &at) != nil {
		return false
	}
	var here any = at.Errors
	for p := range strings.SplitSeq(path, ".") {
		in, _ := here.(map[string]any)
		here = in[p]
	}
	in, _ := here.(map[string]any)
	list, _ := json.Marshal(in["_errors"])
	return strings.Contains(string(list), `"`+code+`"`)
}

func (g got) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(g.body, v); err != nil {
		t.Fatalf("%d %s: %v", g.status, g.body, err)
	}
}

// ask makes one request with the bot's token and, if body is not "", JSON.
func ask(t *testing.T, s *Server, method, path, body string) got {
	t.Helper()
	return send(t, s, method, path, "application/json", []byte(body))
}

func send(t *testing.T, s *Server, method, path, kind string, body []byte) got {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/api/v10"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "DiscordBot (https://example.org, 1)")
	req.Header.Set("Authorization", "Bot "+s.Token())
	if len(body) > 0 {
		req.Header.Set("Content-Type", kind)
	}
	return do(t, req)
}

func do(t *testing.T, req *http.Request) got {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	a := got{status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(a.body, []byte("{")) {
		_ = json.Unmarshal(a.body, &a) // of what is no error nor has an id nothing is read
	}
	return a
}

// socket is a client of the gateway that does no more than it is told.
type socket struct {
	t  *testing.T
	ws *websocket.Conn
}

// event is what came over it.
type event struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int            `json:"s"`
	Type string          `json:"t"`
}

// dial connects and reads the hello.
func dial(t *testing.T, s *Server) *socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, s.gatewayURL()+"/?v=10&encoding=json", nil)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = ws.CloseNow() })
	c := &socket{t, ws}
	if hello := c.next(); hello.Op != opHello || !strings.Contains(string(hello.Data), "heartbeat_interval") {
		t.Fatalf("hello came as %+v", hello)
	}
	return c
}

// enter identifies with intents and reads READY and the guilds. It returns the session's id.
func (c *socket) enter(s *Server, intents int) string {
	c.t.Helper()
	c.say(opIdentify, map[string]any{"token": s.Token(), "intents": intents, "properties": map[string]string{"os": "linux"}})
	e := c.next()
	var ready struct {
		Session string `json:"session_id"`
		Guilds  []any  `json:"guilds"`
	}
	if e.Type != "READY" || json.Unmarshal(e.Data, &ready) != nil || ready.Session == "" {
		c.t.Fatalf("READY came as %+v", e)
	}
	if intents&intentGuilds == 0 {
		return ready.Session
	}
	for range ready.Guilds {
		if e := c.next(); e.Type != "GUILD_CREATE" {
			c.t.Fatalf("a guild came as %+v", e)
		}
	}
	return ready.Session
}

func (c *socket) say(op int, data any) {
	c.t.Helper()
	if err := c.ws.Write(c.t.Context(), websocket.MessageText, encode(map[string]any{"op": op, "d": data})); err != nil {
		c.t.Fatal(err)
	}
}

func (c *socket) read() (event, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	_, data, err := c.ws.Read(ctx)
	if err != nil {
		return event{}, err
	}
	var e event
	return e, json.Unmarshal(data, &e)
}

func (c *socket) next() event {
	c.t.Helper()
	e, err := c.read()
	if err != nil {
		c.t.Fatal("the gateway said no more: ", err)
	}
	return e
}

// closed reads until the connection ends, and gives its code; -1 if there is none.
func (c *socket) closed() int {
	c.t.Helper()
	for {
		if _, err := c.read(); err != nil {
			return int(websocket.CloseStatus(err))
		}
	}
}

// message reads the next event, which must be a message of this kind.
func (c *socket) message(kind string) message {
	c.t.Helper()
	e := c.next()
	var m message
	if e.Type != kind || json.Unmarshal(e.Data, &m) != nil {
		c.t.Fatalf("a %s came as %+v %s", kind, e, e.Data)
	}
	return m
}

// usual are the intents of a bot that reads along.
const usual = intentGuilds | intentGuildMessages | intentDirectMessages | intentMessageContent
