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
// the agent gives up what too many died of. Whoever gets on is acquitted. Those
// that the fewest died of come first: where processes die for other reasons, what
// was hit by chance is not hit again soon.

const (
	// suspectAfter is how many deaths make a suspect. After one everything goes on
	// side by side: most crashes are nobody's fault.
	suspectAfter = 2
	// probation is how long a suspect has the court to itself, at most, for each
	// death: what kills late is found too, and a slow model holds up others for
	// seconds only.
	probation = time.Second
)

// suspect reports whether the conversation may be what kills the process.
func suspect(w ports.Work) bool { return w.Deaths.All >= suspectAfter }

// onTrial runs the turn of a suspect, when its time has come.
func (x *Inbox) onTrial(l ports.Lease, w ports.Work, n *lane) (turn string, err error) {
	leave, ok := x.trial.enter(x.ctx, x.closed, w.Deaths)
	if !ok {
		return "", x.ctx.Err()
	}
	defer leave()
	// What it waited for may have changed what is due.
	w, err = guard.Read(x.ctx, x.leaks, "store_load", func(ctx context.Context) (ports.Work, error) {
		if err := x.store.Trial(ctx, l); err != nil {
			return ports.Work{}, err
		}
		return x.store.Load(ctx, l)
	})
	if err != nil || !due(w) {
		return "", err
	}
	x.log.Warn("turn_on_trial", "channel", l.In.Channel, "chat", l.In.Chat, ports.TurnAttr(turnOf(l, w)), "deaths", w.Deaths.All)
	over := time.AfterFunc(probation*time.Duration(w.Deaths.All), leave)
	defer over.Stop()
	return x.turn(l, w, n)
}

// trial lets one suspect run at a time, the least suspect first. The zero value is
// ready. Safe for many goroutines.
type trial struct {
	mu   sync.Mutex
	busy bool
	wait []*candidate
}

type candidate struct {
	deaths ports.Deaths
	enter  chan struct{} // closed when its turn has come
}

// enter waits for this suspect's time; ok is false if it does not come any more.
// leave ends it, once, however often it is called.
func (t *trial) enter(ctx context.Context, closed <-chan struct{}, deaths ports.Deaths) (leave func(), ok bool) {
	c := &candidate{deaths: deaths, enter: make(chan struct{})}
	t.mu.Lock()
	t.wait = append(t.wait, c)
	t.next()
	t.mu.Unlock()
	leave = sync.OnceFunc(func() { t.leave(c) })
	select {
	case <-c.enter:
		return leave, true
	case <-closed:
	case <-ctx.Done():
	}
	leave()
	return nil, false
}

// leave makes room for the next, or takes the candidate off the list.
func (t *trial) leave(c *candidate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.wait, c); i >= 0 {
		t.wait = slices.Delete(t.wait, i, i+1)
		return
	}
	t.busy = false
	t.next()
}

// next lets the least suspect in, if there is room. Callers hold mu.
func (t *trial) next() {
	if t.busy || len(t.wait) == 0 {
		return
	}
	c := slices.MinFunc(t.wait, func(a, b *candidate) int {
		return cmp.Or(a.deaths.Alone-b.deaths.Alone, a.deaths.All-b.deaths.All)
	})
	t.wait = slices.DeleteFunc(t.wait, func(w *candidate) bool { return w == c })
	t.busy = true
	close(c.enter)
}
