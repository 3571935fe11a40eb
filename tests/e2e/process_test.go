package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a child of the test whose output is kept, line by line.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended; err and the exit code are set then
	err  error

	complain sync.Once
	mu       sync.Mutex
	lines    []string
	rest     []byte // the line that has no end yet
}

// linesShown is how much of a child's output a failed test prints.
const linesShown = 60

// start runs a program. Its output goes to the test's log if the test fails.
func start(t testing.TB, dir string, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = dir, env, p, p
	// A grandchild that keeps the pipe open must not keep us waiting.
	p.cmd.WaitDelay = 20 * time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		p.wait(t, stopWithin)
		if t.Failed() {
			lines := p.Lines()
			t.Logf("output of %s, the last of %d lines:\n%s", filepath.Base(name), len(lines), strings.Join(lines[max(0, len(lines)-linesShown):], "\n"))
		}
	})
	return p
}

// Write takes the child's output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, b...)
	for {
		line, rest, found := bytes.Cut(p.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		p.lines, p.rest = append(p.lines, string(line)), rest
	}
}

// Lines are the lines that it wrote so far, stderr and stdout together.
func (p *process) Lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := slices.Clone(p.lines)
	if len(p.rest) > 0 {
		lines = append(lines, string(p.rest))
	}
	return lines
}

// WaitLine waits for a line that matches and returns the match and its groups.
func (p *process) WaitLine(t testing.TB, pattern string, within time.Duration) []string {
	t.Helper()
	var match []string
	eventually(t, within, "a line like "+pattern, func() (err error) {
		match, err = p.match(regexp.MustCompile(pattern))
		return err
	})
	return match
}

func (p *process) match(pattern *regexp.Regexp) ([]string, error) {
	ended := p.ended() // before the lines are read, so that none is missed
	for _, line := range p.Lines() {
		if match := pattern.FindStringSubmatch(line); match != nil {
			return match, nil
		}
	}
	if ended {
		return nil, final{fmt.Errorf("the process ended without it: %v", p.err)}
	}
	return nil, errors.New("not seen")
}

// signal does nothing to a process that has ended.
func (p *process) signal(s os.Signal) {
	if !p.ended() {
		_ = p.cmd.Process.Signal(s)
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait returns the exit code, -1 after a signal. It fails the test if the process
// does not end, if one of its children outlived it, or if the race detector spoke.
func (p *process) wait(t testing.TB, within time.Duration) int {
	t.Helper()
	name := filepath.Base(p.cmd.Path)
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.done
		t.Errorf("%s did not end within %v", name, within)
	}
	p.complain.Do(func() {
		if errors.Is(p.err, exec.ErrWaitDelay) {
			t.Errorf("a child of %s outlived it", name)
		}
		if slices.ContainsFunc(p.Lines(), func(line string) bool { return strings.Contains(line, "WARNING: DATA RACE") }) {
			t.Errorf("%s has a data race", name)
		}
	})
	return p.cmd.ProcessState.ExitCode()
}

// sandbox makes a folder for processes of the test, and the environment that
// they start with. At the test's end the folder is removed, and a process that
// was started with this environment, by whomever, and still runs fails the test.
// The folder's name is short: Unix sockets in it have 108 bytes for their path.
func sandbox(t testing.TB) (dir string, env []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { noSurvivors(t, dir, 20*time.Second) })
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	// TMPDIR is what a gateway hands on to its own children too: the mark.
	return dir, []string{"PATH=" + pathWithNode(), "HOME=" + dir, "TMPDIR=" + tmp}
}

// noSurvivors gives what was told to stop a while to do so, and ends the rest.
func noSurvivors(t testing.TB, dir string, within time.Duration) {
	t.Helper()
	late := time.Now().Add(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for left := survivors(dir); len(left) > 0; left = survivors(dir) {
		if time.Now().Before(late) {
			<-tick.C
			continue
		}
		for pid, command := range left {
			t.Errorf("still running after the test: %d %s", pid, command)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return
	}
}

// survivors are the processes, by id with their command lines, whose environment
// named something in a test's folder when they started. Linux only; elsewhere it finds none.
func survivors(dir string) map[int]string {
	found := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file) // fails for other people's, and for those that ended
		if err != nil || !bytes.Contains(env, []byte(dir+"/")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		found[pid] = strings.TrimSpace(string(bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
	}
	return found
}

// final is an error after which waiting on is pointless.
type final struct{ error }

// eventually waits until check returns nil. It fails the test at the deadline,
// or at once when check returns a final error.
func eventually(t testing.TB, within time.Duration, what string, check func() error) {
	t.Helper()
	if err := poll(within, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func poll(within time.Duration, check func() error) error {
	late := time.NewTimer(within)
	defer late.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil || errors.As(err, &final{}) {
			return err
		}
		select {
		case <-tick.C:
		case <-late.C:
			return fmt.Errorf("not within %v: %w", within, err)
		}
	}
}
