//go:build unix

package mcp

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"dragoman/ports"
)

// TestWhatIsDeclaredIsServed: and nothing else, in both eras.
func TestWhatIsDeclaredIsServed(t *testing.T) {
	for _, version := range []string{newestLegacy, newestModern} {
		for _, asks := range []bool{false, true} {
			for _, roots := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s asks %v roots %v", version, asks, roots), func(t *testing.T) {
					t.Parallel()
					s := newStrict(t, version)
					got := map[string]inputAnswer{}
					s.call = func(c *strictCall) {
						for _, method := range []string{methodElicit, methodRoots, "sampling/createMessage", "tools/list", "ping"} {
							if !c.modern {
								got[method] = c.ask(method, nameForm, c.out)
							}
						}
						c.result(doneText)
					}
					r := s.running("http", Deps{Asks: asks}, func(c *Config) {
						if roots {
							c.Roots = []string{"file:///a"}
						}
					})
					if _, err := r.tool("work").Call(t.Context(), keyed("k"), filling(map[string]string{"name": "Ann"})); err != nil {
						t.Fatal(err)
					}
					s.wantDeclared(asks, roots)
					served := map[string]bool{methodElicit: asks, methodRoots: roots, "ping": true}
					for method, answer := range got {
						if refused := strings.Contains(string(answer.Error), "-32601"); refused == served[method] || refused == (len(answer.Result) > 0) {
							t.Errorf("%s gives %s %s", method, answer.Result, answer.Error)
						}
					}
				})
			}
		}
	}
}

// wantDeclared compares what the client said that it can.
func (s *strict) wantDeclared(asks, roots bool) {
	s.t.Helper()
	want := map[string]any{}
	if asks {
		want["elicitation"] = map[string]any{"form": map[string]any{}}
	}
	if roots {
		want["roots"] = map[string]any{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, peer := range s.conns {
		delete(want, "extensions")
		if strings.HasPrefix(name, "modern") {
			want["extensions"] = map[string]any{extensionTasks: map[string]any{}}
		}
		var can map[string]any
		if err := json.Unmarshal(peer.can, &can); err != nil || !reflect.DeepEqual(can, want) {
			s.t.Errorf("in %q it says that it can %s, want %v", name, peer.can, want)
		}
	}
}

// strictTools makes the server's only tool one of this name. mu is held.
func (s *strict) strictTools(name string) {
	s.tools = fmt.Sprintf(`[{"name":%q,"inputSchema":{"type":"object"}}]`, name)
}

// TestAServersLogIsHeard: with its levels, without the config's secrets, and not more
// of it than somebody may want to read.
func TestAServersLogIsHeard(t *testing.T) {
	const token = "sk-very-secret-token"
	for _, version := range []string{newestLegacy, newestModern} {
		t.Run(version, func(t *testing.T) {
			s := newStrict(t, version)
			s.can = `{"tools":{},"logging":{}}`
			s.call = func(c *strictCall) {
				for _, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
					c.notify("notifications/message", fmt.Sprintf(`{"level":%q,"logger":"db %s","data":"%s: the token is %s"}`, level, token, level, token))
				}
				c.notify("notifications/message", `{"level":"info","data":{"open":7}}`)
				for range 1000 {
					c.notify("notifications/message", `{"level":"info","data":"flood"}`)
				}
				c.result(doneText)
			}
			log := new(journal)
			r := s.running("http", Deps{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, func(c *Config) {
				c.Headers = map[string]ports.Secret{"Authorization": "Bearer " + token}
			})
			call := keyed("k")
			call.Turn = "t/1/2"
			if _, err := r.tool("work").Call(t.Context(), call, nil); err != nil {
				t.Fatal(err)
			}
			text := log.all()
			for _, line := range []string{"level=DEBUG msg=mcp_server_log text=\"debug:", "level=INFO msg=mcp_server_log text=\"info:", "level=INFO msg=mcp_server_log text=\"notice:",
				"level=WARN msg=mcp_server_log text=\"warning:", "level=ERROR msg=mcp_server_log text=\"error:", "level=ERROR msg=mcp_server_log text=\"emergency:", `text="{\"open\":7}"`} {
				if !strings.Contains(text, line) {
					t.Errorf("the log has no %q", line)
				}
			}
			if n := strings.Count(text, "mcp_server_log"); n < logsBurst || n > logsBurst+10*logsPerSecond || strings.Contains(text, token) {
				t.Errorf("%d lines of the server's, the token among them: %v", n, strings.Contains(text, token))
			}
			if n := len(s.requests("logging/setLevel info")); version == newestLegacy && n != 1 || version == newestModern && n != 0 {
				t.Errorf("the level was asked for %d times", n)
			}
		})
	}
}

// TestCallsAreLogged: with the tool and the turn, whatever comes of them.
func TestCallsAreLogged(t *testing.T) {
	s := newStrict(t, newestLegacy)
	log := new(journal)
	r := s.running("http", Deps{Log: slog.New(slog.NewTextHandler(log, nil))})
	call := keyed("k")
	call.Turn = "telegram/7/2"
	for _, answer := range []func(*strictCall){
		func(c *strictCall) { c.result(doneText) },
		func(c *strictCall) { c.result(`{"isError":true,"content":[]}`) },
		func(c *strictCall) { c.refuse(-32603, "no luck", "") },
	} {
		s.call = answer
		_, _ = r.tool("work").Call(t.Context(), call, nil)
	}
	for what, times := range map[string]int{"mcp_tool_call_started tool=work turn=telegram/7/2": 3, "mcp_tool_call_completed tool=work turn=telegram/7/2": 2,
		"mcp_tool_call_failed tool=work turn=telegram/7/2": 1, "status=failed": 1, "kind=protocol": 1} {
		if n := strings.Count(log.all(), what); n != times {
			t.Errorf("%q is in the log %d times, want %d:\n%s", what, n, times, log.all())
		}
	}
}

// all is what was logged so far.
func (j *journal) all() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
