package e2e

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An MCP server elsewhere is down when the gateway starts, comes, is killed and
// comes back without its sessions: the gateway is ready at once, its tools work
// whenever the server does, and it is never restarted.
func TestAnHTTPServerComesAndGoes(t *testing.T) {
	measured(t)
	port := fixedPort(t)
	address := "127.0.0.1:" + port
	script := nodePackage(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	dir, env := sandbox(t)
	up := func() *process {
		p := start(t, dir, append(env, "PORT="+port), node(t), script, "streamableHttp")
		p.WaitLine(t, "listening on port", readyWithin)
		return p
	}
	g := newGateway(t, gatewayBinary(t), `{"listen": "${LISTEN}", "models": {"main": {"type": "demo"}}, "tools": {"default": "allow"},
		"mcp_servers": {"api": {"transport": "http", "url": "http://`+address+`/mcp", "headers": {"Authorization": "Bearer ${API_TOKEN}"}}}}`,
		"API_TOKEN=tok-very-secret")
	began := time.Now()
	g.Start()
	g.WaitReady()
	if ready := time.Since(began); ready > time.Second && !raceEnabled() {
		t.Errorf("ready after %s, want at most 1s", ready)
	}
	g.WaitLine("mcp_connection_failed.*cannot be reached", answerWithin)

	echo := func(text, want string) {
		t.Helper()
		eventually(t, answerWithin, text, func() error {
			out, _, _ := g.CLI("call", "--json", "--timeout", "10s", "api__echo", `{"message":`+quoted(text)+`}`)
			if !strings.Contains(out, want) {
				return fmt.Errorf("the call gives %s, want %s", out, want)
			}
			return nil
		})
	}
	server := up()
	echo("the server is there", "Echo: the server is there")

	server.signal(syscall.SIGKILL)
	server.wait(t, stopWithin)
	echo("the server is gone", `"transport_error"`)
	server = up()
	echo("the server is back", "Echo: the server is back")

	server.signal(syscall.SIGKILL) // and back before anybody asks: the session alone is lost
	server.wait(t, stopWithin)
	up()
	echo("the session is lost", "Echo: the session is lost")
	for _, line := range g.proc.Lines() {
		if strings.Contains(line, "tok-very-secret") {
			t.Errorf("the token is in the log: %s", line)
		}
	}
}

// fixedPort is a port that is free on all addresses and that the kernel gives to nobody
// who asks for any: whoever listens there can go and come back.
func fixedPort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(15_000 + rand.IntN(15_000))
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			continue
		}
		l.Close()
		return port
	}
	t.Fatal("there is no free port")
	return ""
}

// What is wrong with a remote server's section is said by check and by run.
func TestHTTPServerFaults(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`{"command": "x", "url": "http://h/mcp"}`:                      "command: is given (must be left out when url is given)",
		`{"url": "h/mcp"}`:                                             "url: is not right (must be an address",
		`{"url": "http://h/mcp", "args": ["-y"]}`:                      "args: is given (must be left out when url is given)",
		`{"url": "http://h/mcp", "cwd": "/"}`:                          "cwd: is given (must be left out when url is given)",
		`{"command": "x", "headers": {"A": "1"}}`:                      "headers: is given (must be left out when url is not)",
		`{"transport": "soap", "url": "http://h/soap"}`:                `transport: is "soap" (must be one of stdio, http, sse`,
		`{"type": "sse", "command": "x"}`:                              `transport is "sse", but there is a command`,
		`{"type": "stdio", "url": "http://h/mcp"}`:                     `transport is "stdio", but there is a url`,
		`{"type": "http", "command": "x"}`:                             `transport is "http", but there is a command`,
		`{"url": "http://h/mcp", "headers": {"Mcp-Session-Id": "1"}}`:  "headers: Mcp-Session-Id is set by the gateway itself",
		`{"url": "http://h/mcp", "headers": {"A": "one\ntwo-secret"}}`: "the value of A has characters that a header cannot have",
	} {
		g := newGateway(t, gatewayBinary(t), `{"listen": "", "models": {"main": {"type": "demo"}}, "mcp_servers": {"api": `+section+`}}`)
		for _, command := range []string{"check", "run"} {
			out, stderr, code := g.CLI(command)
			if words := out + stderr; code != 1 || !strings.Contains(words, want) || strings.Contains(words, "secret") {
				t.Errorf("%s of %s: exit %d, %s, want %q", command, section, code, words, want)
			}
		}
	}
	good := newGateway(t, gatewayBinary(t), `{"mcpServers": {"api": {"type": "streamable-http", "url": "http://localhost:1/mcp", "headers": {"X": "y"}}}}`)
	if out, stderr, code := good.CLI("check"); code != 0 {
		t.Errorf("a good section: exit %d, %s%s", code, out, stderr)
	}
}
