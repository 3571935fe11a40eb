package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// figures are what the gateway's process uses, seen from outside. Linux only.
type figures struct {
	RSS, PeakRSS int64 // bytes
	Descriptors  int
	Threads      int
	CPU          time.Duration // user and system
	Goroutines   int64         // 0 if nobody asked
}

func (f figures) String() string {
	return fmt.Sprintf("RSS %.1f MiB (peak %.1f), %d goroutines, %d descriptors, %d threads, %s CPU",
		float64(f.RSS)/(1<<20), float64(f.PeakRSS)/(1<<20), f.Goroutines, f.Descriptors, f.Threads, f.CPU)
}

// usage reads the figures of now.
func usage(t testing.TB, g *gateway) figures {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d", g.proc.cmd.Process.Pid)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		t.Fatal(err)
	}
	var f figures
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			f.RSS = n << 10
		case "VmHWM":
			f.PeakRSS = n << 10
		case "Threads":
			f.Threads = int(n)
		}
	}
	open, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	f.Descriptors = len(open)
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range fields[11:13] { // utime and stime, in ticks of 10 ms
		n, _ := strconv.ParseInt(field, 10, 64)
		f.CPU += time.Duration(n) * 10 * time.Millisecond
	}
	return f
}
