package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"dragoman/tests/fake/telegram"
)

// taskServer speaks MCP 2026-07-28 over HTTP. Its one tool runs as a task
// (SEP-2663), which is done when the test says so.
type taskServer struct {
	mu    sync.Mutex
	seen  map[string]int // methods
	ended bool
}

func (s *taskServer) times(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[method]
}

func (s *taskServer) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

func (s *taskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			TaskID string `json:"taskId"`
		} `json:"params"`
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || r.Header.Get("Mcp-Method") != m.Method {
		http.Error(w, "what is this?", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.seen[m.Method]++
	ended := s.ended
	s.mu.Unlock()
	const times = `"createdAt":"2026-11-21T10:00:00Z","lastUpdatedAt":"2026-11-21T10:00:00Z","ttlMs":null,"pollIntervalMs":100`
	body := `"error":{"code":-32601,"message":"Method not found"}`
	switch {
	case m.Method == "server/discover":
		body = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}`
	case m.Method == "tools/list":
		body = `"result":{"resultType":"complete","tools":[{"name":"work","description":"Does the work.","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`
	case m.Method == "tools/call":
		body = `"result":{"resultType":"task","taskId":"job-1","status":"working",` + times + `}`
	case m.Method == "tasks/get" && m.Params.TaskID == "job-1" && ended:
		body = `"result":{"resultType":"complete","taskId":"job-1","status":"completed",` + times + `,"result":{"content":[{"type":"text","text":"the work is done"}]}}`
	case m.Method == "tasks/get" && m.Params.TaskID == "job-1":
		body = `"result":{"resultType":"complete","taskId":"job-1","status":"working",` + times + `}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)
}

// A call that its server runs as a task survives the gateway: killed or stopped,
// the next life gives the answer, and the server is asked to do it once.
func TestATaskSurvivesTheGateway(t *testing.T) {
	for name, leave := range map[string]func(*gateway){
		"killed":  func(g *gateway) { g.Kill(); g.Start(); g.WaitReady() },
		"stopped": func(g *gateway) { g.Restart() },
	} {
		t.Run(name, func(t *testing.T) {
			s := &taskServer{seen: map[string]int{}}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			tg := telegram.New(telegram.Options{})
			t.Cleanup(tg.Close)
			g := startGateway(t, `{"listen": "${LISTEN}", "access": {"mode": "open"}, "tools": {"default": "allow"}, "limits": {"drain_timeout": "1s"},
				"models": {"main": {"type": "demo"}}, "mcp_servers": {"jobs": {"url": `+quoted(server.URL)+`}},
				"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}}}`)
			ann := tg.User(7001, "Ann")
			ann.Say("call jobs__work {}")
			looks := func(n int) func() error {
				return func() error {
					if got := s.times("tasks/get"); got < n {
						return fmt.Errorf("it was looked at %d times", got)
					}
					return nil
				}
			}
			eventually(t, answerWithin, "the task is followed", looks(2))
			leave(g)
			eventually(t, answerWithin, "the task is followed again", looks(s.times("tasks/get")+1))
			s.end()
			eventually(t, answerWithin, "the answer is there", func() error {
				sent := tg.Sent(ann.ID())
				if len(sent) == 0 || !strings.Contains(sent[len(sent)-1].Text, "the work is done") {
					return fmt.Errorf("the chat shows %+v", sent)
				}
				return nil
			})
			eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(g.Dir) })
			if calls, stops := s.times("tools/call"), s.times("tasks/cancel"); calls != 1 || stops != 0 {
				t.Errorf("the server saw %d calls and was asked %d times to stop", calls, stops)
			}
		})
	}
}
