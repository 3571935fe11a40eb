//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
)

func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func withTimeout(cfg Config, d time.Duration) Config {
	cfg.Timeout = d
	return cfg
}

// TestServersThatDoNotStart: each is degraded within its time-out, with words
// that say why, and Run still ends.
func TestServersThatDoNotStart(t *testing.T) {
	script := filepath.Join(t.TempDir(), "plain.txt")
	if err := os.WriteFile(script, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	stillborn := peerConfig("stillborn")
	stillborn.Env["API_KEY"] = "sk-very-secret"
	nowhere := peerConfig("good")
	nowhere.Cwd = "/no/such/folder"
	for name, test := range map[string]struct {
		cfg    Config
		says   string
		stderr string
	}{
		"not in PATH":    {Config{Command: "no-such-command"}, `command "no-such-command" was not found in PATH`, ""},
		"not there":      {Config{Command: "./no/such"}, `command "./no/such" cannot be run`, ""},
		"not executable": {Config{Command: script}, "permission denied", ""},
		"no folder":      {nowhere, `cwd "/no/such/folder" is no folder`, ""},
		"stillborn":      {stillborn, "the process ended: exit status 3", "fatal: the key [redacted] is not accepted"},
		"mute":           {withTimeout(peerConfig("mute"), 6*time.Second), "no answer to initialize: timeout 6s", "serving as mute"},
		"gibberish":      {withTimeout(peerConfig("gibberish"), 6*time.Second), `2 lines of its output are not JSON-RPC, the first: "what is server/discover?"`, ""},
		"empty":          {peerConfig("empty"), "names no protocol version", ""},
		"future":         {peerConfig("future"), "supported: 2026-07-28", ""},
		"unheard":        {peerConfig("unheard"), "the server speaks MCP 3000-01-01", ""},
		"cat":            {withTimeout(Config{Command: "cat"}, 20*time.Second), "method not found: initialize", ""}, // says what we say
		"true":           {Config{Command: "true"}, "the process ended: exit status 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, test.cfg)
			s := r.awaitPhase(ports.PhaseDegraded, 0)
			if !strings.Contains(s.Err, test.says) {
				t.Errorf("the state says %q, want %q in it", s.Err, test.says)
			}
			if !strings.Contains(strings.Join(s.Stderr, "\n"), test.stderr) {
				t.Errorf("stderr is %q, want %q in it", s.Stderr, test.stderr)
			}
			if s.RetryIn <= 0 || len(r.names()) != 0 {
				t.Errorf("the next try is in %s, the tools are %v", s.RetryIn, r.names())
			}
			r.end()
			if last := r.states[len(r.states)-1]; last.Phase != ports.PhaseStopped {
				t.Errorf("the last state is %+v", last)
			}
		})
	}
}

func TestNoisyServerWorks(t *testing.T) {
	r := start(t, peerConfig("noise")).ready()
	r.wantEcho("through the noise")
	lines, first := sessionOf(r.src).link.(*stdio).Noise()
	if lines < 8 || first != "Welcome to the server!" {
		t.Errorf("%d lines of noise, the first %q", lines, first)
	}
}

func TestHalfALineCostsOneCall(t *testing.T) {
	cfg := peerConfig("half")
	cfg.CallTimeout = 300 * time.Millisecond
	r := start(t, cfg).ready()
	_, err := r.call(t.Context(), "say", `{}`)
	wantKind(t, err, ports.KindTimeout, "deadline")
}

// TestHugeMessage: a message far beyond the limit ends the connection, says so,
// and costs no more memory than the limit, at any time.
func TestHugeMessage(t *testing.T) {
	cfg := peerConfig("good")
	cfg.MaxMessageBytes = 1 << 20
	r := start(t, cfg).ready()
	pid := r.pid()
	result, err := r.call(t.Context(), "say", `{"size":1000000}`)
	if err != nil || len(result.Content[0].Text) != 1_000_000 {
		t.Fatalf("a message within the limit: %v", err)
	}
	from := r.told()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = r.call(t.Context(), "say", `{"size":314572800}`) // 300 MiB on one line
	runtime.ReadMemStats(&after)
	wantKind(t, err, ports.KindTooLarge, "more than 1048576 bytes (max_message_bytes)")
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes were allocated for a message beyond 1 MiB", grown)
	}
	s := r.awaitPhase(ports.PhaseDegraded, from)
	if !strings.Contains(s.Err, "max_message_bytes") {
		t.Errorf("the state says %q", s.Err)
	}
	gone(t, pid)
	r.awaitPhase(ports.PhaseReady, from)
	r.wantEcho("again")
}

// TestManyPiecesOfContent: a result within the limit that is written in as many
// pieces as fit costs a bounded number of blocks, whatever the pieces are.
func TestManyPiecesOfContent(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	for _, piece := range []string{`1`, `{}`, `[]`, `{"type":"text","text":"a"}`} {
		n := (8 << 20) / (len(piece) + 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result, err := r.call(t.Context(), "say", fmt.Sprintf(`{"piece":%s,"size":%d}`, piece, n))
		runtime.ReadMemStats(&after)
		if err != nil || len(result.Content) != maxBlocks+1 {
			t.Fatalf("%d times %s gives %d blocks, %v", n, piece, len(result.Content), err)
		}
		if last := result.Content[maxBlocks].Text; last != fmt.Sprintf("[what follows the first %d pieces of content was left out]", maxBlocks) {
			t.Errorf("the last block says %q", last)
		}
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 128<<20 {
			t.Errorf("%d times %s: %d MiB were taken from the system for 8 MiB", n, piece, grown>>20)
		}
	}
	r.wantEcho("after them")
}

func TestMortalServerComesBack(t *testing.T) {
	r := start(t, peerConfig("mortal")).ready()
	for n := range 3 {
		r.wantEcho("one")
		r.wantEcho("two")
		from := r.told()
		_, err := r.call(t.Context(), "echo", `{"text":"three"}`)
		wantKind(t, err, ports.KindUnsure, "the process ended: exit status 9")
		if len(r.names()) == 0 {
			t.Error("a lost server took its tools away")
		}
		if s := r.awaitPhase(ports.PhaseReady, from); s.Restarts != n+1 {
			t.Errorf("%d restarts after %d deaths", s.Restarts, n+1)
		}
	}
}

func TestCallWhileLostFailsAtOnce(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	var err error
	for try := 0; try < 5 && err == nil; try++ { // it may be back before the call is made; the pause grows
		r.awaitPhase(ports.PhaseReady, max(0, r.told()-1))
		from := r.told()
		if err := killPeer(r.src); err != nil {
			t.Fatal(err)
		}
		r.awaitPhase(ports.PhaseDegraded, from)
		_, err = r.call(t.Context(), "echo", `{"text":"x"}`) // which would find it, if it waited
	}
	wantKind(t, err, ports.KindUnavailable, "not connected")
}

// TestDeafServer: a server that stops reading holds up nobody beyond their own
// deadline, and the connection is given up.
func TestDeafServer(t *testing.T) {
	cfg := peerConfig("deaf")
	cfg.CallTimeout = time.Second
	r := start(t, cfg).ready()
	begun := time.Now()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		big := json.RawMessage(`{"text":"` + strings.Repeat("x", 2<<20) + `"}`)
		_, err := r.tool("echo").Call(t.Context(), ports.ToolCall{Call: ports.Call{Arguments: big}}, nil)
		if !ports.IsKind(err, ports.KindTimeout) && !ports.IsKind(err, ports.KindUnsure) {
			t.Errorf("a call that cannot be written gives %v", err)
		}
	})
	for range outQueue + 2 {
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := r.call(short, "echo", `{}`)
		cancel()
		if !ports.IsKind(err, ports.KindTimeout) && !ports.IsKind(err, ports.KindUnavailable) && !ports.IsKind(err, ports.KindUnsure) {
			t.Errorf("a call to a deaf server gives %v", err)
		}
	}
	s := r.await("about reading", 0, func(s ports.State) bool { return strings.Contains(s.Err, "did not read its input for 1s") })
	if s.Phase != ports.PhaseDegraded || time.Since(begun) > time.Minute {
		t.Errorf("after %s the state is %+v", time.Since(begun), s)
	}
}

func TestStubbornServerIsKilled(t *testing.T) {
	r := start(t, peerConfig("stubborn")).ready()
	pid := r.pid()
	begun := time.Now()
	r.end()
	gone(t, pid)
	if took := time.Since(begun); took < eofGrace || took > eofGrace+termGrace+30*time.Second {
		t.Errorf("a server that ignores SIGTERM was gone after %s", took)
	}
}

func TestServerThatClosesItsOutput(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	pid := r.pid()
	_, err := r.call(t.Context(), "ask", `{"what":"close"}`)
	wantKind(t, err, ports.KindUnsure, "the server closed its output")
	gone(t, pid)
}

// TestGrandchildren: what a server started goes with it, after a stop and after
// a crash, even though it holds the server's output open.
func TestGrandchildren(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test server forks itself through /proc")
	}
	for name, end := range map[string]func(*rig){
		"stop":  (*rig).end,
		"crash": func(r *rig) { _ = killPeer(r.src); r.awaitPhase(ports.PhaseDegraded, 0); r.end() },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, peerConfig("parent")).ready()
			s := r.await("with stderr", 0, func(s ports.State) bool { return len(s.Stderr) > 0 })
			pid, err := strconv.Atoi(regexp.MustCompile(`grandchild (\d+)`).FindStringSubmatch(strings.Join(s.Stderr, "\n"))[1])
			if err != nil {
				t.Fatal(err)
			}
			if isZombie(pid) {
				t.Fatal("the grandchild did not live")
			}
			end(r)
			gone(t, pid)
		})
	}
}

// TestChildDiesWithUs kills a process that runs a source, and looks for the
// server that it had.
func TestChildDiesWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is a parent-death signal on Linux only")
	}
	gateway := exec.Command(os.Args[0])
	gateway.Env = append(os.Environ(), modeVar+"=gateway")
	out, err := gateway.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	_, err = fmt.Fscanf(out, "server %d", &pid)
	_ = gateway.Process.Kill()
	_ = gateway.Wait()
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

func TestSlowCallIsCancelledAtTheServer(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	ctx, cancel := context.WithCancel(t.Context())
	gave := make(chan error, 1)
	go func() {
		_, err := r.tool("slow").Call(ctx, ports.ToolCall{}, nil)
		gave <- err
	}()
	link := sessionOf(r.src).link.(*stdio)
	eventually(t, "the call is on its way", func() bool {
		link.mu.Lock()
		defer link.mu.Unlock()
		return len(link.pending) == 1
	})
	r.wantEcho("beside it") // in order behind the slow call: that has arrived
	cancel()
	wantKind(t, <-gave, ports.KindCancelled, "canceled")
	id := sessionOf(r.src).lastID.Load()
	eventually(t, "the server heard of it", func() bool { return r.ask("cancelled") != "" })
	if heard := r.ask("cancelled"); heard != strconv.FormatInt(id-1, 10) {
		t.Errorf("the server heard that %q was cancelled, want the id before %d", heard, id)
	}
}

func TestErrorAnswers(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	for args, want := range map[string]ports.Kind{
		`{"code":-32602,"message":"text must be a string"}`: ports.KindInvalid,
		`{"code":-32602,"message":"Unknown tool: x"}`:       ports.KindNotFound,
		`{"code":-32602,"message":"Tool x not found"}`:      ports.KindNotFound,
		`{"code":-32601,"message":"nope"}`:                  ports.KindNotFound,
		`{"code":-32603,"message":"boom"}`:                  ports.KindProtocol,
		`{"code":7,"message":"seven"}`:                      ports.KindProtocol,
	} {
		_, err := r.call(t.Context(), "refuse", args)
		wantKind(t, err, want, "the server answered error")
	}
	r.wantEcho("after errors")
}

func TestNonsenseResults(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	for _, result := range []string{`{}`, `5`, `null`, `"text"`, `[]`, `{"content":null}`, `{"resultType":"task","task":{"id":"1"}}`} {
		_, err := r.call(t.Context(), "say", `{"result":`+result+`}`)
		wantKind(t, err, ports.KindProtocol, "")
	}
	r.wantEcho("after nonsense")
}

func TestEnvironmentIsAnAllowlist(t *testing.T) {
	t.Setenv("TELEGRAM_BOT_TOKEN", "123:secret")
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("WANTED", "yes")
	t.Setenv("LANG", "C.UTF-8")
	cfg := peerConfig("good")
	cfg.InheritEnv = []string{"WANTED", "UNSET_VARIABLE"}
	cfg.Env["OWN"] = "its own"
	cfg.Cwd = t.TempDir()
	r := start(t, cfg).ready()
	names := make(map[string]string)
	for _, pair := range strings.Split(r.ask("env"), "\n") {
		name, value, _ := strings.Cut(pair, "=")
		names[name] = value
	}
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR", "USER", modeVar, "GOMAXPROCS", "GORACE", "PWD"} {
		delete(names, name)
	}
	if len(names) != 2 || names["WANTED"] != "yes" || names["OWN"] != "its own" {
		t.Errorf("the server sees %v besides the usual; want WANTED and OWN alone", names)
	}
	want, err := filepath.EvalSymlinks(cfg.Cwd)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.ask("cwd"); got != want {
		t.Errorf("the server started in %s, want %s", got, want)
	}
}

// TestRequestsOfTheServer: ping is answered, and nothing that was not offered.
func TestRequestsOfTheServer(t *testing.T) {
	r := start(t, peerConfig("asking")).ready()
	eventually(t, "all four are answered", func() bool { return strings.Count(r.ask("answers"), "\n") == 3 })
	answers := r.ask("answers")
	if !strings.Contains(answers, `"ask-0" {}`) {
		t.Errorf("ping is answered by %s", answers)
	}
	if n := strings.Count(answers, `"code":-32601`); n != 3 {
		t.Errorf("%d of 3 requests are answered with -32601: %s", n, answers)
	}
}

func TestReconnectOverlapsCalls(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				_, err := r.tool("echo").Call(t.Context(), ports.ToolCall{}, nil)
				if err != nil && !ports.IsKind(err, ports.KindUnavailable) && !ports.IsKind(err, ports.KindUnsure) {
					t.Errorf("beside a reconnection: %v", err)
				}
			}
		})
	}
	for range 3 {
		if err := r.src.Reconnect(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

func TestSecondRunIsRefused(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	wantKind(t, r.src.Run(t.Context(), r), ports.KindConflict, "running already")
}
