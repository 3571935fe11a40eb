package mcp

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttr puts the child into a process group of its own and lets the kernel
// kill it when we die, however we die.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for the child's end, ends what it left behind in its group, and
// only then takes the child off the kernel's list: until then nobody else can
// get its group id.
func (p *process) reap() {
	pid := p.cmd.Process.Pid
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(pid)
	_ = p.cmd.Wait() // how it ended is in ProcessState
	p.reaped = true
}

func termGroup(pid int) { _ = unix.Kill(-pid, unix.SIGTERM) }
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }
