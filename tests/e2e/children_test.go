package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// forker is the entry of a config for a server that forks: a process in its
// group, and one in a session of its own that ignores SIGTERM.
func forker(t testing.TB, more string) string {
	script := `(trap '' TERM; exec setsid sleep 6001) >/dev/null 2>&1 & sleep 6002 >/dev/null 2>&1 & exec "$0" desk`
	return `"forker": {"command": "sh", "args": ["-c", ` + quoted(script) + `, ` + quoted(gatewayBinary(t)) + `]` + more + `}`
}

// forked are the processes that the forker left in the folder of the test.
func forked(dir string) map[string]int {
	found := map[string]int{}
	for pid, command := range survivors(dir) {
		if strings.HasPrefix(command, "sleep 600") {
			found[command] = pid
		}
	}
	return found
}

func awaitForked(t testing.TB, g *gateway) map[string]int {
	t.Helper()
	var found map[string]int
	eventually(t, answerWithin, "the server forks", func() error {
		if found = forked(g.Dir); len(found) != 2 {
			return fmt.Errorf("there are %v", found)
		}
		return nil
	})
	return found
}

// What servers forked outlives a gateway that is killed, and not its next start;
// it does not outlive a gateway that is stopped.
func TestTheNextStartEndsWhatServersForked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
	g := startGateway(t, `{"listen": "${LISTEN}", "models": {"main": {"type": "demo"}}, "mcp_servers": {`+forker(t, "")+`}}`)
	before := awaitForked(t, g)
	g.Kill()
	if left := forked(g.Dir); len(left) != 2 {
		t.Fatalf("only %v outlive a killed gateway: there is nothing to test", left)
	}
	g.Start()
	g.WaitReady()
	line := g.WaitLine(`mcp_orphans_ended.*`, answerWithin)[0]
	for command, pid := range before {
		if !strings.Contains(line, fmt.Sprint(pid)) {
			t.Errorf("the log does not name %d (%s): %s", pid, command, line)
		}
		if _, still := survivors(g.Dir)[pid]; still {
			t.Errorf("%s lives after the next start", command)
		}
	}
	after := awaitForked(t, g)
	g.Term()
	if left := forked(g.Dir); len(left) != 0 {
		t.Errorf("%v outlive a gateway that was stopped; it had %v", left, after)
	}
}

// A command that connects by itself ends what its servers forked, and leaves a
// running gateway's alone.
func TestACommandEndsWhatItsServersForked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
	g := newGateway(t, gatewayBinary(t), `{"listen": "${LISTEN}", "mcp_servers": {`+forker(t, "")+`}}`)
	if out, stderr, code := g.CLI("call", "forker__world_clock", `{"place":"Tokyo"}`); code != 0 {
		t.Errorf("call: exit %d, %s%s", code, out, stderr)
	}
	if left := forked(g.Dir); len(left) != 0 {
		t.Errorf("%v outlive the command", left)
	}
}

// What the gateway knows is in its environment and its files, and in no
// environment of a child or of what that forked.
func TestNoSecretReachesAChild(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("environments are read from /proc")
	}
	secrets := []string{"OPENAI_API_KEY=sk-model-4711", "ANTHROPIC_API_KEY=sk-ant-4712", "TELEGRAM_BOT_TOKEN=123:bot-4713", "DISCORD_BOT_TOKEN=dc-4714",
		"DRAGOMAN_KEY=signing-4715", "DRAGOMAN_ADMIN_TOKEN=admin-token-of-4716", "DATABASE_URL=postgres://u:db-4717@h/d", "API_TOKEN=api-4718", "AWS_SECRET_ACCESS_KEY=aws-4719"}
	g := startGateway(t, `{"listen": "${LISTEN}", "admin": {"token": "${DRAGOMAN_ADMIN_TOKEN}"},
		"models": {"main": {"type": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "${OPENAI_API_KEY}", "model": "m"}},
		"mcp_servers": {`+forker(t, `, "env": {"OWN": "its own"}, "inherit_env": ["SHARED"]`)+`,
			"plain": {"command": `+quoted(gatewayBinary(t))+`, "args": ["desk"]},
			"far": {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${API_TOKEN}"}}}}`,
		append(secrets, "SHARED=shared with it", "LANG=C.UTF-8", "USER=somebody")...)
	awaitForked(t, g)
	var family map[int][]string
	eventually(t, answerWithin, "two servers and what one forked", func() error {
		if family = environments(t, g); len(family) < 4 {
			return fmt.Errorf("there are %d", len(family))
		}
		return nil
	})
	allowed := []string{"PATH", "HOME", "LANG", "TMPDIR", "USER", "DRAGOMAN_CHILD", "PWD", "OLDPWD", "SHLVL", "_"} // the last four are the shell's
	for pid, env := range family {
		all := strings.Join(env, "\n")
		for _, secret := range secrets {
			if name, value, _ := strings.Cut(secret, "="); strings.Contains(all, value) || strings.Contains(all, name+"=") {
				t.Errorf("process %d sees %s", pid, name)
			}
		}
		forker := strings.Contains(all, "OWN=its own") && strings.Contains(all, "SHARED=shared with it")
		for _, pair := range env {
			name, _, _ := strings.Cut(pair, "=")
			if !slices.Contains(allowed, name) && (!forker || name != "OWN" && name != "SHARED") {
				t.Errorf("process %d sees %s", pid, pair)
			}
		}
		if !strings.Contains(all, "TMPDIR="+g.Dir) || !strings.Contains(all, "DRAGOMAN_CHILD=") {
			t.Errorf("process %d lacks what it should see: %s", pid, all)
		}
	}
}

// environments are those of all descendants of the gateway's process.
func environments(t testing.TB, g *gateway) map[int][]string {
	t.Helper()
	parents := map[string]string{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if parent, _, ok := stat(file); ok {
			parents[filepath.Base(filepath.Dir(file))] = parent
		}
	}
	own := fmt.Sprint(g.proc.cmd.Process.Pid)
	itself, err := os.ReadFile("/proc/" + own + "/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int][]string{}
	for pid := range parents {
		above := parents[pid]
		for above != own && parents[above] != "" {
			above = parents[above]
		}
		env, err := os.ReadFile("/proc/" + pid + "/environ")
		if above != own || err != nil || len(env) == 0 {
			continue
		}
		// A child that has not begun its program yet shows the gateway's own: the same memory.
		if command, err := os.ReadFile("/proc/" + pid + "/cmdline"); err != nil || bytes.Equal(command, itself) {
			continue
		}
		var n int
		if _, err := fmt.Sscan(pid, &n); err != nil {
			t.Fatal(err)
		}
		found[n] = strings.Split(strings.TrimRight(string(env), "\x00"), "\x00")
	}
	return found
}

// A trace is written where the config wants one, privately, and without secrets.
func TestATraceIsWrittenWhereItIsWanted(t *testing.T) {
	t.Parallel()
	bin := quoted(gatewayBinary(t))
	g := newGateway(t, gatewayBinary(t), `{"listen": "${LISTEN}", "mcp_servers": {
		"seen": {"command": `+bin+`, "args": ["desk"], "trace": true, "env": {"KEY": "${SEEN_KEY}"}},
		"unseen": {"command": `+bin+`, "args": ["desk"]}}}`, "SEEN_KEY=seen-key-of-it")
	if out, stderr, code := g.CLI("call", "seen__world_clock", `{"place":"seen-key-of-it, Bearer abcdefgh-of-it"}`); code != 1 || !strings.Contains(stderr, "no time zone") {
		t.Errorf("call: exit %d, %s%s", code, out, stderr)
	}
	file := filepath.Join(g.Dir, "dragoman-data", "trace", "seen.jsonl")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"method":"tools/call"`) || strings.Contains(string(text), "of-it") {
		t.Errorf("the trace is %s (%v)", text, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v (%v)", info, err)
	}
	if list, _ := filepath.Glob(filepath.Join(g.Dir, "dragoman-data", "trace", "*")); len(list) != 1 {
		t.Errorf("the traces are %v", list)
	}
}
