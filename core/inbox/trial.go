package inbox

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// When processes died while conversations had something to run, and nothing of
// these was recorded in between, each of them may be what kills: a poisonous
// message. Suspects run one at a time, so that the next death has one culprit;
// the agent gives up what too many died of. Whoever gets to an end is acquitted,
// and the more are acquitted the more are let in at a time: then it was something
// else that killed. Those that the fewest died of come first, so that what was hit
// by chance is not hit again soon.

const (
	// suspectAfter is how many deaths make a suspect. After one everything goes on
	// side by side: most crashes are nobody's fault.
	suspectAfter = 2
	// probation is how long a suspect has its place in court, at most; it doubles
	// with each death, up to doublings times. A slow model holds up others for seconds
	// only, and what kills late, beside something slow, is found in the end.
	probation = time.Second
	doublings = 9
	// perPlace is how many acquittals make one more place in court.
	perPlace = 4
	// sits is how long after the start suspects are let in: where processes die as
	// soon as they have started, that is no fault of what would have been first.
	sits = 500 * time.Millisecond
)

// suspect reports whether the conversation may be what kills the process. What is
// given up or stopped runs nothing, and waits for nobody.
func suspect(w ports.Work) bool {
	return w.Deaths.All >= suspectAfter && !w.Deaths.Fatal() && !stopped(w)
}

// takeUp notes that the conversation, which saw a death, runs again.
func (x *Inbox) takeUp(l ports.Lease, alone bool) error {
	return guard.Write(x.ctx, x.ctx, x.leaks, "store_trial", func(ctx context.Context) error { return x.store.Trial(ctx, l, alone) })
}

// onTrial runs the turn of a suspect, when its time has come.
func (x *Inbox) onTrial(l ports.Lease, w ports.Work, n *lane) (turn string, err error) {
	leave, ok := x.court.enter(x.ctx, x.closed, n.news, w.Deaths)
	if !ok {
		x.more(n) // it may have been stopped
		return "", x.ctx.Err()
	}
	acquitted := false
	defer func() { leave(acquitted) }()
	if !x.slot() { // before it is noted: whoever waits for one runs nothing
		return "", x.ctx.Err()
	}
	defer x.free()
	if err := x.takeUp(l, true); err != nil {
		return "", err
	}
	// What it waited for may have changed what is due.
	w, err = x.load(l)
	if err != nil || !due(w) {
		return "", err
	}
	x.log.Warn("turn_on_trial", "channel", l.In.Channel, "chat", l.In.Chat, ports.TurnAttr(turnOf(l, w)), "deaths", w.Deaths.All)
	over := time.AfterFunc(probation<<min(w.Deaths.All-suspectAfter, doublings), func() { leave(false) })
	defer over.Stop()
	turn, err = x.turn(l, w, n)
	acquitted = err == nil
	return turn, err
}

// court lets suspects in, the least suspect first. Safe for many goroutines.
type court struct {
	opens     time.Time
	mu        sync.Mutex
	in        int // suspects in court
	acquitted int // suspects that were
	wait      []*candidate
}

type candidate struct {
	deaths ports.Deaths
	enter  chan struct{} // closed when its time has come
}

// enter waits for this suspect's time; ok is false if there was news first, or if
// the time does not come any more. leave ends it; what it is told first counts.
func (t *court) enter(ctx context.Context, closed, news <-chan struct{}, deaths ports.Deaths) (leave func(acquitted bool), ok bool) {
	opens := time.NewTimer(time.Until(t.opens))
	defer opens.Stop()
	select {
	case <-opens.C:
	case <-news:
		return nil, false
	case <-closed:
		return nil, false
	case <-ctx.Done():
		return nil, false
	}
	c := &candidate{deaths: deaths, enter: make(chan struct{})}
	t.mu.Lock()
	t.wait = append(t.wait, c)
	t.next()
	t.mu.Unlock()
	var once sync.Once
	leave = func(acquitted bool) { once.Do(func() { t.leave(c, acquitted) }) }
	select {
	case <-c.enter:
		return leave, true
	case <-news:
	case <-closed:
	case <-ctx.Done():
	}
	leave(false)
	return nil, false
}

// leave makes room for the next, or takes the candidate off the list.
func (t *court) leave(c *candidate, acquitted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.wait, c); i >= 0 {
		t.wait = slices.Delete(t.wait, i, i+1)
		return
	}
	t.in--
	if acquitted {
		t.acquitted++
	}
	t.next()
}

// next lets the least suspect in, as long as there is room. Callers hold mu.
func (t *court) next() {
	for t.in < 1+t.acquitted/perPlace && len(t.wait) > 0 {
		c := slices.MinFunc(t.wait, func(a, b *candidate) int {
			return cmp.Or(a.deaths.Alone-b.deaths.Alone, a.deaths.All-b.deaths.All)
		})
		t.wait = slices.DeleteFunc(t.wait, func(w *candidate) bool { return w == c })
		t.in++
		close(c.enter)
	}
}
