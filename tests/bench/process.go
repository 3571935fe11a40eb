package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// patience is how long a process may take for what takes moments.
const patience = 15 * time.Second

// process is a child that is measured. Its output is a file in its folder.
type process struct {
	cmd    *exec.Cmd
	log    *os.File
	began  time.Time
	exited chan struct{} // closed when err is set
	err    error
}

// start starts a program in a folder, with env alone. The child dies with us, even
// if we are killed; end it with stop.
func start(dir string, env []string, name string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, "output.log"))
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(name, args...), log: log, exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = dir, env, log, log
	p.cmd.SysProcAttr = mortal()
	started := make(chan error)
	go p.live(started)
	if err := <-started; err != nil {
		_ = log.Close()
		return nil, err
	}
	return p, nil
}

// live keeps the thread that started the child for as long as the child lives: the
// kernel takes the thread's end for ours.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.exited)
	p.began = time.Now()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop asks the child to end, and makes it. The error is that it had to be made
// to, or did not end well.
func (p *process) stop() error {
	defer p.log.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.exited:
	case <-late.C:
		p.kill()
		return errors.New("it did not stop and was killed")
	}
	return p.err
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// alive is an error if the child has ended.
func (p *process) alive() error {
	select {
	case <-p.exited:
		return fmt.Errorf("it ended: %v", p.err)
	default:
		return nil
	}
}

// tail is the end of what the child printed.
func (p *process) tail() string {
	b, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// pause waits for d, or returns ctx's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
