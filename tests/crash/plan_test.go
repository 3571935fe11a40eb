package crash

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// deaths is the most that a run may see: the work of a conversation that kills
	// for the third time is given up, and that can be cut off too.
	deaths = 4
	// tries is how often a point is gone for that a run recorded: those that the
	// clock drives are not always reached.
	tries = 30
	// byChance is how many points of reads may be left at which nobody died.
	byChance = 8
	// How many runs there are at a time: of those that keep the processors busy, and
	// of those that wait for the clock.
	atOnce, slowAtOnce = 3, 16
	// shares is in how many parts those points are played that come after a death alone.
	shares = 4
)

// plan knows the points that were ever reached, and how to get to each.
type plan struct {
	calm map[string]*play // by drama: the run without a death

	mu    sync.Mutex
	ways  map[string][]way // by point
	tried map[string]int
	hit   map[string]bool // somebody died there
	runs  int
	alone bool // one drama: what the clock drives may not be reached in it
	share int  // of the points in recoveries; < 0: all of them
	fail  func(format string, args ...any)
}

// way is a run that comes to a point: it dies there, after its other deaths.
type way struct {
	d      drama
	script []string
}

func (w way) String() string { return w.d.name + ": " + strings.Join(w.script, ", then ") }

// key is a point's name among those of all dramas.
func key(d drama, point string) string {
	if strings.HasPrefix(point, beside) {
		return point
	}
	return d.name + ": " + point
}

// reads are the points of what changes nothing. Where one comes in a race, no other
// run may come by it; who died at the writes before and after it left the same rows.
var reads = regexp.MustCompile(`^store\.(Load|Pending|Question|Get .*|Read) since `)

// commits are the writes that a drama makes in one order.
var commits = regexp.MustCompile(`^(store\.(Accept|Record|Park|Finish|Delivered|Put|Delete|Save)|audit\.Append) .* \| before$`)

// eachCommitOnce holds the names to telling the commits of a run apart: of two with
// one name, nobody would ever die at the second.
func (pl *plan) eachCommitOnce() {
	for _, calm := range pl.calm {
		if len(calm.lives) == 0 {
			continue // which has failed
		}
		for i, l := range calm.lives[0] {
			if l.kind == linePoint && commits.MatchString(l.name) && slices.Contains(calm.lives[0][:i], l) {
				pl.fail("%s: two commits are named %q", calm.d.name, l.name)
			}
		}
	}
}

// learn takes in what a run reached.
func (pl *plan) learn(p *play) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	died := p.died()
	for _, point := range died {
		pl.hit[key(p.d, point)] = true
	}
	if len(p.d.acts) > 0 && slices.ContainsFunc(p.people.chats(), isGivenUp) {
		return // people do something else then, which the clock has a say in
	}
	for i, life := range p.lives {
		for _, l := range life {
			if l.kind == linePoint || l.kind == lineDead {
				pl.found(key(p.d, l.name), way{p.d, append(slices.Clone(died[:i]), l.name)})
			}
		}
	}
}

// found keeps a few ways to a point, those with the fewest deaths.
func (pl *plan) found(key string, w way) {
	const kept = 4
	have := pl.ways[key]
	if slices.ContainsFunc(have, func(old way) bool { return old.String() == w.String() }) {
		return
	}
	have = append(have, w)
	slices.SortStableFunc(have, func(a, b way) int {
		if n := len(a.script) - len(b.script); n != 0 || a.d.slow() == b.d.slow() {
			return n
		}
		return first(a.d.slow()) // what the clock drives is reached where there is time
	})
	pl.ways[key] = have[:min(kept, len(have))]
}

// plays reports whether somebody is to die at a point.
func (pl *plan) plays(key string) bool {
	if pl.share < 0 || len(pl.ways[key][0].script) == 1 {
		return true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32()%shares) == pl.share
}

// due are the points at which nobody died so far, each with a way to it.
func (pl *plan) due() []task {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	var list []task
	for key, ways := range pl.ways {
		if pl.hit[key] || !pl.plays(key) || pl.tried[key] >= tries || len(ways[0].script) > deaths {
			continue
		}
		if pl.alone && pl.tried[key] > 0 && strings.HasPrefix(key, beside) {
			continue
		}
		n := pl.tried[key]
		pl.tried[key]++
		t := task{way: ways[n%len(ways)], again: n > 0}
		if n >= tries/4 { // some points come only when time has passed since a death
			t.rest = time.Second
		}
		list = append(list, t)
	}
	list = pl.chain(list)
	slices.SortFunc(list, func(a, b task) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// first sorts what is so before what is not.
func first(is bool) int {
	if is {
		return -1
	}
	return 1
}

// chain makes one run of two that each die once: at a point of the first turn, and
// then at one of the last message's. Neither knows of the other but by its rows.
func (pl *plan) chain(list []task) []task {
	var chained, late []task
	for _, t := range list {
		if !t.again && len(t.script) == 1 && pl.calm[t.d.name].isLate(t.script[0]) {
			late = append(late, t)
			continue
		}
		chained = append(chained, t)
	}
	for i, t := range chained {
		at := slices.IndexFunc(late, func(l task) bool { return l.d.name == t.d.name })
		if at < 0 || t.again || len(t.script) != 1 || strings.HasPrefix(t.script[0], beside) {
			continue
		}
		chained[i].script = append(slices.Clone(t.script), late[at].script...)
		late = slices.Delete(late, at, at+1)
	}
	return append(chained, late...)
}

// isLate reports whether a point comes only once the last message was said, in a
// play without a death.
func (p *play) isLate(point string) bool {
	said := false
	for _, l := range p.lives[0] {
		said = said || l.name == "receiver.Receive "+sayNext+" | before"
		if l.name == point {
			return said && !strings.HasPrefix(point, beside)
		}
	}
	return false
}

// task is a run to make.
type task struct {
	way
	again bool // it was tried before
	rest  time.Duration
}

func (d drama) slow() bool {
	return d.streamed || d.expires < time.Minute || len(d.files) > 1 || len(d.acts) > 0 && d.acts[0].at == preview
}

// perform makes runs side by side and learns from them.
func (pl *plan) perform(list []task) {
	fast, slow := make(chan task, len(list)), make(chan task, len(list))
	for _, t := range list {
		if t.d.slow() || t.rest > 0 {
			slow <- t
			continue
		}
		fast <- t
	}
	var work sync.WaitGroup
	for todo, workers := range map[chan task]int{fast: atOnce, slow: slowAtOnce} {
		close(todo)
		for range workers {
			work.Go(func() {
				for t := range todo {
					pl.judge(t, perform(t.d, t.script, t.rest))
				}
			})
		}
	}
	work.Wait()
}

func (pl *plan) judge(t task, p *play) {
	pl.mu.Lock()
	pl.runs++
	calm := pl.calm[t.d.name]
	if calm == nil {
		calm = p
		pl.calm[t.d.name] = p
	}
	pl.mu.Unlock()
	p.compare(calm)
	if len(p.faults) > 0 {
		pl.fail("%s (died at %q):\n%s", t, p.died(), strings.Join(p.faults, "\n"))
	}
	pl.learn(p)
}

// missed are the points at which nobody died, with how to get there, but for those of a
// few reads that came by chance.
func (pl *plan) missed() (list, chance []string) {
	for key, ways := range pl.ways {
		if pl.hit[key] || !pl.plays(key) || pl.alone && strings.HasPrefix(key, beside) {
			continue
		}
		said := fmt.Sprintf("%s (by %s, tried %d times)", key, ways[0], pl.tried[key])
		if _, point, ok := strings.Cut(key, ": "); ok && reads.MatchString(point) {
			chance = append(chance, said)
		} else {
			list = append(list, said)
		}
	}
	if len(chance) > byChance {
		list, chance = append(list, chance...), nil
	}
	slices.Sort(list)
	slices.Sort(chance)
	return list, chance
}

// TestAPointIsMissedUnlessItIsAReadThatCameByChance holds the plan to what it leaves out.
func TestAPointIsMissedUnlessItIsAReadThatCameByChance(t *testing.T) {
	d := drama{name: "one"}
	read := func(n int) string { return fmt.Sprintf("store.Pending since %d | after", n) }
	for _, c := range []struct{ reads, writes, missed, chance int }{
		{0, 0, 0, 0}, {1, 0, 0, 1}, {byChance, 1, 1, byChance}, {byChance + 1, 0, byChance + 1, 0}, {0, 2, 2, 0},
	} {
		pl := &plan{ways: map[string][]way{}, hit: map[string]bool{key(d, "store.Load since 1 | before"): true}, share: -1}
		pl.found(key(d, "store.Load since 1 | before"), way{d: d, script: []string{"x"}})
		for n := range c.reads {
			pl.found(key(d, read(n)), way{d: d, script: []string{read(n)}})
		}
		for n := range c.writes {
			name := fmt.Sprintf("store.Put %d since 1 | before", n)
			pl.found(key(d, name), way{d: d, script: []string{name}})
		}
		if missed, chance := pl.missed(); len(missed) != c.missed || len(chance) != c.chance {
			t.Errorf("%+v: missed are %q, and by chance %q", c, missed, chance)
		}
	}
}
