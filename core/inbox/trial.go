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
	// probation is how long a suspect has its place in court, at most, for each
	// death: what kills late is found too, and a slow model holds up others for
	// seconds only.
	probation = time.Second
	// sits is how long after the start suspects are let in: where processes die as
	// soon as they have started, that is no fault of what would have been first.
	sits = 500 * time.Millisecond
)

// suspect reports whether the conversation may be what kills the process.
func suspect(w ports.Work) bool { return w.Deaths.All >= suspectAfter }

// takeUp notes that the conversation, which saw a death, runs again.
func (x *Inbox) takeUp(l ports.Lease, alone bool) error {
	return guard.Write(x.ctx, x.ctx, x.leaks, "store_trial", func(ctx context.Context) error { return x.store.Trial(ctx, l, alone) })
}

// onTrial runs the turn of a suspect, when its time has come.
func (x *Inbox) onTrial(l ports.Lease, w ports.Work, n *lane) (turn string, err error) {
	x.pause(time.Until(x.started.Add(sits)))
	leave, ok := x.court.enter(x.ctx, x.closed, w.Deaths)
	if !ok {
		return "", x.ctx.Err()
	}
	acquitted := false
	defer func() { leave(acquitted) }()
	if err := x.takeUp(l, true); err != nil {
		return "", err
	}
	// What it waited for may have changed what is due.
	w, err = x.load(l)
	if err != nil || !due(w) {
		return "", err
	}
	x.log.Warn("turn_on_trial", "channel", l.In.Channel, "chat", l.In.Chat, ports.TurnAttr(turnOf(l, w)), "deaths", w.Deaths.All)
	over := time.AfterFunc(probation*time.Duration(w.Deaths.All), func() { leave(false) })
	defer over.Stop()
	turn, err = x.turn(l, w, n)
	acquitted = err == nil
	return turn, err
}

// court lets suspects in, the least suspect first. The zero value is ready. Safe
// for many goroutines.
type court struct {
	mu        sync.Mutex
	in        int // suspects in court
	acquitted int // suspects that were: as many more may be in at a time
	wait      []*candidate
}

type candidate struct {
	deaths ports.Deaths
	enter  chan struct{} // closed when its time has come
}

// enter waits for this suspect's time; ok is false if it does not come any more.
// leave ends it; what it is told first counts.
func (t *court) enter(ctx context.Context, closed <-chan struct{}, deaths ports.Deaths) (leave func(acquitted bool), ok bool) {
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
	for t.in <= t.acquitted && len(t.wait) > 0 {
		c := slices.MinFunc(t.wait, func(a, b *candidate) int {
			return cmp.Or(a.deaths.Alone-b.deaths.Alone, a.deaths.All-b.deaths.All)
		})
		t.wait = slices.DeleteFunc(t.wait, func(w *candidate) bool { return w == c })
		t.in++
		close(c.enter)
	}
}
