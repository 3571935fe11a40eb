package chaos

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const stopWithin = 40 * time.Second

// binaries is where the gateway is built; TestMain removes it.
var binaries string

var build = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("CHAOS_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	bin := filepath.Join(binaries, "dragoman")
	cmd := exec.Command("go", "build", "-o", bin, "dragoman/cmd/dragoman")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "chaos-bin"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(binaries)
	os.Exit(code)
}

// gateway is the process under test: one life after the other in one folder. Its
// methods belong to the test's goroutine.
type gateway struct {
	bin, dir, address string
	output            *os.File // of all lives
	cmd               *exec.Cmd
	done              chan struct{} // closed when the life is over
	lives             int
}

func newGateway(t *testing.T, config string) *gateway {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "dragoman.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := os.Create(filepath.Join(dir, "output.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { output.Close() })
	return &gateway{bin: bin, dir: dir, output: output}
}

func (g *gateway) start(t *testing.T) {
	t.Helper()
	g.lives++
	cmd := exec.Command(g.bin, "run")
	cmd.Dir, cmd.Stdout, cmd.Stderr = g.dir, g.output, g.output
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "TMPDIR=" + os.TempDir(), "LISTEN=" + g.address, "LIFE=" + strconv.Itoa(g.lives)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	g.cmd, g.done = cmd, done
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
}

// alive fails the test if the gateway ended by itself.
func (g *gateway) alive(t *testing.T) {
	t.Helper()
	select {
	case <-g.done:
		t.Fatalf("life %d ended by itself (%s); the end of the log:\n%s", g.lives, g.cmd.ProcessState, g.tail())
	default:
	}
}

func (g *gateway) signal(s syscall.Signal) {
	_ = g.cmd.Process.Signal(s) // it may have ended
}

// wait waits for the end of this life.
func (g *gateway) wait(t *testing.T) {
	t.Helper()
	late := time.NewTimer(stopWithin)
	defer late.Stop()
	select {
	case <-g.done:
	case <-late.C:
		t.Fatalf("life %d does not end; the end of the log:\n%s", g.lives, g.tail())
	}
}

func (g *gateway) kill(t *testing.T) {
	t.Helper()
	g.signal(syscall.SIGKILL)
	g.wait(t)
}

// term asks it to drain and leave, which it must do in good order. It reports false
// if it was so young that the signal ended it, as it ends any process.
func (g *gateway) term(t *testing.T) (drained bool) {
	t.Helper()
	g.signal(syscall.SIGTERM)
	g.wait(t)
	if status, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGTERM {
		return false
	}
	if code := g.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("after SIGTERM the exit code was %d; the end of the log:\n%s", code, g.tail())
	}
	return true
}

// listen makes the next life serve HTTP.
func (g *gateway) listen(t *testing.T) {
	t.Helper()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" { // where nobody else is likely to take the port meanwhile
		host = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250))
	}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g.address = l.Addr().String()
}

func (g *gateway) tail() string {
	text, err := os.ReadFile(g.output.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// usage is what the gateway's process uses.
type usage struct {
	rss, peak               int64 // bytes
	descriptors, goroutines int
}

// usage reads the figures of the life that listens. Linux only.
func (g *gateway) usage(t *testing.T) usage {
	t.Helper()
	var u usage
	proc := fmt.Sprintf("/proc/%d", g.cmd.Process.Pid)
	status, err := os.ReadFile(proc + "/status")
	if err != nil {
		t.Error(err)
		return u
	}
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			u.rss = n << 10
		case "VmHWM":
			u.peak = n << 10
		}
	}
	open, err := os.ReadDir(proc + "/fd")
	if err != nil {
		t.Error(err)
	}
	u.descriptors = len(open)
	if u.goroutines, err = g.goroutines(t.Context()); err != nil {
		t.Error(err)
	}
	return u
}

// goroutines is the gateway's own count.
func (g *gateway) goroutines(ctx context.Context) (int, error) {
	token, err := os.ReadFile(filepath.Join(g.dir, "dragoman-data", "admin-token"))
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(text), "\ngo_goroutines ")
	if !ok {
		return 0, fmt.Errorf("/metrics: %s, and no go_goroutines", res.Status)
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.Atoi(line)
}
