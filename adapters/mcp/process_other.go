//go:build !unix

package mcp

import (
	"os"
	"syscall"
)

func groupAttr() *syscall.SysProcAttr { return nil }

// reap waits for the child's end.
func (p *process) reap() {
	_ = p.cmd.Wait() // how it ended is in ProcessState
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
}

// termGroup does nothing: there is no request to leave but the closed stdin.
func termGroup(int) {}

// killGroup ends the child alone; process groups are a thing of Unix.
func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
		_ = p.Release()
	}
}
