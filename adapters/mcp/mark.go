package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// childVar is the variable that each child gets beside those of its config. What
// the child forks inherits it: that is how it is found again after the child,
// or we, are gone.
const childVar = "DRAGOMAN_CHILD"

// Mark is what the children of one gateway are known by: its data folder, and
// this process as their owner. Safe for many goroutines. nil marks nothing, and
// finds nothing.
type Mark struct {
	kin   string // the data folder and the process id namespace: what kin gateways have in common
	owner string // this process: its id and when it was started
	last  atomic.Int64
}

// NewMark is the mark of the children that this process has for the data folder.
// Where processes cannot be told apart for sure (anywhere but on Linux with
// /proc), it is nil.
func NewMark(folder string) *Mark {
	space, started, ok := identity()
	if !ok {
		return nil
	}
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	sum := sha256.Sum256([]byte(folder))
	return &Mark{
		kin:   hex.EncodeToString(sum[:8]) + ":" + space,
		owner: fmt.Sprintf("%d:%s", os.Getpid(), started),
	}
}

// next is the mark of one more child; "" of a nil Mark.
func (m *Mark) next() string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%s:%s:%d", m.kin, m.owner, m.last.Add(1))
}

// abandoned reports whether mark is of a child of a gateway on the same data
// folder, in the same process id namespace, that is gone. alive tells whether
// the process that was started then still runs.
func (m *Mark) abandoned(mark string, alive func(pid int, started string) bool) bool {
	rest, ok := strings.CutPrefix(mark, m.kin+":")
	if !ok {
		return false
	}
	part := strings.Split(rest, ":")
	if len(part) != 3 {
		return false
	}
	pid, err := strconv.Atoi(part[0])
	return err == nil && pid > 0 && !alive(pid, part[1])
}

// withMark is env with the mark, whatever env says of it.
func withMark(env []string, mark string) []string {
	list := make([]string, 0, len(env)+1)
	if mark != "" {
		list = append(list, childVar+"="+mark)
	}
	for _, pair := range env {
		if !strings.HasPrefix(pair, childVar+"=") {
			list = append(list, pair)
		}
	}
	return list
}
