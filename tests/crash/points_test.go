package crash

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dragoman/ports"
)

// Kinds of a line in a life's log.
const (
	linePoint = "point" // reached
	lineDead  = "dead"  // reached, and died at
	lineFact  = "fact"  // something that the checks count
	lineLabel = "label" // what the message that begins a turn says
)

// What facts are about.
const (
	factBegins   = "begins"   // a call of the model or of a tool
	factRecorded = "recorded" // its outcome
	factKey      = "key"      // of a call of a tool
	factSends    = "sends"    // a delivery is on its way
	factMarked   = "marked"   // and is marked as posted
	factNoCode   = "no code"  // nobody waits to be let in with this one
)

// reply is what the model is asked for, among the facts.
const reply = "reply"

// beside marks a point that the clock drives, or the start and the end of a
// process: it comes in every drama alike or at any moment of one, so that one
// death at it, in whichever drama, is enough.
const beside = "~"

// phaseStart is the phase of a life that accepted nothing yet.
const phaseStart = "the start"

// points is where a child notes which points it reaches, and dies at one. Each
// line is one write of the log before anything else happens, so it outlives the
// death of the process.
type points struct {
	at string // where to die; "" = nowhere

	mu     sync.Mutex
	log    *os.File
	labels map[string]string   // by turn
	calls  map[string][]string // by turn, the tools of its last reply
	phase  string              // the last message that this life accepted
	count  map[string]int
}

// openPoints goes on with the log of the lives before.
func openPoints(file, at string) (*points, error) {
	p := &points{at: at, labels: map[string]string{}, calls: map[string][]string{}, phase: phaseStart, count: map[string]int{}}
	lines, err := readLog(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, l := range lines {
		if l.kind == lineLabel {
			p.labels[l.name] = l.rest
		}
	}
	p.log, err = os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return p, err
}

// pass notes a point, and dies there if it is the one.
func (p *points) pass(name string) {
	name = flat(name) // as the log has it
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != p.at {
		p.write(linePoint, name, "")
		return
	}
	p.write(lineDead, name, "")
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way: nothing happens behind it
}

// call notes a call of a port: its before now, and its after when it is over, by
// the function that it returns.
func (p *points) call(name string) (after func()) {
	p.pass(name + " | before")
	return func() { p.pass(name + " | after") }
}

// fact notes something for the checks.
func (p *points) fact(name, about string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(lineFact, name, about)
}

// label notes what the message says that may begin this turn.
func (p *points) label(turn, says string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.labels[turn] != says {
		p.labels[turn] = says
		p.write(lineLabel, turn, says)
	}
}

// first counts a name and reports whether it came for the first time in this life.
func (p *points) first(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count[name]++
	return p.count[name] == 1
}

func (p *points) accepted(says string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = says
}

// now names a read of the store: what it reads depends on what came in last.
func (p *points) now(op string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return op + " since " + p.phase
}

// follow takes in which tools the last of these rows calls.
func (p *points) follow(turn string, steps []ports.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range steps {
		if s.Kind == ports.StepReply {
			p.calls[turn] = toolsOf(s)
		}
	}
}

// tool is the one that a call of the turn's last reply is for.
func (p *points) tool(turn string, call int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.calls[turn]; call < len(list) {
		return list[call]
	}
	return "?"
}

func (p *points) turn(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if says, ok := p.labels[id]; ok {
		return says
	}
	return "?"
}

func (p *points) write(kind, name, rest string) {
	line := kind + "\t" + flat(name) + "\t" + flat(rest) + "\n"
	if _, err := p.log.WriteString(line); err != nil {
		panic(fmt.Sprintf("the log of points cannot be written: %v", err))
	}
}

// flat keeps a text on one line and in one column.
func flat(s string) string { return strings.NewReplacer("\t", " ", "\n", " ").Replace(s) }

type logLine struct{ kind, name, rest string }

// readLog reads the lines that are whole.
func readLog(file string) ([]logLine, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []logLine
	for scan := bufio.NewScanner(f); scan.Scan(); {
		parts := strings.SplitN(scan.Text(), "\t", 3)
		if len(parts) == 3 {
			lines = append(lines, logLine{parts[0], parts[1], parts[2]})
		}
	}
	return lines, nil
}

func TestALogOutlivesItsWriterAndKeepsItsColumns(t *testing.T) {
	file := t.TempDir() + "/log"
	p, err := openPoints(file, "")
	if err != nil {
		t.Fatal(err)
	}
	p.call("a\tb")()
	p.label("t#1", "go\non")
	again, err := openPoints(file, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := again.turn("t#1"); got != "go on" {
		t.Errorf("the next life knows the turn as %q", got)
	}
	lines, err := readLog(file)
	if err != nil || len(lines) != 3 || lines[1] != (logLine{linePoint, "a b | after", ""}) {
		t.Errorf("the log reads %q (%v)", lines, err)
	}
}
