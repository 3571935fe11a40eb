package main

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A gateway that can make a profile begins and ends it at these signals.
const (
	beginProfile = syscall.SIGUSR1
	endProfile   = syscall.SIGUSR2
)

func mortal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// cpuOf is the user and system time of a process and of all threads that it ever
// had, to the nanosecond; /proc/PID/stat counts in hundredths of a second. The
// clock's number is what clock_getcpuclockid(3) makes of the process's.
func cpuOf(pid int) (time.Duration, error) {
	const ofAllThreads = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|ofAllThreads), &t); err != nil {
		return 0, fmt.Errorf("the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}
