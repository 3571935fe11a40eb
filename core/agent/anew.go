package agent

import (
	"sync"
	"time"

	"dragoman/ports"
)

// starts are what is known of turns that were given up before they had a row, because
// a message of theirs was edited: what they cost, which the first row of the turn that
// begins anew is booked with, and how often that was. A death forgets it, as it does
// all that a turn used before its row. The zero value is ready. Safe for many goroutines.
type starts struct {
	mu sync.Mutex
	by map[ports.Conversation]begun
}

type begun struct {
	turn  string
	times int
	usage []ports.Spent
}

func (g *starts) keep(in ports.Conversation, turn string, times int, usage []ports.Spent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.by == nil {
		g.by = map[ports.Conversation]begun{}
	}
	g.by[in] = begun{turn, times, usage}
}

func (g *starts) take(in ports.Conversation, turn string) (times int, usage []ports.Spent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.by[in]
	delete(g.by, in)
	if b.turn != turn {
		return 0, nil
	}
	return b.times, b.usage
}

// settling is how long the turn waits before it asks the model, so that not each of
// many edits at once is a request: not at all the first time.
func (t *turn) settling() time.Duration {
	if t.anew < 2 || len(t.steps) > 0 || t.script != nil {
		return 0
	}
	return min(100*time.Millisecond<<min(t.anew-1, 8), time.Second)
}
