package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// eofGrace is how long a child may take to leave once its stdin is closed,
	// termGrace how long after SIGTERM (MCP basic/lifecycle, "Shutdown").
	eofGrace  = 2 * time.Second
	termGrace = 2 * time.Second
	// killGrace is how long the kernel may take to end what was killed.
	killGrace = 5 * time.Second
)

// process is a child in a process group of its own, with our ends of its pipes.
type process struct {
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File
	exited                chan struct{} // closed when the child is gone and reaped
	mark                  string        // what it and all that it forks are known by; may be ""
	swept                 chan struct{} // closed when what left the child's group is gone too

	mu     sync.Mutex
	reaped bool // no signal any more: the pid may be somebody else's
}

// errNoCommand is a program, or a folder to start it in, that is not there.
var errNoCommand = errors.New("nothing can be started")

// startProcess starts command in dir with exactly env and, if there is one, the mark.
func startProcess(command string, args, env []string, dir, mark string, log *slog.Logger) (*process, error) {
	path, err := findCommand(command, env, dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("cwd %q is no folder: %w", dir, errNoCommand)
	}
	cmd := exec.Command(path, args...)
	cmd.Args[0] = command
	cmd.Env, cmd.Dir = withMark(env, mark), dir
	cmd.SysProcAttr = groupAttr()
	p := &process{cmd: cmd, exited: make(chan struct{}), mark: mark, swept: make(chan struct{})}
	theirs, err := p.pipes()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go p.live(theirs, started, log)
	if err := <-started; err != nil {
		<-p.swept
		p.stdin.Close()
		p.closeOutputs()
		return nil, fmt.Errorf("start %s: %w", command, err)
	}
	return p, nil
}

// pipes makes the three pipes and gives the child's ends. They are our own
// instead of exec's so that a write can have a deadline and Wait waits for the
// child alone, not for whoever inherited its output.
func (p *process) pipes() (theirs []*os.File, err error) {
	var all []*os.File
	pair := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			all = append(all, r, w)
		}
		return r, w
	}
	in, stdin := pair()
	stdout, out := pair()
	stderr, errs := pair()
	if err != nil {
		closeAll(all)
		return nil, fmt.Errorf("pipe: %w", err)
	}
	p.stdin, p.stdout, p.stderr = stdin, stdout, stderr
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errs
	return []*os.File{in, out, errs}, nil
}

// live starts the child and stays until it is gone. It keeps its OS thread for
// that long: the kernel sends the parent-death signal when the thread that
// started the child ends, not when the process does (prctl(2), PR_SET_PDEATHSIG).
func (p *process) live(theirs []*os.File, started chan<- error, log *slog.Logger) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.swept)
	err := p.cmd.Start()
	closeAll(theirs)
	started <- err
	if err == nil {
		p.reap()
	}
	close(p.exited)
	if err == nil {
		endStragglers(p.mark, log)
	}
}

// ending says how the child ended. Call it after exited is closed.
func (p *process) ending() string {
	if p.cmd.ProcessState == nil {
		return "unknown"
	}
	return p.cmd.ProcessState.String()
}

// stop ends the child and its group: by closing its stdin if polite, then by
// SIGTERM, then by SIGKILL. It returns when the child is gone, and with it what
// it forked.
func (p *process) stop(polite bool) error {
	if err := p.end(polite); err != nil {
		return err
	}
	<-p.swept
	return nil
}

func (p *process) end(polite bool) error {
	p.stdin.Close()
	if polite && p.gone(eofGrace) {
		return nil
	}
	p.signal(termGroup)
	if p.gone(termGrace) {
		return nil
	}
	p.signal(killGroup)
	if p.gone(killGrace) {
		return nil
	}
	return fmt.Errorf("process %d is still there after it was killed", p.cmd.Process.Pid)
}

func (p *process) closeOutputs() {
	p.stdout.Close()
	p.stderr.Close()
}

func (p *process) gone(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

func (p *process) signal(send func(pid int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		send(p.cmd.Process.Pid)
	}
}

// findCommand looks command up in the PATH of the child rather than in ours.
func findCommand(command string, env []string, dir string) (string, error) {
	if filepath.Base(command) != command {
		path := command
		if dir != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("command %q cannot be run (%w): %w", command, cause(err), errNoCommand)
		}
		return command, nil
	}
	for _, folder := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue // a relative entry would run what lies in the working directory
		}
		if path, err := exec.LookPath(filepath.Join(folder, command)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("command %q was not found in PATH: %w", command, errNoCommand)
}

func cause(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

func lookup(env []string, name string) string {
	for _, pair := range env {
		if len(pair) > len(name) && pair[len(name)] == '=' && pair[:len(name)] == name {
			return pair[len(name)+1:]
		}
	}
	return ""
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// brokenPipe reports whether a write failed because nobody reads any more.
func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}
