//go:build unix

package mcp

import (
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/ports"
)

// pidFor asks the server of a person for its process id.
func (r *rig) pidFor(person ports.PersonID) string {
	r.t.Helper()
	result, err := r.tool("ask").Call(r.t.Context(), ports.ToolCall{Call: ports.Call{Arguments: []byte(`{"what":"pid"}`)}, Person: person}, nil)
	if err != nil {
		r.t.Fatalf("the call of %s: %v", person, err)
	}
	return result.Content[0].Text
}

// TestEachPersonHasAProcessOfTheirOwn is with real children: calls of several
// people at once meet their own process only, and all end with Run.
func TestEachPersonHasAProcessOfTheirOwn(t *testing.T) {
	cfg := peerConfig("good")
	cfg.Scope, cfg.Start = scopePerson, startLazy
	r := start(t, cfg).ready()
	people := []ports.PersonID{"ann", "bob", "cem"}
	pids := make([]string, len(people))
	for i, who := range people {
		pids[i] = r.pidFor(who)
	}
	shared := r.pid()
	var wg sync.WaitGroup
	for range 5 {
		for i, who := range people {
			wg.Go(func() {
				if pid := r.pidFor(who); pid != pids[i] {
					t.Errorf("a call of %s met process %s, theirs is %s", who, pid, pids[i])
				}
			})
		}
	}
	wg.Wait()
	if pids[0] == pids[1] || pids[1] == pids[2] || pids[0] == pids[2] {
		t.Errorf("the processes are %v", pids)
	}
	r.end()
	gone(t, shared)
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		gone(t, n)
	}
}

func TestAnIdleProcessIsStoppedAndComesBack(t *testing.T) {
	cfg := peerConfig("good")
	cfg.IdleStop = time.Second
	r := start(t, cfg).ready()
	first := r.pid()
	r.awaitPhase(ports.PhaseIdle, 0)
	gone(t, first)
	if again := r.pid(); again == first {
		t.Errorf("the call after the stop met process %d again", again)
	}
}

// TestAProcessThatHangsIsReplaced stops a real child: it takes what it is sent
// and answers nothing.
func TestAProcessThatHangsIsReplaced(t *testing.T) {
	cfg := peerConfig("good")
	cfg.Timeout, cfg.CallTimeout = 6*time.Second, 4*time.Second
	src, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	src.barFor = time.Second
	r := startSource(t, src).ready()
	pid := r.pid()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err = r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindTimeout, "")
	r.awaitPhase(ports.PhaseDegraded, 0)
	_, err = r.call(t.Context(), "echo", `{}`)
	wantKind(t, err, ports.KindUnavailable, "does not answer")
	eventuallyWithin(t, 30*time.Second, "it is ready again", func() bool { s := r.last(); return s.Phase == ports.PhaseReady && s.Restarts == 1 })
	gone(t, pid)
	r.wantEcho("from another process")
}
