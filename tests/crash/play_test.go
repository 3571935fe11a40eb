package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const (
	playWithin = 90 * time.Second // of a run; the machine may be busy
	look       = 6 * time.Millisecond
)

// play is one run of a drama: lives of a gateway, each but the last of which dies
// at a point, in a world that outlives them.
type play struct {
	d      drama
	script []string      // where the lives die
	rest   time.Duration // between a death and the next life
	dir    string
	world  *world
	people *people
	rows   rows // open only while no life begins

	lives  [][]logLine // of the lives that are over
	read   int         // lines of the log that are in lives
	child  *exec.Cmd
	stdin  io.WriteCloser
	stderr *bytes.Buffer
	ended  chan error
	told   bool // the child was told to stop
	faults []string
	// visible are the first lines of what the chats show in the end, without
	// doubles and without questions about an unknown outcome.
	visible []string
	results []result // of the calls, by the rows
}

// perform plays a drama to its end and looks at what is left.
func perform(d drama, script []string, rest time.Duration) *play {
	p := &play{d: d, script: script, rest: rest, world: newWorld(d)}
	defer p.world.close()
	dir, err := os.MkdirTemp(shelf, "crash")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.WriteFile(filepath.Join(dir, dbName), template, 0o600)
	}
	if err != nil {
		p.fault("no folder to play in: %v", err)
		return p
	}
	p.dir, p.people = dir, newPeople(d, p.world)
	if err := p.run(); err != nil {
		p.bury()
		p.fault("%v\n%s", err, p.stderr)
	}
	if p.reopen(); len(p.faults) == 0 {
		p.check()
	}
	if len(p.faults) > 0 {
		p.fault("the chats show %q\n%s", p.people.chats(), p.rows.tell())
	}
	p.rows.close()
	return p
}

// died are the points at which the lives of the play ended, in order.
func (p *play) died() []string {
	var list []string
	for _, life := range p.lives {
		if last := life[len(life)-1]; last.kind == lineDead {
			list = append(list, last.name)
		}
	}
	return list
}

func (p *play) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// run lets the lives follow one another until one ends in good order.
func (p *play) run() error {
	if err := p.begin(); err != nil {
		return err
	}
	p.people.open()
	late := time.NewTimer(playWithin)
	defer late.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case err := <-p.ended:
			over, err := p.over(err)
			if over || err != nil {
				return err
			}
		case <-late.C:
			return errors.New("it never comes to an end")
		case <-tick.C:
			if p.people.act(p.approve) && !p.told && p.idle() {
				p.told = true
				_ = p.child.Process.Signal(syscall.SIGTERM)
			}
		}
	}
}

func (p *play) reopen() {
	p.rows.close()
	var err error
	if p.rows, err = openRows(p.dir); err != nil {
		p.fault("the rows cannot be opened: %v", err)
	}
}

// begin starts the next life.
func (p *play) begin() error {
	l := life{Dir: p.dir, Token: p.world.tg.Token(), Bot: p.world.tg.URL(), Model: p.world.model.URL + "/v1", Tools: p.world.tools.URL + "/mcp",
		Access: p.d.access, Expires: p.d.expires, Result: p.d.result, Busy: p.d.busy, Limit: p.d.limit, Bare: p.d.bare}
	if p.d.finds {
		l.Search = 200
	}
	if n := len(p.lives); n < len(p.script) {
		l.At = p.script[n]
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	p.told, p.stderr, p.ended = false, new(bytes.Buffer), make(chan error, 1)
	p.child = exec.Command(childBinary)
	p.child.Env = []string{childEnv + "=" + string(text), "GOMAXPROCS=2", "GOGC=off", "TMPDIR=" + os.TempDir()}
	p.child.Stderr = p.stderr
	if p.stdin, err = p.child.StdinPipe(); err != nil {
		return err
	}
	if err := p.child.Start(); err != nil {
		return err
	}
	go func(c *exec.Cmd, ended chan error) { ended <- c.Wait() }(p.child, p.ended)
	return nil
}

// over looks at how a life ended, and begins the next one after a death.
func (p *play) over(exit error) (over bool, err error) {
	lines, err := readLog(filepath.Join(p.dir, logName))
	if err != nil || len(lines) == p.read {
		return true, fmt.Errorf("a life ended without a line (%w, %v)", exit, err)
	}
	p.lives = append(p.lives, lines[p.read:])
	p.read = len(lines)
	switch {
	case lines[len(lines)-1].kind == lineDead:
		if !killed(exit) {
			return true, fmt.Errorf("a life came to the point to die at, and ended with %w", exit)
		}
		p.reopen()
		p.checkDead()
		p.rows.close()
		p.rows = rows{}
		if p.rest > 0 {
			<-time.After(p.rest)
		}
		return false, p.begin()
	case exit != nil:
		return true, fmt.Errorf("a life ended by itself: %w", exit)
	case !p.told:
		return true, errors.New("a life ended without being told to")
	}
	return true, nil
}

// killed reports whether a process ended by SIGKILL.
func killed(exit error) bool {
	var e *exec.ExitError
	if !errors.As(exit, &e) {
		return false
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// idle reports whether nothing is left to do, in the rows and on the platform,
// and the present life has all that it starts with.
func (p *play) idle() bool {
	if p.world.tg.Pending() > 0 || p.world.tg.Open("getUpdates") == 0 {
		return false
	}
	lines, err := readLog(filepath.Join(p.dir, logName))
	if err != nil {
		return false
	}
	ready := map[string]bool{}
	for _, l := range lines[p.read:] {
		ready[l.name] = true
	}
	for _, name := range []string{"registrar.State " + serverName + " ready", "registrar.State builtin ready", "store.Claim at the start"} {
		if !ready[beside+name+" | after"] && !ready[beside+name+" finds work | after"] {
			return false
		}
	}
	if p.rows.db == nil {
		if p.rows, err = openRows(p.dir); err != nil {
			return false
		}
	}
	n, err := p.rows.count(left)
	return err == nil && n == 0
}

// approve asks the child to let somebody in, unless it said that there is nobody
// who waits with this code: a life before may have done it and died.
func (p *play) approve(code string) {
	lines, err := readLog(filepath.Join(p.dir, logName))
	if err != nil || !slices.Contains(lines, logLine{lineFact, factNoCode, code}) {
		_, _ = io.WriteString(p.stdin, approve+code+"\n")
	}
}

// bury ends a life that is not to go on.
func (p *play) bury() {
	if p.child == nil || p.child.Process == nil {
		return
	}
	_ = p.child.Process.Kill()
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
	}
}
