//go:build unix && !linux

package mcp

import "syscall"

// groupAttr puts the child into a process group of its own. There is no
// parent-death signal here: a child whose parent was killed sees its stdin end.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits for the child's end and ends what it left behind in its group.
func (p *process) reap() {
	_ = p.cmd.Wait() // how it ended is in ProcessState
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	killGroup(p.cmd.Process.Pid)
}

func termGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
