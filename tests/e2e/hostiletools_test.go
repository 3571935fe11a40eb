package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// toolServer is the entry of a config for the test binary as an MCP server, with
// its call_timeout and variables for it in pairs.
func toolServer(name, timeout string, env ...string) string {
	pairs := []string{`"E2E_TOOLS": "1"`}
	for i := 0; i+1 < len(env); i += 2 {
		pairs = append(pairs, quoted(env[i])+": "+quoted(env[i+1]))
	}
	return quoted(name) + `: {"command": ` + quoted(os.Args[0]) + `, "call_timeout": ` + quoted(timeout) + `, "env": {` + strings.Join(pairs, ", ") + `}}`
}

// serveTools is the test binary as an MCP server whose tools are bad, each in its
// own way. It speaks the protocol by hand: a library would not let it misbehave.
func serveTools() {
	in, out := bufio.NewReader(os.Stdin), os.Stdout
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string
				Name            string
				Arguments       struct{ Text string }
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch m.Method {
		case "initialize":
			answer(out, m.ID, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"bad","version":"1"}}`, m.Params.ProtocolVersion))
		case "tools/list":
			answer(out, m.ID, `{"tools":[`+strings.Join(toolList(), ",")+`]}`)
		case "tools/call":
			callTool(out, m.ID, m.Params.Name, m.Params.Arguments.Text)
		case "ping":
			answer(out, m.ID, `{}`)
		}
	}
}

func toolList() []string {
	var list []string
	for _, name := range []string{"write", "dies", "hangs", "floods", "babbles", "lies", "breaks", "controls"} {
		list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{"text":{"type":"string"},"times":{"type":"integer","maximum":3}},"required":["text"],"additionalProperties":false}}`, name))
	}
	return list
}

const floodBytes = 300 << 20

func callTool(out io.Writer, id json.RawMessage, name, text string) {
	if file := os.Getenv("E2E_WROTE"); file != "" {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(f, name)
		f.Close()
	}
	switch name {
	case "dies":
		os.Exit(3)
	case "hangs":
		return
	case "floods": // one message of 300 MiB
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
		for range floodBytes >> 16 {
			io.WriteString(out, strings.Repeat("x", 64<<10))
		}
		io.WriteString(out, "\"}]}}\n")
	case "babbles": // no JSON between, and answers that nobody asked for
		io.WriteString(out, "Warning: deprecated\n{\"half\":\n\n{\"jsonrpc\":\"2.0\",\"id\":987654,\"result\":{}}\n[1,2]\nnull\n")
		answer(out, id, contentOf("babbled"))
	case "lies":
		answer(out, id, `"`+innards+`"`)
	case "breaks":
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"`+innards+`"}}`+"\n", id)
	case "controls":
		fmt.Fprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"A\\u0000\\u001b[31mB\xff\\ud800C\"}]}}\n", id)
	default:
		answer(out, id, contentOf("wrote "+text))
	}
}

func contentOf(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return `{"content":[{"type":"text","text":` + string(b) + `}]}`
}

func answer(out io.Writer, id json.RawMessage, result string) {
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

// toolFaults are what can be wrong with a call, with what the model is told and
// how the log calls it. Each has a server of its own.
var toolFaults = []struct {
	name, tool, arguments string
	want                  func(string) error
	outcome               string
	runs                  int // how often the tool is reached
}{
	{"good", "write", `{"text":"it"}`, is("Got: wrote it"), "ok", 1},
	{"no JSON", "write", `{"text": it's`, contains("do not fit the tool's schema"), "invalid_params", 0},
	{"half of it", "write", `{"text":"half`, contains("do not fit the tool's schema"), "invalid_params", 0},
	{"a list", "write", `["it"]`, contains("do not fit the tool's schema"), "invalid_params", 0},
	{"nothing", "write", ``, contains("do not fit the tool's schema"), "invalid_params", 0},
	{"a wrong type", "write", `{"text":7}`, contains("do not fit the tool's schema"), "invalid_params", 0},
	{"one key too many", "write", `{"text":"it","sudo":true}`, contains("do not fit the tool's schema"), "invalid_params", 0},
	{"out of range", "write", `{"text":"it","times":1e99}`, contains("do not fit the tool's schema"), "invalid_params", 0},
	{"too deep", "write", `{"text":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, contains("do not fit the tool's schema"), "invalid_params", 0},
	{"no such tool", "rm_rf", `{}`, contains("There is no tool named"), "tool_not_found", 0},
	{"it dies", "dies", `{"text":"it"}`, contains("not known whether it had an effect"), "transport_error", 1},
	{"it hangs", "hangs", `{"text":"it"}`, contains("did not answer in time"), "timeout", 1},
	{"it floods", "floods", `{"text":"it"}`, contains("too large to be taken"), "protocol_error", 1},
	{"it babbles", "babbles", `{"text":"it"}`, is("Got: babbled"), "ok", 1},
	{"it lies", "lies", `{"text":"it"}`, contains("makes no sense"), "protocol_error", 1},
	{"it breaks", "breaks", `{"text":"it"}`, contains("Got: "), "", 1},
	{"it controls", "controls", `{"text":"it"}`, contains("B"), "ok", 1},
}

// A call that cannot be, or whose tool or server is bad, is a result for the
// model; its person gets one answer, and the server's next call works.
func TestEveryFaultOfAToolIsAResult(t *testing.T) {
	measured(t)
	dir := t.TempDir()
	var servers []string
	for i, c := range toolFaults {
		timeout := "1m" // a flood takes a while on a machine that is busy
		if c.outcome == "timeout" {
			timeout = "8s" // its next call has it too
		}
		servers = append(servers, toolServer(fmt.Sprintf("s%d", i), timeout, "E2E_WROTE", fmt.Sprintf("%s/%d", dir, i)))
	}
	h := startHostile(t, "", strings.Join(servers, ",\n"), "")
	h.WaitLine("mcp_servers_connected", 2*readyWithin) // a turn waits for them only for a while
	users := make([]*telegram.User, len(toolFaults))
	for i, c := range toolFaults {
		users[i] = h.tg.User(int64(3000+i), "Ann")
		h.model.On(c.name, callsFirst(fmt.Sprintf("s%d__%s", i, c.tool), c.arguments))
		h.model.On(fmt.Sprintf("and server %d?", i), callsFirst(fmt.Sprintf("s%d__write", i), `{"text":"on"}`))
		users[i].Say(c.name)
	}
	for i, c := range toolFaults {
		t.Run(c.name, func(t *testing.T) {
			text := h.outcome(t, users[i], 1, c.want)
			if got := h.callOutcome(t, users[i]); c.outcome != "" && got != c.outcome {
				t.Errorf("the log calls it %q, want %q", got, c.outcome)
			}
			eventually(t, answerWithin, "the server is there again", func() error {
				out, _, _ := h.CLI("tools", "--json", fmt.Sprintf("s%d__write", i))
				return contains(`"state":"ready"`)(strings.ReplaceAll(out, `": "`, `":"`))
			})
			users[i].Say(fmt.Sprintf("and server %d?", i))
			h.outcome(t, users[i], 2, is("Got: wrote on"))
			h.only(t, users[i], text, "Got: wrote on")
			ran, _ := os.ReadFile(fmt.Sprintf("%s/%d", dir, i))
			if n := strings.Count(string(ran), "\n"); n != c.runs+1 {
				t.Errorf("the server's tools were reached %d times, want %d", n, c.runs+1)
			}
		})
	}
	h.failedOnce(t, map[string]string{})
	h.nothingLeaked(t, users...)
	h.alive(t)
	if peak, limit := usage(t, h.gateway).PeakRSS, int64(192<<20); peak > limit && !raceEnabled() {
		t.Errorf("at its peak the gateway held %d MiB", peak>>20)
	}
}

// callOutcome is how the log calls the first tool call of a person, once it does.
func (h *hostile) callOutcome(t testing.TB, u *telegram.User) (outcome string) {
	t.Helper()
	eventually(t, answerWithin, "the log has the call", func() error {
		for _, l := range h.logged("tool_call_finished") {
			if l["chat"] == fmt.Sprint(u.ID()) {
				outcome, _ = l["outcome"].(string)
				return nil
			}
		}
		return fmt.Errorf("there is no line of chat %d", u.ID())
	})
	return outcome
}

// A flood of 300 MiB is not kept anywhere on its way.
func TestAFloodOfAToolDoesNotFillTheMemory(t *testing.T) {
	measured(t)
	h := startHostile(t, "", toolServer("s", "1m"), "")
	h.WaitLine("mcp_server_connected", readyWithin)
	h.model.On("flood", callsFirst("s__floods", `{"text":"it"}`))
	ann := h.tg.User(3000, "Ann")
	before := usage(t, h.gateway)
	began := time.Now()
	ann.Say("flood")
	text := h.outcome(t, ann, 1, contains("Got: "))
	grown := usage(t, h.gateway).PeakRSS - before.PeakRSS
	t.Logf("%q after %s; the peak grew by %d MiB", text, time.Since(began).Round(time.Millisecond), grown>>20)
	if grown > 100<<20 && !raceEnabled() {
		t.Errorf("the peak grew by %d MiB for a message of %d MiB", grown>>20, floodBytes>>20)
	}
}
