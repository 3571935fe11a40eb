// Package e2e drives the real binary against peers that nobody here wrote.
//
// A test starts a gateway with the text of a config and an environment that
// holds nothing but what the test gives, and a model whose answers are fixtures:
//
//	mock := startAimock(t, says("hello", "Hello yourself."))
//	g := startGateway(t, `{"version": 1, "listen": "${LISTEN}", …}`, "MODEL="+mock.URL+"/v1")
//	g.WaitLine(`login link`, 5*time.Second)
//	g.Kill() // SIGKILL
//	g.Start() // on the same folder
//
// What a test started is ended with it; whatever of it still runs then fails it.
//
// A gateway has a folder, an address and peers of its own, so tests run side by
// side (t.Parallel first, measured where a bound is checked) and mostly wait. The
// few that measure, or need what there is once, run alone, before the others. A
// deadline is what a machine with sixteen gateways on it may take, unless its
// length is what is tested.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/tests/fake/mcpfaults"
)

// embeddedDefault as a config means that there is no file.
const embeddedDefault = ""

const (
	readyWithin = time.Minute // the race detector on a busy machine
	stopWithin  = time.Minute // the default drain and some
)

// gateway is a Dragoman that runs as a process, may be killed and started again.
// Its methods belong to the test's goroutine.
type gateway struct {
	URL string // http://host:port of its listener; the config names it by ${LISTEN}
	Dir string // its working folder, with dragoman.json in it

	t    testing.TB
	bin  string
	env  []string
	proc *process // nil before the first start
}

// startGateway builds the binary, starts it and waits until it is ready.
func startGateway(t testing.TB, config string, env ...string) *gateway {
	t.Helper()
	g := newGateway(t, gatewayBinary(t), config, env...)
	g.Start()
	g.WaitReady()
	return g
}

// newGateway prepares a folder with the config, and starts nothing. The process
// will see the given variables (NAME=value), LISTEN, PATH with Node 22 first if
// it is installed, and a HOME and TMPDIR of its own.
func newGateway(t testing.TB, bin, config string, env ...string) *gateway {
	t.Helper()
	dir, childEnv := sandbox(t)
	listen := "127.0.0.1:7420" // the embedded default's own
	if config != embeddedDefault {
		if err := os.WriteFile(filepath.Join(dir, "dragoman.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		listen = freeAddress(t)
	}
	return &gateway{
		URL: "http://" + listen,
		Dir: dir,
		t:   t,
		bin: bin,
		env: slices.Concat(childEnv, []string{"LISTEN=" + listen}, env),
	}
}

// Start starts the process, on whatever a run before left in the folder.
func (g *gateway) Start() {
	g.t.Helper()
	if g.proc != nil && !g.proc.ended() {
		g.t.Fatal("the gateway runs already")
	}
	g.proc = start(g.t, g.Dir, g.env, g.bin, "run") // finds ./dragoman.json by itself
	g.t.Cleanup(g.cleanup)
}

// WaitReady waits until /readyz says 200.
func (g *gateway) WaitReady() {
	g.t.Helper()
	eventually(g.t, readyWithin, "the gateway is ready", func() error {
		if g.proc.ended() {
			return final{fmt.Errorf("it ended: %v", g.proc.err)}
		}
		status, err := g.status("/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("/readyz: %d", status)
		}
		return err
	})
}

// WaitLine waits for a line that matches, on stderr or stdout, since the last
// start, and returns the match and its groups.
func (g *gateway) WaitLine(pattern string, within time.Duration) []string {
	g.t.Helper()
	return g.proc.WaitLine(g.t, pattern, within)
}

// Kill ends the process as a power cut would.
func (g *gateway) Kill() {
	g.t.Helper()
	g.proc.signal(syscall.SIGKILL)
	g.proc.wait(g.t, stopWithin)
}

// Term asks the process to stop and fails the test unless it does, with exit code 0.
func (g *gateway) Term() {
	g.t.Helper()
	g.proc.signal(syscall.SIGTERM)
	if code := g.proc.wait(g.t, stopWithin); code != 0 {
		g.t.Errorf("after SIGTERM the gateway's exit code was %d, want 0", code)
	}
}

// Restart is Term, Start and WaitReady.
func (g *gateway) Restart() {
	g.t.Helper()
	g.Term()
	g.Start()
	g.WaitReady()
}

// CLI runs another command of the binary on the same folder and in the same
// environment: g.CLI("tools", "--json").
func (g *gateway) CLI(args ...string) (stdout, stderr string, code int) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 2*time.Minute)
	defer cancel()
	var out, errs strings.Builder
	cmd := exec.CommandContext(ctx, g.bin, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.Dir, g.env, &out, &errs
	cmd.WaitDelay = 20 * time.Second
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		g.t.Fatalf("dragoman %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (g *gateway) status(path string) (int, error) {
	ctx, cancel := context.WithTimeout(g.t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+path, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// cleanup stops in good order what a passing test left running, so that the stop
// is part of what is tested.
func (g *gateway) cleanup() {
	if g.proc == nil || g.proc.ended() {
		return
	}
	if g.t.Failed() {
		g.Kill()
		return
	}
	g.Term()
}

// freeAddress asks the kernel for a port. Another process may take it before the
// gateway does, and the config has no way to ask for any port: where all of
// 127.0.0.0/8 is this machine, an address that nobody else is likely to use keeps
// it free.
func freeAddress(t testing.TB) string {
	t.Helper()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250))
	}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// binaries is where gatewayBinary builds; TestMain removes it.
var binaries string

// build and buildPlain are shared by all tests of a run.
var (
	build      = sync.OnceValues(func() (string, error) { return compile("dragoman", raceEnabled()) })
	buildPlain = sync.OnceValues(func() (string, error) { return compile("dragoman-plain", false) })
)

func compile(name string, race bool) (string, error) {
	bin := filepath.Join(binaries, name)
	cmd := exec.Command("go", "build", "-o", bin)
	if race {
		cmd.Args = append(cmd.Args, "-race")
	} else {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped
	}
	cmd.Args = append(cmd.Args, "dragoman/cmd/dragoman")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
}

// plainBinary is the path of the gateway as it is shipped, without the race
// detector, for tests that measure.
func plainBinary(t testing.TB) string {
	t.Helper()
	if !raceEnabled() {
		return gatewayBinary(t)
	}
	bin, err := buildPlain()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// gatewayBinary is the path of the gateway, with the race detector if the test has it.
func gatewayBinary(t testing.TB) string {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// measured is t.Parallel for a test whose bounds on time and memory count without
// the race detector only: then it runs alone.
func measured(t *testing.T) {
	t.Helper()
	if raceEnabled() {
		t.Parallel()
	}
}

func raceEnabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestMain(m *testing.M) {
	if os.Getenv("E2E_STAND_IN") != "" {
		standIn()
	}
	if len(os.Args) == 4 && os.Args[1] == faultArg {
		mcpfaults.Run(os.Args[2], os.Args[3])
	}
	if os.Getenv("E2E_TOOLS") != "" {
		serveTools()
	}
	if os.Getenv("E2E_REPORTS") != "" {
		serveReports()
	}
	if os.Getenv("E2E_BULK") != "" {
		serveBulk()
	}
	if file := os.Getenv("E2E_CATALOG"); file != "" {
		serveCatalog(file)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "e2e-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	return m.Run()
}
