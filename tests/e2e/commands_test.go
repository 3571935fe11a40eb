package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// deskAndGhost are a server that works, with a policy of each kind, and one that
// dies in colour.
func deskAndGhost(t testing.TB) string {
	return `{"listen": "${LISTEN}", "models": {"main": {"type": "demo"}}, "mcp": {"timeout": "5s"}, "mcp_servers": {
		"desk":  {"command": ` + quoted(gatewayBinary(t)) + `, "args": ["desk"], "timeout": "1m"},
		"ghost": {"command": "sh", "args": ["-c", "printf '\\033[31mred \\033]0;title\\007alert\\r\\n' >&2; for i in 1 2 3 4 5 6 7 8 9; do printf 'a word that is said again and again, ' >&2; done; exit 3"]}},
		"tools": {"policy": {"desk__world_clock": "allow", "desk__roll_dice": "deny"}}}`
}

// eachWay runs a test without a gateway and with one: a command's answer has the
// same form either way.
func eachWay(t *testing.T, config string, test func(t *testing.T, g *gateway)) {
	t.Run("without a gateway", func(t *testing.T) {
		t.Parallel()
		test(t, newGateway(t, gatewayBinary(t), config))
	})
	t.Run("with a gateway", func(t *testing.T) {
		t.Parallel()
		g := startGateway(t, config)
		eventually(t, answerWithin, "the servers have settled", func() error {
			out, _, _ := g.CLI("servers", "--json")
			if !strings.Contains(out, `"ready"`) || strings.Contains(out, `"connecting"`) {
				return fmt.Errorf("%s", out)
			}
			return nil
		})
		test(t, g)
	})
}

// keysOf are the keys of a JSON object, each with the kind of its value.
func keysOf(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		words = append(words, key+":"+kindOf(object[key]))
	}
	return strings.Join(words, " ")
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case string:
		return "text"
	case float64:
		return "number"
	case []any:
		return "list"
	default:
		return "object"
	}
}

func listOf(t testing.TB, out string) []json.RawMessage {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return list
}

func TestServersAreListed(t *testing.T) {
	t.Parallel()
	eachWay(t, deskAndGhost(t), func(t *testing.T, g *gateway) {
		out, stderr, code := g.CLI("servers", "--json")
		if code != 0 || stderr != "" {
			t.Fatalf("exit %d, %s", code, stderr)
		}
		list := listOf(t, out)
		want := "connections:number disabled_at:text disabled_by:text last_error:text login:text name:text peer:text protocol_version:text restarts:number retry_in:text state:text stderr:list tools:number transport:text"
		for _, one := range list {
			if got := keysOf(t, one); got != want {
				t.Errorf("a server has\n%s, want\n%s", got, want)
			}
		}
		var servers []struct {
			Name, State, Transport string
			Protocol               string `json:"protocol_version"`
			Err                    string `json:"last_error"`
			Tools                  int
			Stderr                 []string
		}
		if err := json.Unmarshal([]byte(out), &servers); err != nil || len(servers) != 2 {
			t.Fatalf("%v: %s", err, out)
		}
		desk, ghost := servers[0], servers[1]
		if desk.Name != "desk" || desk.State != "ready" || desk.Transport != "stdio" || desk.Protocol == "" || desk.Tools != 3 || desk.Err != "" {
			t.Errorf("desk is %+v", desk)
		}
		if ghost.Name != "ghost" || ghost.State == "ready" || ghost.Transport != "stdio" || ghost.Tools != 0 || ghost.Err == "" || len(ghost.Stderr) == 0 {
			t.Errorf("ghost is %+v", ghost)
		}

		out, stderr, code = g.CLI("servers")
		if code != 0 || stderr != "" {
			t.Fatalf("exit %d, %s", code, stderr)
		}
		for _, want := range []string{"SERVER", "desk ", "ready", "ghost ", "last error: ", "stderr: ", "red ", "said again and again"} {
			if !strings.Contains(out, want) {
				t.Errorf("the listing does not say %q:\n%s", want, out)
			}
		}
		for line := range strings.Lines(out) {
			if utf8.RuneCountInString(line) > 101 {
				t.Errorf("a line is %d columns wide: %s", utf8.RuneCountInString(line), line)
			}
		}
		if i := strings.IndexFunc(out, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
			t.Errorf("what steers a terminal is in %q", out)
		}
	})
}

func TestNoServersAreSaidInWords(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), `{"mcp_servers": {}}`)
	if out, _, code := g.CLI("servers"); code != 0 || !strings.Contains(out, "There is no MCP server") {
		t.Errorf("exit %d, %s", code, out)
	}
	if out, _, code := g.CLI("servers", "--json"); code != 0 || strings.TrimSpace(out) != "[]" {
		t.Errorf("exit %d, %s", code, out)
	}
}

// TestToolsAndCallForScripts holds the contract's keys, and what their values are.
func TestToolsAndCallForScripts(t *testing.T) {
	t.Parallel()
	eachWay(t, deskAndGhost(t), func(t *testing.T, g *gateway) {
		out, _, code := g.CLI("tools", "--json")
		if code != 0 {
			t.Fatalf("tools: exit %d", code)
		}
		list := listOf(t, out)
		for _, one := range list {
			if got, want := keysOf(t, one), "description:text input_schema:object name:text policy:text server:text state:text title:text tool:text"; got != want {
				t.Errorf("a tool has\n%s, want\n%s", got, want)
			}
		}
		if len(list) < 4 {
			t.Errorf("too few tools: %s", out)
		}
		if out, _, code := g.CLI("tools", "--json", "desk__world_clock"); code != 0 || len(listOf(t, out)) != 1 {
			t.Errorf("one tool: exit %d, %s", code, out)
		}
		if out, stderr, code := g.CLI("tools", "desk__nothing", "--json"); code != 1 || out != "" || !strings.Contains(stderr, `"desk__nothing"`) {
			t.Errorf("a tool that is not there: exit %d, %s%s", code, out, stderr)
		}
		const keys = "content:list is_error:bool outcome:text server:text structured:%s text:text tool:text"
		for _, c := range []struct {
			name, args, structured, outcome string
			code                            int
		}{
			{"desk__world_clock", `{"place":"Tokyo"}`, "null", "ok", 0},
			{"desk__world_clock", `{"place":"Nowhere at all"}`, "null", "tool_error", 1},
			{"desk__world_clock", `{"place":7}`, "null", "invalid_params", 1},
			{"desk__roll_dice", `{}`, "null", "denied", 1},
			{"desk__nothing", `{}`, "null", "tool_not_found", 1},
			{"ghost__x", `{}`, "null", "transport_error", 1},
			{"time", `{}`, "null", "ok", 0},
		} {
			out, stderr, code := g.CLI("call", "--json", c.name, c.args)
			var report struct {
				Server, Outcome, Text string
				Content               []json.RawMessage
				IsError               bool `json:"is_error"`
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Errorf("%s: %v: %s%s", c.name, err, out, stderr)
				continue
			}
			if got, want := keysOf(t, json.RawMessage(out)), fmt.Sprintf(keys, c.structured); got != want {
				t.Errorf("%s %s has\n%s, want\n%s", c.name, c.args, got, want)
			}
			if code != c.code || report.Outcome != c.outcome || report.IsError != (c.outcome != "ok") || report.Text == "" {
				t.Errorf("%s %s: exit %d, %s%s", c.name, c.args, code, out, stderr)
			}
			if server, _, qualified := strings.Cut(c.name, "__"); qualified && report.Server != server {
				t.Errorf("%s: its server is %q", c.name, report.Server)
			}
			if c.outcome == "ok" && (len(report.Content) != 1 || keysOf(t, report.Content[0]) != "text:text type:text") {
				t.Errorf("%s: its content is %s", c.name, out)
			}
		}
	})
}

func TestWhatAdminsDidIsListed(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), embeddedDefault)
	if out, _, code := g.CLI("audit"); code != 0 || !strings.Contains(out, "nothing in the audit") {
		t.Errorf("exit %d, %s", code, out)
	}
	if out, _, code := g.CLI("audit", "--json"); code != 0 || strings.TrimSpace(out) != "[]" {
		t.Errorf("exit %d, %s", code, out)
	}
	if _, stderr, code := g.CLI("call", "desk__world_clock", `{"place":"Tokyo"}`); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	out, _, code := g.CLI("audit")
	if code != 0 || !strings.Contains(out, "tool_call") || !strings.Contains(out, "desk__world_clock") || !strings.Contains(out, "Tokyo") {
		t.Errorf("exit %d, %s", code, out)
	}
	if _, stderr, code := g.CLI("audit", "--limit", "0"); code != 2 || !strings.Contains(stderr, "at least 1") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestNobodyIsAnEmptyListForScripts(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), embeddedDefault)
	if out, _, code := g.CLI("pair", "list", "--json"); code != 0 || strings.TrimSpace(out) != "[]" {
		t.Errorf("exit %d, %s", code, out)
	}
	if out, _, code := g.CLI("pair", "list"); code != 0 || !strings.Contains(out, "Nobody has asked") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestInitWritesAConfigThatRuns(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), embeddedDefault)
	out, stderr, code := g.CLI("init")
	if code != 0 || stderr != "" || !strings.Contains(out, "dragoman check") {
		t.Fatalf("init: exit %d, %s%s", code, out, stderr)
	}
	file, schema := filepath.Join(g.Dir, "dragoman.json"), filepath.Join(g.Dir, "dragoman.schema.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the config: %v, %v", info, err)
	}
	text, err := os.ReadFile(schema)
	printed, _, code := g.CLI("schema")
	if err != nil || code != 0 || string(text) != printed || !json.Valid(text) || !strings.Contains(printed, "draft/2020-12/schema") {
		t.Errorf("the schema is not what \"dragoman schema\" prints (exit %d, %v)", code, err)
	}
	if out, stderr, code := g.CLI("check"); code != 0 || stderr != "" || !strings.Contains(out, "is good") {
		t.Errorf("check: exit %d, %s%s", code, out, stderr)
	}
	starter, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := g.CLI("init"); code != 1 || out != "" || !strings.Contains(stderr, "dragoman.json is there already") {
		t.Errorf("a second init: exit %d, %s%s", code, out, stderr)
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(starter) {
		t.Errorf("a second init changed the file (%v)", err)
	}
	// Another gateway may have the starter's own port.
	address := freeAddress(t)
	listening := strings.Replace(string(starter), "127.0.0.1:7420", address, 1)
	if listening == string(starter) {
		t.Fatal("the starter does not listen on the port of the web chat")
	}
	if err := os.WriteFile(file, []byte(listening), 0o600); err != nil {
		t.Fatal(err)
	}
	g.Start()
	g.URL = "http://" + address
	g.WaitReady()
	g.WaitLine(`open this link:  http://\S+/login\?code=\S+`, answerWithin)
}

func TestInitElsewhere(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), embeddedDefault)
	if err := os.Mkdir(filepath.Join(g.Dir, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	schema := filepath.Join(g.Dir, "etc", "dragoman.schema.json")
	if err := os.WriteFile(schema, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := g.CLI("init", "--config", "etc/bot.json")
	if code != 0 || stderr != "" || !strings.Contains(out, "dragoman --config etc/bot.json") && !strings.Contains(out, "check --config etc/bot.json") {
		t.Errorf("init: exit %d, %s%s", code, out, stderr)
	}
	if kept, err := os.ReadFile(schema); err != nil || string(kept) != "mine" || !strings.Contains(out, "was there already") {
		t.Errorf("a file that was there is %q (%v), and init says\n%s", kept, err, out)
	}
	if out, stderr, code := g.CLI("check", "--config", "etc/bot.json"); code != 0 {
		t.Errorf("check: exit %d, %s%s", code, out, stderr)
	}
	if _, stderr, code := g.CLI("init", "--config", "nowhere/bot.json"); code != 1 || !strings.Contains(stderr, "nowhere is not there") {
		t.Errorf("a folder that is not there: exit %d, %s", code, stderr)
	}
	if err := os.Symlink("gone", filepath.Join(g.Dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := g.CLI("init", "--config", "link.json"); code != 1 || !strings.Contains(stderr, "is there already") {
		t.Errorf("a link: exit %d, %s", code, stderr)
	}
}

func TestCheckWarnsOfAPatternThatMatchesNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), `{"mcp_servers": {"files": {"command": "x"}}, "tools": {"policy": {
"file__read_*": "allow",
"files__read_*": "allow", "time": "ask", "*__delete_*": "deny"}}}`)
	out, stderr, code := g.CLI("check")
	if code != 0 || !strings.Contains(out, "is good") || strings.Count(stderr, "\n") != 1 ||
		!strings.Contains(stderr, `dragoman.json:2:1: tools.policy["file__read_*"]: matches no tool`) || !strings.Contains(stderr, `did you mean "files"?`) {
		t.Errorf("exit %d, %s%s", code, out, stderr)
	}
}

func TestWrongUsageOfTheListings(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), embeddedDefault)
	for args, hint := range map[string]string{
		"servers reconnect":     "usage: dragoman servers reconnect NAME",
		"servers disable a b":   "usage: dragoman servers disable NAME",
		"servers desk":          "usage: dragoman servers [reconnect|enable|disable NAME]",
		"servers --yaml":        "--yaml",
		"schema x":              "takes no argument",
		"init x":                "takes no argument",
		"tools a b":             "usage: dragoman tools",
		"help nope":             "no command",
		"help pair nope":        "no command",
		"call":                  "usage: dragoman call",
		"call x {":              "not valid JSON",
		"call x {} --timeout 5": "timeout",
		"check --config":        "config",
		"check --json":          "--connect",
	} {
		if out, stderr, code := g.CLI(strings.Fields(args)...); code != 2 || out != "" || !strings.Contains(stderr, hint) {
			t.Errorf("dragoman %s: exit %d, %s%s does not say %q", args, code, out, stderr, hint)
		}
	}
	if out, _, code := g.CLI("help", "pair", "list"); code != 0 || !strings.Contains(out, "dragoman pair list") {
		t.Errorf("help pair list: exit %d, %s", code, out)
	}
	for _, name := range []string{"run", "init", "check", "schema", "servers", "tools", "call", "pair", "version"} {
		if out, _, code := g.CLI(name, "-h"); code != 0 || !strings.Contains(out, "--config") {
			t.Errorf("dragoman %s -h: exit %d, %s", name, code, out)
		}
	}
}

// An admin reaches a gateway that runs from a shell without its variables, and
// with a config that is being edited.
func TestAGatewayThatRunsIsReachedWithoutItsVariables(t *testing.T) {
	t.Parallel()
	g := startGateway(t, `{"listen": "${LISTEN}", "channels": {"web": {"type": "web"}}, "models": {"m": {"type": "openai", "model": "x", "api_key": "${ONLY_THERE}"}}}`,
		"ONLY_THERE=sk-secret")
	file := filepath.Join(g.Dir, "dragoman.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), `"channels"`, `"chanels": 1, "channels"`, 1)
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	g.env = slices.DeleteFunc(slices.Clone(g.env), func(v string) bool { return strings.HasPrefix(v, "ONLY_THERE=") })
	for _, command := range [][]string{{"pair", "list"}, {"servers"}, {"tools"}} {
		if out, errOut, code := g.CLI(command...); code != 0 {
			t.Errorf("%v ended with %d: %s%s", command, code, out, errOut)
		}
	}
	if _, errOut, code := g.CLI("check"); code != 1 || !strings.Contains(errOut, "chanels") {
		t.Errorf("check ended with %d: %s", code, errOut)
	}
}
