package mcpfaults

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// processes are faults of a server as a child.
func processes() []Fault {
	return []Fault{
		{Name: "dies at start", Over: Stdio, Why: "its last words say why",
			begin: func(*peer) { fmt.Fprintln(os.Stderr, "fatal: no licence key"); os.Exit(3) }},
		{Name: "killed at start", Over: Stdio, Why: "the kernel's way to say that there is no memory",
			begin: func(*peer) { kill() }},
		{Name: "ends at start", Over: Stdio, Why: "a program that did its work well and is no server", begin: func(*peer) { os.Exit(0) }},
		{Name: "dies when ready", Over: Stdio, Why: "a server that dies again and again as soon as it is connected is not tried without pause",
			say: onceReady(func(p *peer) { p.pause(100 * time.Millisecond); os.Exit(4) })},
		{Name: "dies in a call", Over: Stdio, Why: "nobody knows what the call did", say: acts(func(p *peer, _ message) { os.Exit(5) })},
		{Name: "dies in the middle of an answer", Over: Stdio, Why: "half an answer is none",
			say: acts(func(p *peer, m message) { p.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"resu`); os.Exit(6) })},
		{Name: "dies after each call", Over: Stdio, Why: "the answer counts although its giver is dead",
			say: func(p *peer, m message) bool {
				if m.Method == "tools/call" {
					p.line(good(m))
					os.Exit(7)
				}
				return false
			}},
		{Name: "stops reading", Over: Stdio, Why: "a writer that waits for a reader blocks everybody behind it",
			say: onceReady(func(p *peer) { p.pause(longest) })},
		{Name: "closes its input", Over: Stdio, Why: "it lives and cannot be asked any more",
			say: onceReady(func(p *peer) { os.Stdin.Close(); p.pause(longest); os.Exit(0) })},
		{Name: "closes its output", Over: Stdio, Why: "it lives and cannot answer any more",
			say: onceReady(func(p *peer) { p.rapt = true; os.Stdout.Close(); p.pause(longest); os.Exit(0) })},
		{Name: "ignores every wish to leave", Over: Stdio, Why: "neither the end of its input nor SIGTERM ends it",
			begin: func(p *peer) { p.rapt = true; signal.Ignore(syscall.SIGTERM, syscall.SIGINT) }},
		{Name: "leaves a child in its group", Over: Stdio, Why: "npx and shells fork: what they forked must go with them",
			begin: func(*peer) { fork(false) }},
		{Name: "dies and leaves a child", Over: Stdio, Why: "the child holds the pipes open that the dead server had",
			say: acts(func(p *peer, _ message) { fork(false); os.Exit(8) })},
		{Name: "leaves a child in a session of its own", Over: Stdio, Why: "a daemon does not get its group's signals",
			begin: func(*peer) { fork(true) }},
	}
}

func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	_ = self.Kill()
	select {}
}
