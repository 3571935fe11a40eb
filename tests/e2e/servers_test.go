package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// Five servers, four of them bad in their own way: the gateway is ready at once,
// the good one works, and nothing is left of any of them.
func TestABadServerHarmsOnlyItself(t *testing.T) {
	measured(t)
	files := notes(t, "the password is swordfish-4711\n")
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	mock := startAimock(t,
		wants("read notes.txt", "files__read_text_file", map[string]any{"path": filepath.Join(files, "notes.txt")}),
		seen("read notes.txt", "swordfish-4711", "It says: swordfish-4711"))
	good := nodePackage(t, "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	g := newGateway(t, gatewayBinary(t), `{"listen": "${LISTEN}", "access": {"mode": "open"},
		"models": {"main": {"type": "openai", "base_url": `+quoted(mock.URL+"/v1")+`, "model": "m"}},
		"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}},
		"tools": {"default": "allow"},
		"mcp": {"timeout": "4s"},
		"mcp_servers": {
			"files":   {"command": `+quoted(node(t))+`, "args": [`+quoted(good)+`, `+quoted(files)+`]},
			"nowhere": {"command": "there-is-no-such-command"},
			"mute":    {"command": "sh", "args": ["-c", "exec sleep 600"]},
			"garbage": {"command": "sh", "args": ["-c", "while :; do echo '<html>this is no JSON</html>'; sleep 0.01; done"]},
			"mortal":  {"command": `+quoted(node(t))+`, "args": ["-e", `+quoted(mortal)+`]}
		}}`)
	began := time.Now()
	g.Start()
	g.WaitReady()
	ready := time.Since(began)
	t.Logf("ready after %s", ready)
	if ready > time.Second && !raceEnabled() {
		t.Errorf("ready after %s, want at most 1s", ready)
	}
	eventually(t, answerWithin, "the good server is there", func() error { // on a busy machine Node takes a while
		out, _, _ := g.CLI("tools", "--json", "files__read_text_file")
		if !strings.Contains(out, `"ready"`) {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	ann := tg.User(1001, "Ann")
	ann.Say("read notes.txt")
	if got := answers(t, tg, ann, 1)[0].Text; got != "It says: swordfish-4711" {
		t.Errorf("the answer is %q", got)
	}

	for i, want := range []string{`"ok"`, `"ok"`, `"transport_error"`} {
		var out string
		eventually(t, answerWithin, "the mortal server's call "+strconv.Itoa(i+1), func() error {
			out, _, _ = g.CLI("call", "--json", "mortal__hello")
			if strings.Contains(out, "tool_not_found") {
				return fmt.Errorf("not there yet: %s", out)
			}
			return nil
		})
		if !strings.Contains(out, want) {
			t.Errorf("call %d of the mortal server: %s, want %s", i+1, out, want)
		}
	}
	ann.Say("please read notes.txt again")
	answers(t, tg, ann, 2)
	if status, err := g.status("/readyz"); err != nil || status != http.StatusOK {
		t.Errorf("/readyz: %d (%v)", status, err)
	}

	if n := len(children(t, g)); n == 0 {
		t.Error("no child was found while the gateway runs: this test looks in the wrong place")
	}
	before := children(t, g)
	g.Kill()
	gone(t, "after kill -9", before)
	g.Start()
	g.WaitReady()
	eventually(t, answerWithin, "the servers are started again", func() error {
		if len(children(t, g)) == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
	before = children(t, g)
	g.Term()
	gone(t, "after the stop", before)
}

// mortal is an MCP server that dies after two calls.
const mortal = `
let calls = 0, text = "";
const send = (id, result) => process.stdout.write(JSON.stringify({jsonrpc: "2.0", id, result}) + "\n");
process.stdin.on("data", d => {
  text += d;
  for (let i; (i = text.indexOf("\n")) >= 0; text = text.slice(i + 1)) {
    const m = JSON.parse(text.slice(0, i));
    if (m.method === "initialize") send(m.id, {protocolVersion: m.params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: "mortal", version: "1"}});
    if (m.method === "tools/list") send(m.id, {tools: [{name: "hello", inputSchema: {type: "object"}}]});
    if (m.method === "tools/call") {
      if (++calls > 2) process.exit(1);
      send(m.id, {content: [{type: "text", text: "hello " + calls}]});
    }
  }
});
process.stdin.on("end", () => process.exit(0));
`

// children are the direct children of the gateway's process, by pid, with their
// start times: a pid alone may be used again.
func children(t testing.TB, g *gateway) map[string]string {
	t.Helper()
	found := map[string]string{}
	pids, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range pids {
		parent, started, ok := stat(file)
		if ok && parent == strconv.Itoa(g.proc.cmd.Process.Pid) {
			found[file] = started
		}
	}
	return found
}

// stat reads a process's parent and start time.
func stat(file string) (parent, started string, ok bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", "", false
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return fields[1], fields[19], fields[0] != "Z"
}

func gone(t testing.TB, when string, before map[string]string) {
	t.Helper()
	eventually(t, answerWithin, "no direct child is left "+when, func() error {
		for file, started := range before {
			if _, now, ok := stat(file); ok && now == started {
				return fmt.Errorf("%s is alive", filepath.Dir(file))
			}
		}
		return nil
	})
}

func TestCallAndToolsWithoutAGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), embeddedDefault)
	out, stderr, code := g.CLI("call", "--json", "desk__world_clock", `{"place":"Tokyo"}`)
	var report struct {
		Server, Tool, Outcome, Text string
		Content                     []json.RawMessage
		IsError                     *bool `json:"is_error"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || report.Server != "desk" || report.Tool != "world_clock" ||
		report.Outcome != "ok" || !strings.Contains(report.Text, "JST") || len(report.Content) != 1 || report.IsError == nil || *report.IsError {
		t.Errorf("call: exit %d, %s%s (%v)", code, out, stderr, err)
	}
	if out, stderr, code := g.CLI("call", "desk__nothing"); code != 1 || !strings.Contains(stderr, "tool_not_found") {
		t.Errorf("an unknown tool: exit %d, %s%s", code, out, stderr)
	}
	if out, stderr, code := g.CLI("call", "desk__world_clock", `{"place":7}`); code != 1 || !strings.Contains(stderr, "invalid_params") {
		t.Errorf("bad arguments: exit %d, %s%s", code, out, stderr)
	}
	if _, stderr, code := g.CLI("call", "desk__world_clock", `{"place":`); code != 2 || !strings.Contains(stderr, "not valid JSON") {
		t.Errorf("arguments that are no JSON: exit %d, %s", code, stderr)
	}
	out, stderr, code = g.CLI("tools", "--json")
	var tools []struct {
		Name, Server, Tool, Policy, State string
		InputSchema                       json.RawMessage `json:"input_schema"`
	}
	if err := json.Unmarshal([]byte(out), &tools); err != nil || code != 0 || len(tools) < 4 {
		t.Fatalf("tools: exit %d, %s%s (%v)", code, out, stderr, err)
	}
	for _, tool := range tools {
		if tool.Policy != "allow" || tool.State != "ready" || !json.Valid(tool.InputSchema) {
			t.Errorf("tool %+v", tool)
		}
	}
}

// A command without a gateway leaves nothing behind, does not mind another one,
// and says which server is missing and why.
func TestACommandWithoutAGatewayIsAGoodGuest(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), `{"mcpServers": {"typo": {"command": "there-is-no-such-command"}, "dies": {"command": "sh", "args": ["-c", "echo my last words >&2; exit 3"]}}}`)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			out, stderr, code := g.CLI("tools")
			for _, want := range []string{`server typo is not connected: `, "there-is-no-such-command", "server dies is not connected", "my last words"} {
				if code != 0 || !strings.Contains(stderr, want) {
					t.Errorf("tools: exit %d, %s%s does not say %q", code, out, stderr, want)
				}
			}
		})
	}
	both.Wait()
	if _, stderr, code := g.CLI("call", "typo__x"); code != 1 || !strings.Contains(stderr, "transport_error") {
		t.Errorf("call of a server that is not there: exit %d, %s", code, stderr)
	}
	if _, stderr, code := g.CLI("call", "typo__x", "--timeout", "-5s"); code != 2 {
		t.Errorf("a negative timeout: exit %d, %s", code, stderr)
	}
	for _, dir := range []string{"dragoman-data", "tmp/*"} { // tmp is the process's TMPDIR
		if left, err := filepath.Glob(filepath.Join(g.Dir, dir)); err != nil || len(left) > 0 {
			t.Errorf("it leaves %q behind (%v)", left, err)
		}
	}
}

func TestAChannelThatCannotBeReachedIsDegraded(t *testing.T) {
	t.Parallel()
	g := startGateway(t, `{"listen": "${LISTEN}", "models": {"main": {"type": "demo"}},
		"channels": {"tg": {"type": "telegram", "token": "123:abc", "api_url": "http://`+freeAddress(t)+`"}}}`)
	eventually(t, answerWithin, "/readyz names it", func() error {
		resp, err := http.Get(g.URL + "/readyz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"state":"degraded","error":"the platform cannot be reached"`)) {
			err = fmt.Errorf("%d %s", resp.StatusCode, body)
		}
		return err
	})
}

func TestASecondGatewayIsRefused(t *testing.T) {
	t.Parallel()
	config := `{"listen": "", "models": {"main": {"type": "demo"}}, "channels": {}}`
	g := newGateway(t, gatewayBinary(t), config)
	g.Start()
	g.WaitLine("channel_running|gateway|Dragoman", answerWithin)
	eventually(t, answerWithin, "the second one is refused", func() error {
		_, stderr, code := g.CLI("run")
		if code != 1 || !strings.Contains(stderr, "another dragoman") || !strings.Contains(stderr, "dragoman-data") {
			return fmt.Errorf("exit %d, %s", code, stderr)
		}
		return nil
	})
}
