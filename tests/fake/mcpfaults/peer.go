package mcpfaults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// sleeper is no fault: it is what a fault leaves behind.
	sleeper = "sleeper"
	// longest is how long a process lives that nobody ends: a test that lost it
	// does not burden its machine for ever.
	longest = 10 * time.Minute
	// look is how often a busy fault looks whether it was mended.
	look = 50 * time.Millisecond
)

// Run serves a fault over stdin and stdout, mended once the file is there, and
// ends the process.
func Run(name, mendedBy string) {
	time.AfterFunc(longest, func() { os.Exit(9) })
	if name == sleeper {
		select {}
	}
	fault, ok := Find(name)
	if !ok || fault.Over != Stdio {
		fmt.Fprintf(os.Stderr, "mcpfaults: there is no fault %q over stdio\n", name)
		os.Exit(2)
	}
	modest()
	p := &peer{Fault: fault, mended: func() bool { return Mended(mendedBy) }, in: bufio.NewReaderSize(os.Stdin, 64<<10), out: os.Stdout}
	p.serve()
	os.Exit(0)
}

// peer is a server over stdio. Its fields but out belong to the goroutine that reads.
type peer struct {
	Fault
	mended func() bool
	in     *bufio.Reader
	lists  int
	calls  int
	rapt   bool // it outlives its input

	mu  sync.Mutex
	out io.Writer
}

func (p *peer) serve() {
	if !p.mended() {
		go p.announceMending()
		if p.begin != nil {
			p.begin(p)
		}
	}
	for {
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			if p.rapt {
				select {}
			}
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintf(os.Stderr, "mcpfaults: no JSON-RPC: %.100q: %v\n", line, err)
			continue
		}
		switch m.Method {
		case "tools/list":
			p.lists++
		case "tools/call":
			p.calls++
		}
		if p.say == nil || p.mended() || !p.say(p, m) {
			p.line(good(m))
		}
	}
}

// announceMending tells a client that still listens that the tools are others now.
func (p *peer) announceMending() {
	for !p.mended() {
		p.pause(longest)
	}
	p.raw("\n" + `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
}

// line writes a message; "" is none.
func (p *peer) line(text string) {
	if text != "" {
		p.raw(text + "\n")
	}
}

// raw writes as it is. Whoever cannot be written to has left.
func (p *peer) raw(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := io.WriteString(p.out, text); err != nil && !p.rapt {
		os.Exit(0)
	}
}

// pour writes n bytes of x.
func (p *peer) pour(n int) {
	piece := strings.Repeat("x", 64<<10)
	for range n / len(piece) {
		p.raw(piece)
	}
}

// until calls again and again what a fault does, beside the reading, until it is mended.
func (p *peer) until(again func(n int)) {
	go func() {
		seen := time.Now()
		for n := 0; ; n++ {
			again(n)
			if time.Since(seen) < look {
				continue
			}
			if seen = time.Now(); p.mended() {
				return
			}
		}
	}()
}

// pause waits until d is over or the fault is mended.
func (p *peer) pause(d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !p.mended() {
		select {
		case <-late.C:
			return
		case <-tick.C:
		}
	}
}

// fork leaves a process behind that holds our pipes; apart: in a session of its
// own. It is started with our arguments but the name, so that it can be found.
func fork(apart bool) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	args := slices.Clone(os.Args[1:])
	args[len(args)-2] = sleeper
	child := exec.Command(self, args...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if apart {
		child.SysProcAttr = ownSession()
	}
	if err := child.Start(); err != nil {
		panic(err)
	}
}
