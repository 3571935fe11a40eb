//go:build unix

package mcpfaults

import "syscall"

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// modest lets others go first: a fault that is busy without end shows what it
// does to its client, not that the machine has few processors.
func modest() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) }
