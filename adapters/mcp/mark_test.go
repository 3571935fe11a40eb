//go:build linux

package mcp

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/ports"
)

func TestAMarkTellsWhoseChildItIs(t *testing.T) {
	folder := t.TempDir()
	m, other := NewMark(folder), NewMark(t.TempDir())
	mine := m.next()
	if again := m.next(); again == mine {
		t.Error("two children have the same mark")
	}
	part := strings.Split(mine, ":") // folder, namespace, process, start, child
	nobody := func(int, string) bool { return false }
	for name, test := range map[string]struct {
		mark  string
		alive func(int, string) bool
		want  bool
	}{
		"its owner is gone":           {mine, nobody, true},
		"its owner lives":             {mine, runs, false},
		"its owner's id is another's": {strings.Join([]string{part[0], part[1], part[2], "1", part[4]}, ":"), runs, true},
		"another folder":              {other.next(), nobody, false},
		"another namespace":           {strings.Join([]string{part[0], "1", part[2], part[3], part[4]}, ":"), nobody, false},
		"no mark":                     {"", nobody, false},
		"half a mark":                 {strings.Join(part[:3], ":"), nobody, false},
		"a mark of nobody":            {part[0] + ":" + part[1] + ":x:1:1", nobody, false},
		"a mark of everybody":         {part[0] + ":" + part[1] + ":-1:1:1", nobody, false},
	} {
		if got := m.abandoned(test.mark, test.alive); got != test.want {
			t.Errorf("%s: %q abandoned = %v", name, test.mark, got)
		}
	}
	link := folder + "-link"
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	if NewMark(link).kin != m.kin {
		t.Error("a folder has another mark by another name")
	}
}

func TestAChildHasOneMark(t *testing.T) {
	cfg := peerConfig("good")
	t.Setenv(childVar, "that of a gateway that started this one")
	cfg.InheritEnv = append(cfg.InheritEnv, childVar)
	src, err := New(cfg, Deps{Mark: NewMark(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	r := startSource(t, src).ready()
	env := r.ask("env")
	if strings.Count(env, childVar+"=") != 1 || !strings.Contains(env, childVar+"="+src.deps.Mark.kin) {
		t.Errorf("the child sees %s", env)
	}
}

// TestWhatLeftTheGroupGoesWithItsChild: a process that the server put into a
// session of its own, deaf to SIGTERM, is gone when the server is.
func TestWhatLeftTheGroupGoesWithItsChild(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"stop":  (*rig).end,
		"crash": func(r *rig) { _ = killPeer(r.src); r.awaitPhase(ports.PhaseDegraded, 0); r.end() },
		"exit":  func(r *rig) { _, _ = r.call(r.t.Context(), "ask", `{"what":"leave"}`); r.end() },
	} {
		t.Run(name, func(t *testing.T) {
			mark := NewMark(t.TempDir())
			mine, other := markedRig(t, mark), markedRig(t, mark)
			away, beside, others := mine.fork("fork away"), mine.fork("fork beside"), other.fork("fork away")
			end(mine)
			for _, pid := range []int{away, beside} {
				gone(t, pid)
			}
			if dead(others) {
				t.Error("what another server forked was ended too")
			}
		})
	}
}

func markedRig(t *testing.T, mark *Mark) *rig {
	t.Helper()
	src, err := New(peerConfig("good"), Deps{Mark: mark})
	if err != nil {
		t.Fatal(err)
	}
	return startSource(t, src).ready()
}

func (r *rig) fork(how string) int {
	r.t.Helper()
	pid, err := strconv.Atoi(r.ask(how))
	if err != nil || dead(pid) {
		r.t.Fatalf("nothing was forked: %d, %v", pid, err)
	}
	return pid
}

func dead(pid int) bool { return syscall.Kill(pid, 0) != nil || isZombie(pid) }

// killed is a gateway in a process of its own, with what its server forked.
type killed struct {
	*exec.Cmd
	server int
	forked []int
}

func startKillable(t *testing.T, folder string) *killed {
	t.Helper()
	k := &killed{Cmd: exec.Command(os.Args[0])}
	k.Env = append(os.Environ(), modeVar+"=gateway", folderVar+"="+folder)
	out, err := k.StdoutPipe()
	if err == nil {
		err = k.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = k.Process.Kill()
		_ = k.Wait()
		for _, pid := range k.forked { // or nobody ever would
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	lines := bufio.NewScanner(out)
	for len(k.forked) < 2 && lines.Scan() {
		var pid int
		_, _ = fmt.Sscanf(lines.Text(), "server %d", &k.server)
		if _, err := fmt.Sscanf(lines.Text(), "forked %d", &pid); err == nil {
			k.forked = append(k.forked, pid)
		}
	}
	if len(k.forked) < 2 {
		t.Fatalf("the gateway's server forked %v", k.forked)
	}
	return k
}

// TestTheNextStartEndsOrphans: what the servers of a killed gateway forked is
// found and ended; a gateway that runs, and one on another folder, keep theirs.
func TestTheNextStartEndsOrphans(t *testing.T) {
	folder := t.TempDir()
	past, elsewhere, alive := startKillable(t, folder), startKillable(t, t.TempDir()), startKillable(t, folder)
	for _, k := range []*killed{past, elsewhere} {
		if err := k.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = k.Wait()
		eventually(t, "its child died with it", func() bool { return dead(k.server) })
	}
	for _, pid := range past.forked {
		if dead(pid) {
			t.Fatal("what was forked died with the gateway: there is nothing to test")
		}
	}
	log := new(journal)
	NewMark(folder).EndOrphans(t.Context(), slog.New(slog.NewTextHandler(log, nil)))
	line := log.line("mcp_orphans_ended")
	for _, pid := range past.forked {
		gone(t, pid)
		if !strings.Contains(line, strconv.Itoa(pid)) {
			t.Errorf("process %d is not in the log: %q", pid, line)
		}
	}
	if !strings.Contains(line, "count=2") {
		t.Errorf("the log says %q", line)
	}
	for _, pid := range append(elsewhere.forked, alive.forked...) {
		if dead(pid) {
			t.Errorf("process %d was ended, and is not an orphan of this folder", pid)
		}
	}
	begun := time.Now()
	NewMark(folder).EndOrphans(t.Context(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	t.Logf("a search that finds nothing takes %s", time.Since(begun))
}
