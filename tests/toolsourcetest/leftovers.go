package toolsourcetest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// settles is how long what a source leaves may take to go by itself.
const settles = 10 * time.Second

// footprint is what a source may leave behind: goroutines, by the header of
// their stack, and children, by process id.
type footprint struct {
	goroutines map[string]string
	children   map[string]bool
}

func takeFootprint() footprint {
	return footprint{goroutines: goroutines(), children: children()}
}

// same waits until nothing is there that was not there before.
func (before footprint) same(within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		left := before.added(takeFootprint())
		if left == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it left behind:\n%s", left)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// added says what is there now and was not before.
func (before footprint) added(now footprint) string {
	var b strings.Builder
	for pid := range now.children {
		if !before.children[pid] {
			fmt.Fprintf(&b, "the process %s\n", pid)
		}
	}
	for id, stack := range now.goroutines {
		if _, ok := before.goroutines[id]; !ok {
			fmt.Fprintf(&b, "%s\n\n", stack)
		}
	}
	return b.String()
}

// goroutines are the stacks of all goroutines by id, without those that the
// testing package has of its own for each test.
func goroutines() map[string]string {
	buf := make([]byte, 4<<20)
	all := string(buf[:runtime.Stack(buf, true)])
	found := make(map[string]string)
	for stack := range strings.SplitSeq(all, "\n\n") {
		head, _, _ := strings.Cut(stack, " [")
		if !strings.Contains(stack, "created by testing.") {
			found[head] = stack
		}
	}
	return found
}

// children are the process ids of our children, where the system tells (Linux).
func children() map[string]bool {
	found := make(map[string]bool)
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, name := range files {
		list, err := os.ReadFile(name)
		if err != nil {
			continue // a thread that ended meanwhile
		}
		for pid := range strings.FieldsSeq(string(list)) {
			found[pid] = true
		}
	}
	return found
}
