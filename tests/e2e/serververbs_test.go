package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// listed is a server as "servers --json" lists it.
type listed struct {
	Name, State, Login string
	DisabledBy         string `json:"disabled_by"`
	DisabledAt         string `json:"disabled_at"`
	Err                string `json:"last_error"`
	Tools, Restarts    int
}

func (g *gateway) servers() map[string]listed {
	g.t.Helper()
	out, stderr, code := g.CLI("servers", "--json")
	var list []listed
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
		g.t.Fatalf("servers: exit %d, %s%s (%v)", code, out, stderr, err)
	}
	byName := map[string]listed{}
	for _, s := range list {
		byName[s.Name] = s
	}
	return byName
}

// does runs a command and expects an exit code, and words on stdout and stderr together.
func (g *gateway) does(code int, want, command string) {
	g.t.Helper()
	out, stderr, got := g.CLI(strings.Fields(command)...)
	if got != code || !strings.Contains(out+stderr, want) {
		g.t.Errorf("dragoman %s: exit %d, want %d, and %q does not say %q", command, got, code, out+stderr, want)
	}
}

// threeServers are one that works, one that the config disables and one that dies.
func threeServers(t testing.TB, more string) string {
	desk := `{"command": ` + quoted(gatewayBinary(t)) + `, "args": ["desk"]`
	return `{"listen": "${LISTEN}", "models": {"main": {"type": "demo"}}, "channels": {"web": {"type": "web"}}, "tools": {"default": "allow"}, "mcp": {"timeout": "1m"` + more + `},
		"mcp_servers": {"desk": ` + desk + `}, "off": ` + desk + `, "enabled": false}, "ghost": {"command": "sh", "args": ["-c", "echo my last words >&2; exit 3"]}}}`
}

// One server is disabled, enabled and reconnected while its gateway runs, and what
// was said holds over a restart.
func TestAServerIsSwitchedWhileTheGatewayRuns(t *testing.T) {
	t.Parallel()
	g := startGateway(t, threeServers(t, ""))
	g.WaitLine(`mcp_servers_connected.*"ready":1,"failed":1,"idle":0,"disabled":1`, answerWithin)
	if s := g.servers()["off"]; s.State != "disabled" || s.DisabledBy != "config" || s.DisabledAt != "" {
		t.Errorf("a server that the config disables is %+v", s)
	}
	desk := deskOf(t, g)

	g.does(0, "desk is disabled", "servers disable desk")
	if _, now, ok := stat(desk.file); ok && now == desk.started {
		t.Error("the process of the disabled server runs still")
	}
	s := g.servers()["desk"]
	if at, err := time.Parse(time.RFC3339, s.DisabledAt); s.State != "disabled" || s.DisabledBy != "admin" || s.Tools != 0 || err != nil || time.Since(at) > time.Minute {
		t.Errorf("once disabled it is %+v (%v)", s, err)
	}
	g.does(1, `tool_not_found: The server "desk" is disabled.`, `call desk__world_clock {"place":"Tokyo"}`)
	g.does(1, "enable it first", "servers reconnect desk")
	if n := g.phases()["disabled"]; n != 2 {
		t.Errorf("/readyz counts %d disabled servers, want 2", n)
	}
	out, _, _ := g.CLI("tools", "--json")
	if strings.Contains(out, "desk__") {
		t.Errorf("its tools are listed: %s", out)
	}

	g.Restart()
	g.WaitLine(`mcp_servers_connected.*"ready":0,"failed":1,"idle":0,"disabled":2`, answerWithin)
	if again := g.servers()["desk"]; again.State != "disabled" || again.DisabledAt != s.DisabledAt {
		t.Errorf("after a restart it is %+v, want %+v", again, s)
	}
	g.does(0, "desk is enabled and connected: stdio, protocol ", "servers enable desk")
	g.does(0, "JST", `call desk__world_clock {"place":"Tokyo"}`)
	g.does(0, "ghost is enabled, and not connected yet", "servers enable ghost")

	before := deskOf(t, g)
	g.does(0, "desk is connected: stdio, protocol ", "servers reconnect desk")
	if _, now, ok := stat(before.file); ok && now == before.started {
		t.Error("the process from before the reconnect runs still")
	}
	if s := g.servers()["desk"]; s.Restarts != 1 || s.State != "ready" {
		t.Errorf("after the reconnect it is %+v", s)
	}
	g.does(0, "off is enabled and connected", "servers enable off")
	g.does(1, "my last words", "servers reconnect ghost")
	g.does(1, `there is no MCP server "dsek" (did you mean "desk"?)`, "servers reconnect dsek")
	g.does(1, `did you mean "desk"?`, "servers disable dsk")
	g.does(0, `"state": "ready"`, "servers reconnect desk --json")
	g.does(1, `"state": "degraded"`, "servers reconnect ghost --json")

	g.Restart()
	g.WaitLine(`mcp_servers_connected.*"ready":2,"failed":1,"idle":0,"disabled":0`, answerWithin)
	out, _, _ = g.CLI("audit")
	for _, what := range []string{"server_disable", "server_enable", "server_reconnect"} {
		if !strings.Contains(out, what) {
			t.Errorf("the audit does not tell of %s:\n%s", what, out)
		}
	}
	g.Term()
	g.WaitLine(`mcp_servers_disconnected`, answerWithin)
}

type child struct{ file, started string }

// deskOf is the process that runs the desk, while only one server does: the ghost's come and go.
func deskOf(t testing.TB, g *gateway) (desk child) {
	t.Helper()
	eventually(t, answerWithin, "one child stays", func() error {
		first := children(t, g)
		for file, started := range first {
			if strings.Contains(commandLine(file), "desk") {
				desk = child{file, started}
				return nil
			}
		}
		return fmt.Errorf("children: %v", first)
	})
	return desk
}

// commandLine is what a process was started as, by its file stat in /proc.
func commandLine(file string) string {
	b, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(b), "\x00", " ")
}

// phases is how many servers /readyz counts in each phase.
func (g *gateway) phases() map[string]int {
	g.t.Helper()
	resp, err := http.Get(g.URL + "/readyz")
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct{ Servers map[string]int }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || resp.StatusCode != http.StatusOK {
		g.t.Fatalf("/readyz: %d, %v", resp.StatusCode, err)
	}
	return body.Servers
}

// Without a gateway, reconnect connects, and the other two are for the next start.
func TestServersAreSwitchedWithoutAGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), strings.Replace(threeServers(t, ""), "1m", "8s", 1)) // which the ghost is waited for
	g.does(0, "desk is connected: stdio, protocol ", "servers reconnect desk")
	g.does(1, "my last words", "servers reconnect ghost")
	g.does(1, "enable it first", "servers reconnect off")
	g.does(1, `did you mean "desk"?`, "servers reconnect dsek")
	g.does(1, `did you mean "desk"?`, "servers enable dsek")

	g.does(0, "desk is disabled", "servers disable desk")
	g.does(0, "off is enabled: the gateway starts it", "servers enable off")
	s := g.servers()
	if s["desk"].State != "disabled" || s["desk"].DisabledBy != "admin" || s["off"].State != "ready" {
		t.Errorf("without a gateway they are %+v", s)
	}
	g.does(1, `The server "desk" is disabled.`, "call desk__world_clock {}")
	g.Start()
	g.WaitReady()
	g.WaitLine(`mcp_servers_connected.*"ready":1,"failed":1,"idle":0,"disabled":1`, answerWithin)
	if s := g.servers(); s["desk"].State != "disabled" || s["off"].State != "ready" {
		t.Errorf("the gateway has them as %+v", s)
	}
}

func TestNoServerIsStartedWithMCPDisabled(t *testing.T) {
	t.Parallel()
	g := startGateway(t, threeServers(t, `, "enabled": false`))
	for name, s := range g.servers() {
		if s.State != "disabled" || s.DisabledBy != "config" {
			t.Errorf("%s is %+v", name, s)
		}
	}
	if kids := children(t, g); len(kids) != 0 {
		t.Errorf("children: %v", kids)
	}
	g.does(1, `"mcp": {"enabled": false}`, "servers enable desk")
	g.does(0, "disabled by the config", "servers")
	if slices.ContainsFunc(g.proc.Lines(), func(line string) bool { return strings.Contains(line, "mcp_servers_") }) {
		t.Error("the log tells of servers that were connected")
	}
}
