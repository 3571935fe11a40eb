package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/stat: USER_HZ, which is 100 everywhere (proc_stat(5)).
const tick = 10 * time.Millisecond

// usage is the CPU time that was used up to a moment.
type usage struct {
	at       time.Time
	process  time.Duration // of the process that is measured
	children time.Duration // of its children that live: its tool server
	own      time.Duration // ours: the load and the fakes
	machine  time.Duration // of everybody, ours included
}

func (u usage) minus(v usage) spent {
	return spent{u.at.Sub(v.at), u.process - v.process, u.children - v.children, u.own - v.own, u.machine - v.machine}
}

// spent is the CPU time used in a while.
type spent struct{ wall, process, children, own, machine time.Duration }

// others is the share of the machine that went to nobody of ours.
func (s spent) others(cores int) float64 {
	rest := s.machine - s.process - s.children - s.own
	return max(0, rest.Seconds()/(s.wall.Seconds()*float64(cores)))
}

func measureUsage(pid int) (u usage, err error) {
	u.at = time.Now()
	if u.machine, err = machineUsage(); err != nil {
		return u, err
	}
	if u.own, err = cpuOf(os.Getpid()); err != nil {
		return u, err
	}
	if u.process, err = cpuOf(pid); err != nil {
		return u, err
	}
	for _, child := range childrenOf(pid) {
		if cpu, err := cpuOf(child); err == nil { // else it has ended
			u.children += cpu
		}
	}
	return u, nil
}

// childrenOf finds a process's children.
func childrenOf(pid int) []int {
	var found []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		if parent, err := parentIn(b); err != nil || parent != pid {
			continue
		}
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			found = append(found, id)
		}
	}
	return found
}

// parentIn reads the parent's id in a line of /proc/PID/stat. Before it is the
// command, in brackets, which may hold anything.
func parentIn(line []byte) (int, error) {
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc: no parent in %q", line)
	}
	return strconv.Atoi(fields[1])
}

// machineUsage is all time that the cores were not idle.
func machineUsage() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	ticks := 0
	for i, f := range fields[1:9] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		if i != 3 && i != 4 { // idle, iowait
			ticks += n
		}
	}
	return time.Duration(ticks) * tick, nil
}

// memory is what a process has in memory, in MB of a million bytes.
type memory struct {
	resident  float64
	anonymous float64 // of it, what is not the program's own file
	peak      float64
}

func measureMemory(pid int) (memory, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	m := memory{}
	for name, to := range map[string]*float64{"VmRSS": &m.resident, "RssAnon": &m.anonymous, "VmHWM": &m.peak} {
		_, rest, ok := strings.Cut(string(b), "\n"+name+":")
		fields := strings.Fields(rest)
		if !ok || len(fields) == 0 {
			return m, fmt.Errorf("/proc: no %s", name)
		}
		kib, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return m, err
		}
		*to = kib * 1024 / 1e6
	}
	return m, nil
}
