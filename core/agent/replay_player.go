package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

// stuckAfter is how long a replay waits for what must come by itself at once.
const stuckAfter = 5 * time.Second

// untilHere halts a replay that has nothing more to go by.
const untilHere = "the recording ends here"

// player is the world of a replayed turn: it is the turn's store, and makes its
// model, tools and people do what the script says.
type player struct {
	script *script
	rules  Rules

	mu      sync.Mutex
	moved   chan struct{} // closed and replaced whenever something happened
	act     *activation
	turn    *ports.Turn // nil before the first commit
	taken   []ports.Inbox
	waiting []ports.Inbox
	steps   []ports.Step
	begun   map[callID]int
	starts  map[int]int // begins of a reply's calls, by its step
	results map[callID]bool
	asked   map[int][]ports.Question
	stale   time.Duration // what was written longer ago is asked about today
	said    []string      // what would have been sent

	question *ports.Question
	reply    int // step of the last reply in the journal
	replies  int // how many the model gave
	prompts  [][]ports.Entry
	answers  int  // how many answers were taken
	tooOften bool // processes have died often enough by now
	strayed  bool // it does not do what it did
	notes    []string
	halted   string // why the replay left the recording
}

// activation is one life of the turn: from a message, an answer or a death on.
type activation struct {
	cancel  context.CancelCauseFunc
	news    chan struct{}
	left    chan struct{} // closed: the turn has left
	over    bool          // the same, under the player's lock: what comes later is of no turn
	died    bool
	coming  callID // the call that is on its way home
	landed  map[callID]bool
	checked map[callID]bool
	ended   bool // the person's stop, or the end of the turn's time, came
}

func newPlayer(s *script, rules Rules, staleAfter time.Duration) *player {
	p := &player{script: s, rules: rules, moved: make(chan struct{}), begun: map[callID]int{}, starts: map[int]int{},
		results: map[callID]bool{}, asked: map[int][]ports.Question{}, stale: staleAfter}
	p.wait(s.leading()...)
	return p
}

// begin gives what a lane would load.
func (p *player) begin(act *activation) ports.Work {
	p.mu.Lock()
	defer p.mu.Unlock()
	act.landed, act.checked = map[callID]bool{}, map[callID]bool{}
	p.act = act
	return p.work()
}

// work is what Load gives. mu is held.
func (p *player) work() ports.Work {
	if n := len(p.steps); n < len(p.script.steps) { // what joins now came before
		p.wait(joinedBy(p.script.steps[n])...)
	}
	w := ports.Work{Waiting: slices.Clone(p.waiting), Steps: slices.Clone(p.steps)}
	if past := p.script.rec.Past; len(past) > 0 {
		w.Last = past[len(past)-1].Turn.ID
	}
	if p.turn != nil {
		t := *p.turn
		w.Turn, w.Taken = &t, slices.Clone(p.taken)
		if p.question != nil {
			q := *p.question
			w.Question = &q
		}
	}
	if p.tooOften {
		w.Deaths = ports.Deaths{All: ports.MaxDeaths, Alone: ports.MaxDeaths}
	}
	p.date(&w)
	return w
}

// wait lets recorded messages come in. mu is held, or nobody else is there yet.
func (p *player) wait(seqs ...int64) {
	for _, m := range p.script.rec.Inbox {
		known := func(have ports.Inbox) bool { return have.Seq == m.Seq }
		if !slices.Contains(seqs, m.Seq) || slices.ContainsFunc(p.taken, known) || slices.ContainsFunc(p.waiting, known) {
			continue
		}
		in := m.Inbox(p.script.rec.Turn.ID)
		in.Turn = ""
		p.waiting = append(p.waiting, in)
	}
}

// takeAnswer lets the next answer come in, which is its turn's at once. mu is held.
func (p *player) takeAnswer() {
	n := 0
	for _, m := range p.script.rec.Inbox {
		if m.Route != ports.RouteAnswer {
			continue
		}
		if n++; n > p.answers {
			p.answers++
			p.own(m.Inbox(p.script.rec.Turn.ID))
			return
		}
	}
}

// own makes a message the turn's. mu is held.
func (p *player) own(m ports.Inbox) {
	m.Turn = p.script.rec.Turn.ID
	p.taken = append(p.taken, m)
	slices.SortFunc(p.taken, func(a, b ports.Inbox) int { return int(a.Seq - b.Seq) })
}

// date makes what was written as old as it was, where that mattered, and fresh
// otherwise. mu is held.
func (p *player) date(w *ports.Work) {
	n := len(p.steps)
	var q *ports.Question
	if next := p.unasked(n); next != nil && next.Kind == ports.QuestionStale {
		q = next
	}
	overtaken := p.script.end == endStale && q == nil && p.question == nil && !p.more()
	now := time.Now()
	for _, list := range [][]ports.Inbox{w.Taken, w.Waiting} {
		for i, m := range list {
			age := time.Duration(0)
			if q != nil || overtaken {
				age = p.script.age(m, n, q)
			}
			list[i].Received, list[i].At = now.Add(-age), time.Time{}
		}
	}
	if overtaken {
		p.writeAnew()
		m := p.waiting[len(p.waiting)-1]
		p.waiting = p.waiting[:len(p.waiting)-1]
		m.Received, m.At = now, time.Time{}
		w.Waiting = append(w.Waiting, m)
	}
}

// unasked is the recorded question that comes next, if that is while the journal
// has n rows. mu is held.
func (p *player) unasked(n int) *ports.Question {
	if list := p.script.asked[n]; len(p.asked[n]) < len(list) {
		return &list[len(p.asked[n])]
	}
	return nil
}

func (p *player) length() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.steps)
}

// stir tells those who wait that something happened. mu is held.
func (p *player) stir() {
	close(p.moved)
	p.moved = make(chan struct{})
}

// until waits until what is so, or the activation is over. Where nothing moves any
// more, the turn does things in another order than it did, and is left.
func (p *player) until(act *activation, so func() bool) {
	for {
		stuck := time.NewTimer(stuckAfter)
		defer stuck.Stop()
		p.mu.Lock()
		ok, moved := act.over || so() || p.strayed, p.moved
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-moved:
		case <-act.left:
			return
		case <-stuck.C:
			p.halt(act, "it begins or ends its calls in another order")
		}
	}
}

// halt ends the replay: the turn does what the recording does not know.
func (p *player) halt(act *activation, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if act.over {
		return
	}
	if p.halted == "" {
		p.halted = fmt.Sprintf(format, args...)
	}
	act.cancel(errReplayHalted)
}

// die lets the process die.
func (p *player) die(act *activation, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if act.over || act.died {
		return
	}
	act.died = true
	p.tooOften = p.script.end == endGivenUp && !p.more()
	p.notes = append(p.notes, note)
	act.cancel(errReplayDied)
}

// more reports whether rows are left, but those of a turn that is given up. mu is held.
func (p *player) more() bool {
	for i := len(p.steps); i < len(p.script.steps); i++ {
		st := p.script.steps[i]
		var b resultBody
		left := st.Kind == ports.StepResult && read(st, &b) == nil && slices.ContainsFunc([]string{wasGivenUp, wasCutOff, wasNotWanted},
			func(text string) bool { return strings.HasPrefix(b.Text, text) })
		if p.unasked(i) != nil || st.Kind != ports.StepFinal && !left {
			return true
		}
	}
	return false
}

// writeAnew lets the message come in that counted more than the turn. It is no
// part of the recording. mu is held.
func (p *player) writeAnew() {
	m := p.script.rec.Inbox[len(p.script.rec.Inbox)-1].Inbox("")
	m.Seq, m.Route, m.Person = m.Seq+1, ports.RouteLane, p.script.rec.Turn.Person
	p.waiting = append(p.waiting, m)
}

// stop lets the person's stop come in, with what they wrote before it.
func (p *player) stop(act *activation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if act.over || act.ended {
		return
	}
	act.ended = true
	p.wait(p.script.stop()...)
	if p.script.anew {
		p.writeAnew()
	}
	p.stir()
	act.news <- struct{}{} // has room: nothing else sends
}

// timeUp lets the turn's time be over.
func (p *player) timeUp(act *activation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !act.over && !act.ended {
		act.ended = true
		act.cancel(errTurnTimeout)
	}
}

// callOf reads a call's place from its idempotency key.
func callOf(key string) (id callID, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) < 2 {
		return id, false
	}
	step, err1 := strconv.Atoi(parts[len(parts)-2])
	call, err2 := strconv.Atoi(parts[len(parts)-1])
	return callID{step, call}, err1 == nil && err2 == nil
}

// run is a call that the turn has begun: it comes home with the recorded result,
// in the recorded order, or never.
func (p *player) run(ctx context.Context, act *activation, c ports.ToolCall) ports.CallResult {
	id, ok := callOf(c.Key)
	p.mu.Lock()
	ended := p.script.end == endStopped && p.script.inRound && p.lastRound(id.step)
	f, known := p.script.fateOf(id, p.begun[id])
	if f.kind == fateUnknown {
		f.row = len(p.script.steps)
	}
	if known && p.script.cutOff(id.step, f.row, p.asked) {
		f.kind = fateDied
	}
	p.mu.Unlock()
	switch {
	case !ok || !known && p.script.end != endNone:
		p.halt(act, "it runs %s, of which the recording has no run", c.Name)
	case !known:
		p.halt(act, untilHere)
	case ended && f.kind != fateDied:
		return p.runStopped(ctx, act, id, f)
	case f.kind == fateLanded:
		p.until(act, func() bool { return p.turnOf(id, f) })
		return f.result
	case f.kind == fateDied:
		p.die(act, fmt.Sprintf("the process died while %s ran (call %d of step %d)", c.Name, id.call, id.step))
	case f.kind == fateTimeUp:
		p.until(act, func() bool { return p.allBut(id.step) })
		p.timeUp(act)
	default:
		p.until(act, func() bool { return p.allBut(id.step) })
		p.halt(act, untilHere)
	}
	<-act.left
	return ports.CallResult{Outcome: ports.CallCancelled}
}

// runStopped is run in the round that the person stopped: the stop comes as soon
// as all has begun that did, and what came home nevertheless does so after it.
func (p *player) runStopped(ctx context.Context, act *activation, id callID, f fate) ports.CallResult {
	if f.kind == fateLanded {
		early := false // it has to be home before all has begun
		p.until(act, func() bool {
			early = p.starts[id.step] < p.script.startsBefore(id.step, len(p.script.steps)) && p.turnOf(id, f)
			return early || p.starts[id.step] >= p.script.startsBefore(id.step, len(p.script.steps))
		})
		if early {
			return f.result
		}
		p.stop(act)
		<-ctx.Done()
		p.until(act, func() bool { return p.turnOf(id, f) })
		return f.result
	}
	p.until(act, func() bool { return p.starts[id.step] >= p.script.startsBefore(id.step, len(p.script.steps)) })
	p.stop(act)
	<-act.left
	return f.result
}

// lastRound reports whether a reply is the last recorded one.
func (p *player) lastRound(step int) bool {
	rounds := p.script.rounds
	return len(rounds) > 0 && rounds[len(rounds)-1] == step
}

// turnOf reports whether a call is the next to come home: all that began or came
// home before it, by the rows, did so. mu is held.
func (p *player) turnOf(id callID, f fate) bool {
	if p.starts[id.step] < p.script.startsBefore(id.step, f.row) || !p.home(id.step, f.row) {
		return false
	}
	p.act.coming = id
	return true
}

// allBut reports whether everything of a round happened but what never ends. mu is held.
func (p *player) allBut(step int) bool {
	return p.starts[step] >= p.script.startsBefore(step, len(p.script.steps)) && p.home(step, len(p.script.steps))
}

// home reports whether each call of a round is home that came home before a row. mu is held.
func (p *player) home(step, row int) bool {
	for id, list := range p.script.fates {
		for _, f := range list {
			if id.step == step && f.kind == fateLanded && f.row < row && !p.results[id] && !p.act.landed[id] {
				return false
			}
		}
	}
	return true
}

// landed notes that the call that was on its way is home.
func (p *player) landed(act *activation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	act.landed[act.coming] = true
	p.stir()
}
