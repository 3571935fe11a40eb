package mcp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// maxEnviron is how much of a process's environment is looked at.
	maxEnviron = 1 << 20
	// endEvery is how often processes that are being ended are looked for.
	endEvery = 50 * time.Millisecond
)

// EndOrphans ends what gateways on the same data folder started or forked and
// left behind when they were killed: by SIGTERM, after a while by SIGKILL. What
// belongs to a process that still runs, and this process, are left alone. It
// returns when they are gone, or after seven seconds with those that the kernel
// cannot end; at once when ctx ends.
//
// They are known by their environment as it was when they were started. What a
// process wiped out of its own, or did not hand on, hides it.
func (m *Mark) EndOrphans(ctx context.Context, log *slog.Logger) {
	if m == nil {
		return
	}
	ended, left := end(ctx.Done(), func(mark string) bool { return m.abandoned(mark, runs) }, termGrace)
	if len(ended) > 0 {
		log.Info("mcp_orphans_ended", "pids", ended, "count", len(ended))
	}
	if len(left) > 0 {
		log.Warn("mcp_orphans_unkillable", "pids", left)
	}
}

// endStragglers kills what the child with the mark forked and what left its
// process group. The child itself is gone.
func endStragglers(mark string, log *slog.Logger) {
	if mark == "" {
		return
	}
	ended, left := end(nil, func(m string) bool { return m == mark }, 0)
	if len(ended) > 0 {
		log.Debug("mcp_orphans_ended", "pids", ended, "count", len(ended))
	}
	if len(left) > 0 {
		log.Warn("mcp_orphans_unkillable", "pids", left)
	}
}

// end ends each process whose mark is one of those, and what these fork
// meanwhile: each is asked to leave once, and killed when grace is over. It
// looks again until there is none: what has ended has no environment any more.
func end(quit <-chan struct{}, one func(mark string) bool, grace time.Duration) (ended, left []int) {
	begun := time.Now()
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	for {
		left = nil
		for pid := range processes() {
			if pid == os.Getpid() || !one(markOf(pid)) {
				continue
			}
			known := slices.Contains(ended, pid)
			switch late := time.Since(begun) >= grace; {
			case late:
				signalMarked(pid, one, syscall.SIGKILL)
			case !known:
				signalMarked(pid, one, syscall.SIGTERM)
			}
			if !known {
				ended = append(ended, pid)
			}
			left = append(left, pid)
		}
		if len(left) == 0 || time.Since(begun) >= grace+killGrace {
			return ended, left
		}
		select {
		case <-tick.C:
		case <-quit:
			return ended, nil
		}
	}
}

// signalMarked holds on to the process before it looks at its mark again: a
// process that gets the same id afterwards is not signalled.
func signalMarked(pid int, one func(mark string) bool, sig syscall.Signal) {
	p, err := os.FindProcess(pid) // a pidfd
	if err != nil {
		return
	}
	defer p.Release()
	if one(markOf(pid)) {
		_ = p.Signal(sig)
	}
}

// processes gives the id of each process that can be seen.
func processes() func(yield func(pid int) bool) {
	return func(yield func(pid int) bool) {
		proc, err := os.Open("/proc")
		if err != nil {
			return
		}
		defer proc.Close()
		names, _ := proc.Readdirnames(-1)
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil && !yield(pid) {
				return
			}
		}
	}
}

// markOf is the mark that a process was started with; "" of others, and of those
// that are not ours to look at.
func markOf(pid int) string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	defer f.Close()
	env, _ := io.ReadAll(io.LimitReader(f, maxEnviron))
	for pair := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := bytes.CutPrefix(pair, []byte(childVar+"=")); ok {
			return string(mark)
		}
	}
	return ""
}

// runs reports whether the process that was started then is there, and no zombie.
func runs(pid int, started string) bool {
	state, since, ok := stat(strconv.Itoa(pid))
	return ok && since == started && state != "Z" && state != "X"
}

// stat gives a process's state and when it was started, in ticks since the
// kernel was (proc_pid_stat(5), fields 3 and 22).
func stat(pid string) (state, started string, ok bool) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", "", false
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name before may hold anything
	if len(fields) < 20 {
		return "", "", false
	}
	return fields[0], fields[19], true
}

// identity is what tells this process from any other on this machine, beside its id.
func identity() (space, started string, ok bool) {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", "", false
	}
	_, started, ok = stat(strconv.Itoa(os.Getpid()))
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]"), started, ok
}
